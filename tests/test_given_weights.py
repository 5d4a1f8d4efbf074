"""Weights of some layers alone, and tokens as the text that they make; worked out by hand."""

from typing import Any

import numpy as np
import pytest
import torch

import attnviz
from attnviz.analysis.display_tokens import queries_and_keys
from attnviz.errors import InvalidTrace
from attnviz.export.report.page import report
from attnviz.trace import Trace

PROMPT = [[1, 0], [0.5, 0.5]]


def step(rows: Any) -> Any:
    """A layer of one head, [1, 1, query, key]."""
    return np.array(rows, np.float32)[None, None]


def test_layers_without_weights_are_left_out_and_the_others_keep_their_numbers() -> None:
    found = Trace.from_weights([None, step(PROMPT), None, step(PROMPT)], "ab")
    assert [block.layer for block in found.blocks] == [1, 3]
    figure = attnviz.show(found)
    assert repr(figure) == "<attnviz: Layer 2, head 1 of weights alone>"
    assert '"layers": [2, 4]' in figure.page
    assert '"layer": 2' in report(found)
    with pytest.raises(InvalidTrace, match="decoder layers 1 and 3, counted from 0 in Python, not 2"):
        found.block(layer=2)


@pytest.mark.parametrize(
    ("tokens", "text", "labels"),
    [
        (["The", "tired", "dog"], "The tired dog", ["The", "tired", "dog"]),
        (["The", "ĠtÃ¯red", "Ġdog", "Ċ"], "The tïred dog\n", ["The", "tïred", "dog", "⏎"]),
        (["ðŁĺ", "Ģ", "!", "<|end▁of▁text|>"], "😀!<|end▁of▁text|>", ["😀 1/2", "😀 2/2", "!", None]),
        (
            ["<s>", "▁un", "related", "<0xC3>", "<0xA9>"],
            "<s> unrelatedé",
            [*["<s>", "un", "##related"], None, None],
        ),
        (["[CLS]", "play", "##ing", "."], "[CLS] playing .", ["[CLS]", "play", "##ing", "."]),
        (["un</w>", "re", "lated</w>"], "un related ", [None, "re", None]),
        ([b"\xe6\x88", b"\x91", b" dog"], "我 dog", ["我 1/2", "我 2/2", "dog"]),
        (["café", "Ġurnata", "naïve"], "café Ġurnata naïve", ["café", None, "naïve"]),
        (["æĪĳ"], "我", ["我"]),
        ([3, 17], "3 17", ["3", "17"]),
        (torch.tensor([3, 17]), "3 17", ["3", "17"]),
    ],
)
def test_tokens_are_read_as_the_text_that_they_make(tokens: Any, text: str, labels: list[str | None]) -> None:
    found = Trace.from_weights(np.eye(len(tokens))[None, None], tokens)
    assert found.text == text
    shown = queries_and_keys(found, "decoder")[0].labels
    assert [label for label, wanted in zip(shown, labels, strict=True) if wanted] == [*filter(None, labels)]
