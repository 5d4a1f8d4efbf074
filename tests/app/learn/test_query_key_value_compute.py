"""Six steps from a vector to a head's output: by hand, in numpy, and against what the model computed."""

import numpy as np
import pytest
import torch
from torch import nn

from attnviz.app.learn.query_key_value.compute import MOST_ROWS, Walk, of_head, walk
from attnviz.capture import loading
from attnviz.errors import InvalidTrace, ModelNotSupported
from attnviz.models.catalogue import TRANSLATOR
from attnviz.trace import Kind, Trace

KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")
SENTENCE = "The dog did not cross the road as it was too tired."
LONG = " ".join(f"The dog number {n} did not cross the road." for n in range(1, 9))


def in_numpy(done: Walk) -> dict[str, np.ndarray]:
    """The six steps with nothing but the numbers on the screen, in double precision."""
    x = done.vectors.astype(np.float64)  # step 1
    query = done.vector.astype(np.float64) @ done.query_matrix + done.query_bias  # step 2
    keys = x @ done.key_matrix + done.key_bias
    values = x @ done.value_matrix + done.value_bias
    dot_products = np.array([sum(q * k for q, k in zip(query, key, strict=True)) for key in keys])  # step 3
    scores = dot_products / np.sqrt(len(query))  # step 4
    exponentials = np.where(done.allowed, np.exp(scores), 0)  # step 5
    weights = exponentials / exponentials.sum()
    output = sum(weight * value for weight, value in zip(weights, values, strict=True))  # step 6
    return {
        "query": query,
        "keys": keys,
        "values": values,
        "dot_products": dot_products,
        "scores": scores,
        "weights": weights,
        "output": np.asarray(output),
    }


def check(done: Walk) -> None:
    """The shown numbers lead to each other, and to what the model computed."""
    again = in_numpy(done)
    for name, expected in again.items():
        np.testing.assert_allclose(getattr(done, name), expected, atol=1e-5, err_msg=name)
    np.testing.assert_allclose(again["output"], done.model_output, atol=1e-5)
    np.testing.assert_allclose(again["weights"], done.model_weights[done.token], atol=1e-5)
    np.testing.assert_allclose(again["scores"], done.model_scores[done.token], atol=1e-5)
    assert done.difference <= 1e-5
    assert np.float32(done.weights.sum()) == pytest.approx(1, abs=1e-6)
    assert not done.weights[~done.allowed].any()


@pytest.mark.parametrize(
    ("text", "layer", "head", "token"),
    [(SENTENCE, 0, 0, 0), (SENTENCE, 3, 1, 9), (SENTENCE, 5, 11, 14), ("?", 2, 7, 1), (LONG, 4, 3, 31)],
)
def test_the_steps_from_the_shown_numbers_give_the_models_output(
    text: str, layer: int, head: int, token: int
) -> None:
    done = walk(text, layer, head, token)
    np.testing.assert_array_equal(done.vector, done.vectors[token])
    assert (done.d_model, done.d_head) == (384, 32)
    assert text == LONG or done.rows == tuple(range(len(done.key_tokens)))
    check(done)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return loading.load_translator(TRANSLATOR).trace(SENTENCE)


ALL_OF_THE_TRANSLATOR: list[tuple[Kind, int]] = [("encoder", 0), ("encoder", 1), ("decoder", 0), ("cross", 0)]


@pytest.mark.parametrize(("kind", "layer"), ALL_OF_THE_TRANSLATOR)
@pytest.mark.parametrize("head", range(4))
def test_the_steps_of_a_translator_are_the_models_own(
    trace: Trace, kind: Kind, layer: int, head: int
) -> None:
    block = trace.block(kind, layer)
    for token in (0, 4, 9):
        done = walk(SENTENCE, layer, head, token, TRANSLATOR, kind)
        check(done)
        np.testing.assert_allclose(done.output, block.output[head, token], atol=1e-5)
        np.testing.assert_allclose(done.weights, block.weights[head, token], atol=1e-5)
        np.testing.assert_array_equal(done.model_weights, block.weights[head])
        np.testing.assert_array_equal(done.mask, block.mask)
        assert (done.query_tokens, done.key_tokens) == (block.query_tokens, block.key_tokens)
        assert (done.d_model, done.d_head) == (64, 16)


def test_each_text_has_its_own_tokens() -> None:
    done = walk(SENTENCE, 0, 0, 1, TRANSLATOR, "cross")
    assert done.crosses
    assert done.query_tokens[0].text == "[START]"
    assert done.key_tokens[-1].text == "[END]"
    assert done.key_text == SENTENCE
    word = done.query_tokens[1]
    assert done.query_text[word.start : word.end].lower() == word.text


def test_a_heads_columns_stand_side_by_side() -> None:
    """Three heads of 5 numbers, from vectors of 7."""
    linear = nn.Linear(7, 15)
    vectors = torch.randn(11, 7)
    parts = [of_head(linear, head, 5) for head in range(3)]
    together = torch.cat([vectors @ matrix + bias for matrix, bias in parts], dim=-1)
    torch.testing.assert_close(together, linear(vectors))
    assert [tuple(part.matrix.shape) for part in parts] == [(7, 5)] * 3


def test_a_long_text_has_rows_for_the_token_and_those_that_it_looks_at_most() -> None:
    done = walk(LONG, 3, 1, 31)
    assert len(done.key_tokens) > MOST_ROWS
    assert len(done.rows) == MOST_ROWS
    assert list(done.rows) == sorted(set(done.rows))
    assert 31 in done.rows
    least_shown = min(done.weights[row] for row in done.rows if row != 31)
    assert all(done.weights[t] <= least_shown for t in range(len(done.key_tokens)) if t not in done.rows)


def test_of_a_long_text_that_is_read_across_the_rows_are_those_that_are_looked_at_most() -> None:
    english = SENTENCE.rstrip(".") + " and" + SENTENCE.lower().rstrip(".")[3:]
    done = walk(f"The {english[4:]} and the dog was tired", 0, 2, 20, TRANSLATOR, "cross")
    assert len(done.key_tokens) > MOST_ROWS
    largest = np.sort(done.weights)[-MOST_ROWS:]
    np.testing.assert_array_equal(np.sort(done.weights[list(done.rows)]), largest)
    assert len(done.query_rows) == min(MOST_ROWS, len(done.query_tokens))
    assert 20 in done.query_rows


def test_weights_are_unique_in_a_short_text_and_not_in_a_long_one() -> None:
    short, long = walk(SENTENCE, 3, 1, 9), walk(LONG, 3, 1, 31)
    assert short.free_directions == 0
    assert long.free_directions == len(long.key_tokens) - (long.d_head + 1)


def test_other_weights_give_the_very_same_output() -> None:
    """One of the free directions, walked along."""
    done = walk(LONG, 3, 1, 31)
    constraints = np.column_stack([done.values, np.ones(len(done.values))]).astype(np.float64)
    direction = np.linalg.svd(constraints.T)[2][-1]
    step = 0.5 * (done.weights / np.abs(direction).clip(1e-12)).min()
    others = done.weights + step * direction
    assert np.abs(others - done.weights).max() > 1e-5
    assert others.min() > 0
    assert others.sum() == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(others @ done.values, done.output, atol=1e-6)


def test_a_model_without_such_attention_says_so() -> None:
    with pytest.raises(InvalidTrace):
        walk(SENTENCE, 0, 0, 0, kind="cross")
    with pytest.raises(InvalidTrace):
        walk(SENTENCE, 1, 0, 0, TRANSLATOR, "decoder")
    with pytest.raises(ModelNotSupported):
        walk(SENTENCE, 0, 0, 0, "minilm")
