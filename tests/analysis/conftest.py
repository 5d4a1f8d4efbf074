from collections.abc import Callable

import numpy as np
import pytest

import attnviz
from attnviz.trace import Block, Floats, Token, Trace
from tests.formula import attending

TIRED = "The dog did not cross the road as it was too tired."
NARROW = "The dog did not cross the road as it was too narrow."


@pytest.fixture(scope="session")
def tired() -> Trace:
    return attnviz.trace(TIRED, model="minilm")


@pytest.fixture(scope="session")
def narrow() -> Trace:
    return attnviz.trace(NARROW, model="minilm")


@pytest.fixture
def word_pieces() -> tuple[str, tuple[Token, ...]]:
    """[CLS] un ##break ##able dog 🦄 [SEP]: a word of three pieces, and one that the vocabulary lacks."""
    text = "Unbreakable dog 🦄"
    return text, (
        Token("[CLS]", 101, 0, 0, None, True),
        Token("un", 7, 0, 2, 0, False),
        Token("##break", 11, 2, 7, 0, False),
        Token("##able", 13, 7, 11, 0, False),
        Token("dog", 17, 12, 15, 1, False),
        Token("[UNK]", 100, 16, 17, 2, False),
        Token("[SEP]", 102, 0, 0, None, True),
    )


@pytest.fixture
def make_block() -> Callable[..., Block]:
    """A block of 3 heads, 5-dimensional vectors and random numbers, for any tokens."""

    def make(
        tokens: tuple[Token, ...],
        bias: bool = False,
        causal: bool = False,
        seed: int = 2017,
        scale: float = 0.37,
    ) -> Block:
        random = np.random.default_rng(seed)
        size = len(tokens)

        def draw(*shape: int) -> Floats:
            return random.standard_normal(shape, dtype=np.float32)

        return attending(
            kind="encoder",
            layer=0,
            query_tokens=tokens,
            key_tokens=tokens,
            query=2 * draw(3, size, 5),
            key=2 * draw(3, size, 5),
            value=draw(3, size, 5),
            mask=np.tri(size, dtype=bool) if causal else np.ones((size, size), dtype=bool),
            scale=scale,
            bias=draw(3, size, size) if bias else None,
        )

    return make
