"""`Trace.from_weights` joins the steps of `generate` into a matrix, and tokens into a text."""

from typing import Any

import numpy as np
import pytest
import torch

import attnviz
from attnviz.analysis.display_tokens import queries_and_keys
from attnviz.errors import InvalidTrace
from attnviz.export.report.page import report
from attnviz.trace import Trace

# The weights of two tokens of the prompt, and of two generated tokens.
PROMPT = [[1, 0], [0.5, 0.5]]
THIRD = [0.25, 0.25, 0.5]
FOURTH = [0.125, 0.125, 0.25, 0.5]
SQUARE: list[list[float]] = [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25, 0.25, 0.5, 0], FOURTH]


def step(rows: Any, keys: int | None = None) -> Any:
    """Return the weights of one layer with one head, [1, 1, query, key], padded with columns of 0."""
    array = np.array(rows, np.float32)[None, None]
    return np.pad(array, ((0, 0), (0, 0), (0, 0), (0, (keys or array.shape[3]) - array.shape[3])))


STEPS = {
    "with a cache": [step(PROMPT), step([THIRD]), step([FOURTH])],
    "without a cache": [step(PROMPT), step([row[:3] for row in SQUARE[:3]]), step(SQUARE)],
    "with a static cache": [step(PROMPT, 9), step([THIRD], 9), step([FOURTH], 9)],
    "with a prompt of one token": [step([[1]]), step([SQUARE[1][:2]]), step([THIRD]), step([FOURTH])],
}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("tokens", ["abcd", "abcde"])  # the last generated token has no weights
def test_steps_become_one_square_matrix(steps: list[Any], tokens: str) -> None:
    found = Trace.from_weights([(layer, layer) for layer in steps], tokens)
    assert found.stack("decoder").tolist() == [[SQUARE]] * 2
    assert found.text == "a b c d"
    assert not found.block("decoder").mask[0, 1]


def test_keys_outside_a_sliding_window_have_weight_0() -> None:
    found = Trace.from_weights([(step([[1]]),), (step([[0.5, 0.5]]),), (step([[0.75, 0.25]]),)], "abc")
    assert found.stack().tolist() == [[[[1, 0, 0], [0.5, 0.5, 0], [0, 0.75, 0.25]]]]


def test_steps_of_cross_attention_become_one_matrix() -> None:
    rows = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]
    for cross in ([step(rows[:1]), step(rows[1:])], [step(rows[:1]), step(rows)]):
        found = Trace.from_weights(
            [step(np.full((3, 3), 1 / 3))],
            ["▁le", "▁chien", "</s>"],
            decoder=[(step([[1]]),), (step(PROMPT[1:]),)],
            cross=[(layer,) for layer in cross],
            target_tokens=["<pad>", "▁the", "▁dog"],
        )
        assert found.stack("cross").tolist() == [[rows]]
        assert found.stack("decoder").tolist() == [[PROMPT]]
        assert (found.text, found.target) == ("le chien</s>", "<pad> the")


def test_layers_without_weights_are_omitted_and_other_layers_keep_their_numbers() -> None:
    for given in ([None, step(PROMPT), None, step(PROMPT)], [(None, step(PROMPT), None, step(PROMPT))]):
        found = Trace.from_weights(given, "ab")
        assert [block.layer for block in found.blocks] == [1, 3]
        figure = attnviz.show(found)
        assert repr(figure) == "<attnviz: Layer 2, head 1 of weights alone>"
        assert '"layers": [2, 4]' in figure.page
        assert '"layer": 2' in report(found)
        with pytest.raises(InvalidTrace, match="decoder layers 1 and 3, counted from 0 in Python, not 2"):
            found.block(layer=2)


@pytest.mark.parametrize(
    "steps",
    [
        [(np.concatenate([step(PROMPT)] * 3),)],  # three texts
        [(step(PROMPT),), (np.ones((1, 2, 1, 3)) / 3,)],  # a different number of heads
        [(step(PROMPT),), (None,)],
        [(step(PROMPT),), (step([THIRD]), step([THIRD]))],  # a different number of layers
    ],
)
def test_steps_that_are_not_of_one_text_are_refused(steps: Any) -> None:
    with pytest.raises(InvalidTrace, match=r"do not belong to a single text.*num_beams=1"):
        Trace.from_weights(steps, "abcd")


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([(step([THIRD]),), (step([FOURTH]),)], r"sums to 0\.25, not to 1"),  # the prompt is missing
        ([(step(PROMPT),), (step(SQUARE),)], r"sums to 0\.5, not to 1"),  # a step is missing
        ([(None, None)], "There are no weights"),
    ],
)
def test_missing_steps_are_refused(steps: Any, message: str) -> None:
    with pytest.raises(InvalidTrace, match=message):
        Trace.from_weights(steps, "abc")


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
def test_tokens_are_converted_to_text_and_labels(tokens: Any, text: str, labels: list[str | None]) -> None:
    found = Trace.from_weights(np.eye(len(tokens))[None, None], tokens)
    assert found.text == text
    shown = queries_and_keys(found, "decoder")[0].labels
    assert [label for label, wanted in zip(shown, labels, strict=True) if wanted] == [*filter(None, labels)]


def test_the_second_sentence_begins_at_the_given_token() -> None:
    tokens = ["[CLS]", "dog", "##s", "[SEP]", "cat", "[SEP]"]
    found = Trace.from_weights(np.full((1, 1, 6, 6), 1 / 6), tokens, second=np.int64(4))
    assert (found.text, found.second) == ("[CLS] dogs [SEP]", "cat [SEP]")
    assert [token.sentence for token in found.tokens] == [0, 0, 0, 0, 1, 1]
    assert [token.word for token in found.tokens] == [0, 1, 1, 2, 3, 4]
    assert [(token.start, token.end) for token in found.tokens[4:]] == [(0, 3), (4, 9)]
    assert "second text" in attnviz.show(found).page
    for place in (0, 6, -1):
        with pytest.raises(InvalidTrace, match=f"second must be .* from 1 to 5, not {place}"):
            Trace.from_weights(np.full((1, 1, 6, 6), 1 / 6), tokens, second=place)
