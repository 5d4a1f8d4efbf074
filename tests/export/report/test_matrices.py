"""Figures with merged words, pooled heads, summed tokens or differences agree with NumPy."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attnviz.analysis import window
from attnviz.errors import AttnvizError, InvalidTrace
from attnviz.export.report import contents, matrices, notebook
from attnviz.export.report.drawing import Cells, Line, Text
from attnviz.export.report.notebook import show
from attnviz.trace import Trace, changed
from tests.export.report.page_data import facts_of, numbers_of, weights_in
from tests.export.report.small_traces import HEADS, LAYERS, encoder, tokens, translator


def reversed_rows(trace: Trace) -> Trace:
    """Return the trace with each row of weights reversed."""
    return replace(
        trace, blocks=tuple(changed(block, weights=block.weights[..., ::-1]) for block in trace.blocks)
    )


def with_word_pieces() -> Trace:
    """Return a trace whose third and fourth tokens are pieces of one word."""
    trace = encoder()
    tokens_read = list(trace.tokens)
    tokens_read[3] = replace(tokens_read[3], word=tokens_read[2].word, text="##saw")
    blocks = (
        changed(b, query_tokens=tuple(tokens_read), key_tokens=tuple(tokens_read)) for b in trace.blocks
    )
    return replace(trace, blocks=tuple(blocks))


@pytest.mark.parametrize(("pool", "reduce"), [("mean", np.mean), ("max", np.max)])
@pytest.mark.parametrize("layer", [1, None])
def test_pooled_heads_use_the_displayed_weights(pool: Any, reduce: Any, layer: int | None) -> None:
    trace = encoder()
    figure = show(trace, layer=layer, pool=pool, hide_special=True)
    heads = trace.stack()[slice(None) if layer is None else [layer], :, 1:-1, 1:-1]
    heads = (heads / heads.sum(axis=-1, keepdims=True)).reshape(-1, 5, 5)
    np.testing.assert_allclose(weights_in(figure.page, "encoder", "plain")[0, 0], reduce(heads, axis=0), 1e-6)
    [kind] = facts_of(figure.page)["traces"][0]["kinds"]
    ends = [numbers_of(figure.page)[first : first + 25].reshape(5, 5) for first in kind["spread"]]
    np.testing.assert_allclose(ends, [heads.min(axis=0), heads.max(axis=0)], 1e-6)
    count = HEADS if layer else HEADS * LAYERS
    assert (
        kind["heading"]
        == {
            "mean": f"Mean over the {count} heads of {'layer 2' if layer else '2 layers'}",
            "max": f"Maximum over the {count} heads of {'layer 2' if layer else '2 layers'}",
        }[pool]
    )
    assert kind["heading"] in repr(figure)


def test_words_sum_the_columns_and_average_the_rows_of_their_pieces() -> None:
    trace = with_word_pieces()
    figure = show(trace, words=True, query=3)
    weights = trace.stack()
    merged = np.delete(weights, 3, axis=-1)
    merged[..., 2] += weights[..., 3]
    rows = np.delete(merged, 3, axis=-2)
    rows[..., 2, :] = (merged[..., 2, :] + merged[..., 3, :]) / 2
    np.testing.assert_allclose(weights_in(figure.page, "encoder", "plain"), rows, 1e-6)
    hidden = rows[..., 1:-1, 1:-1] / rows[..., 1:-1, 1:-1].sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(weights_in(figure.page, "encoder", "hidden"), hidden, 1e-5)
    assert facts_of(figure.page)["open"]["query"] == 3  # the third word, counted from 1


@pytest.mark.parametrize("hide", [False, True])
def test_a_difference_is_computed_from_the_displayed_weights(hide: bool) -> None:
    trace = encoder()
    figure = show(reversed_rows(trace) - trace, layer=1, head=2, view="matrix", hide_special=hide)
    shown = [each.stack()[1] for each in (reversed_rows(trace), trace)]
    if hide:
        shown = [each[:, 1:-1, 1:-1] for each in shown]
        shown = [each / each.sum(axis=-1, keepdims=True) for each in shown]
    expected = shown[0] - shown[1]
    np.testing.assert_allclose(weights_in(figure.page, "encoder", "plain")[0], expected, atol=1e-6)
    [kind] = facts_of(figure.page)["traces"][0]["kinds"]
    assert kind["high"] == pytest.approx(np.abs(expected).max())
    levels = next(shape for shape in figure.picture.shapes if isinstance(shape, Cells)).levels
    signed = np.sign(expected[2]) * np.sqrt(np.abs(expected[2]) / kind["high"])
    np.testing.assert_allclose(levels, 127 + 127 * signed, atol=0.51)


def test_the_title_of_a_difference_names_both_texts() -> None:
    first, second = encoder("the dog saw the cat"), encoder("the dog saw a cat")
    second = replace(second, edits=("encoder 1-1",))
    figure = show(reversed_rows(second) - first, layer=1, words=True)
    [trace_data] = facts_of(figure.page)["traces"]
    labels = [token["label"] for token in trace_data["kinds"][0]["token_views"]["plain"]["keys"]]
    assert labels[3:6] == ["saw", "the → a", "cat"]
    assert [text["typed"] for text in trace_data["texts"]] == [second.text, first.text]
    after, before = figure.title.partition(": ")[2].split(" − ")
    assert ("“… a …”" in after, "encoder 1-1" in after) == (True, True)
    assert ("“… the …”" in before, "encoder" in before) == (True, False)
    change = reversed_rows(second).stack()[1] - first.stack()[1]
    np.testing.assert_allclose(weights_in(figure.page, "encoder", "plain")[1], change, atol=1e-6)


def test_a_difference_keeps_its_mask_and_its_lines_have_signs() -> None:
    trace = encoder()
    figure = show(reversed_rows(trace) - trace, query=2, view="lines")
    change = (reversed_rows(trace).stack() - trace.stack())[0, 0, 2]
    lines = [shape for shape in figure.picture.shapes if isinstance(shape, Line)]
    assert sorted(bool(line.rises) for line in lines) == sorted(
        change[np.abs(change) > 0.02 * np.abs(change).max()] > 0
    )
    causal = show(translator() - translator(), kind="decoder", view="matrix")
    assert np.isnan(weights_in(causal.page, "decoder", "plain")[..., 0, 1]).all()


def test_the_weights_of_several_tokens_are_added() -> None:
    trace = encoder()
    figure = show(trace, layer=1, head=2, query=[1, 3], view="lines")
    opened = facts_of(figure.page)["open"]
    assert (opened["query"], opened["together"]) == (None, [2, 4])
    numbers = [f"{100 * weight:.0f} %" for weight in trace.block(layer=1).weights[2, [1, 3]].sum(axis=0)]
    shapes = figure.picture.shapes
    labels = [shape.text for shape in shapes if isinstance(shape, Text) and shape.anchor == "end"]
    assert [text for text in labels if text.endswith("%")] == [text for text in numbers if text != "0 %"]


def test_invalid_differences_and_pooling_are_refused() -> None:
    trace = encoder()
    with pytest.raises(AttnvizError, match="without words="):
        show(with_word_pieces() - trace, words=True)
    two, three = (Trace.from_weights([[np.eye(n)]], list("abc")[:n]) for n in (2, 3))
    with pytest.raises(InvalidTrace, match=r"these have 3 and 2\. Choose"):
        show(three - two)
    with pytest.raises(InvalidTrace, match="same layers and numbers of heads"):
        show(trace - encoder(heads=2))
    with pytest.raises(AttnvizError, match="maximum over heads of signed"):
        show(reversed_rows(trace) - trace, pool="max")
    with pytest.raises(AttnvizError, match="single heads"):
        show(trace, view="atlas", pool="mean")
    with pytest.raises(InvalidTrace, match="no token 7"):
        show(trace, query=[1, len(tokens("the dog saw the cat")) + 2])


@pytest.fixture
def large_trace(monkeypatch: pytest.MonkeyPatch) -> Trace:
    """A trace above the limit for figures; the limit is lowered for these tests."""
    for module in (notebook, contents):
        monkeypatch.setattr(module, "MAX_WEIGHTS", 100)
    monkeypatch.setattr(matrices, "MAX_TOP", 3)
    monkeypatch.setattr(window, "MAX_CELLS", 4)
    return encoder()


def test_a_large_figure_contains_blocks_and_the_largest_weights_of_each_token(large_trace: Trace) -> None:
    figure = show(large_trace, layer=1, head=2)
    [kind] = facts_of(figure.page)["traces"][0]["kinds"]
    numbers, top = numbers_of(figure.page), kind["top"]
    weights = large_trace.block(layer=1).weights
    shape = (HEADS, 7, 3)
    keys, largest = (numbers[top[name] :][: np.prod(shape)].reshape(shape) for name in ("keys", "weights"))
    np.testing.assert_array_equal(largest, np.sort(weights, axis=-1)[..., ::-1][..., :3])
    np.testing.assert_array_equal(np.take_along_axis(weights, keys.astype(int), -1), largest)
    blocks = numbers[top["blocks"] :][: HEADS * 16].reshape(HEADS, 4, 4)
    padded = np.pad(weights, ((0, 0), (0, 1), (0, 1)))
    np.testing.assert_array_equal(blocks, padded.reshape(HEADS, 4, 2, 4, 2).max(axis=(2, 4)))
    hidden = numbers[top["hidden"] :][: HEADS * len(window.THRESHOLDS)].reshape(HEADS, -1)
    np.testing.assert_allclose(hidden[:, -1], np.where(weights < 0.1, weights, 0).sum(axis=(1, 2)) / 7, 1e-4)
    assert facts_of(figure.page)["show"] == ["head"]
    decoder = matrices.largest_weights(translator(), "decoder", 0)
    assert (top["causal"], contents._kind(decoder, bytearray())["top"]["causal"]) == (False, True)


def test_a_large_matrix_is_drawn_and_options_that_need_all_weights_are_refused(large_trace: Trace) -> None:
    lines = show(large_trace, layer=1, head=2, view="matrix").picture
    levels = next(shape for shape in lines.shapes if isinstance(shape, Cells)).levels
    largest = np.pad(large_trace.block(layer=1).weights[2], (0, 1)).reshape(4, 2, 4, 2).max(axis=(1, 3))
    np.testing.assert_array_equal(levels, np.floor(254 * np.sqrt(largest) + 0.5))
    for refused in ({"view": "atlas"}, {"words": True}, {"pool": "mean"}, {"hide_special": True}):
        with pytest.raises(AttnvizError, match="a report can have at most"):
            show(large_trace, **refused)
