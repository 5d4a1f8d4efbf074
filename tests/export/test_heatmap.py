from html import unescape
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from attnviz.export.heatmap import DIVERGING, config, heatmap, heatmap_alt
from attnviz.trace import Floats

LABELS = ["[CLS]", "the", "dog", "saw", "the", "[SEP]", "."]


def weights(queries: int, keys: int) -> Floats:
    random = np.random.default_rng(7).random((queries, keys), dtype=np.float32)
    return np.asarray(random / random.sum(axis=1, keepdims=True), dtype=np.float32)


def heatmap_trace(figure: go.Figure) -> Any:
    (trace,) = (trace for trace in figure.data if trace.type == "heatmap")
    return trace


def test_the_hover_text_shows_the_exact_weights() -> None:
    values = weights(5, 7)
    trace = heatmap_trace(heatmap(values, LABELS[:5], LABELS, high=1))
    assert isinstance(trace.z, np.ndarray)
    assert trace.z.dtype == np.float32
    np.testing.assert_allclose(trace.customdata, 100 * values, rtol=1e-6)
    assert trace.hovertemplate == "%{y} → %{x}<br><b>%{customdata:.1f} %</b>%{text}<extra></extra>"
    assert trace.colorscale is None  # the page sets colours that follow its theme


def test_colours_use_a_labelled_square_root_scale() -> None:
    values = weights(5, 7)
    trace = heatmap_trace(heatmap(values, LABELS[:5], LABELS, high=1))
    np.testing.assert_allclose(trace.z, np.sqrt(100 * values), rtol=1e-6)
    assert (trace.zmin, trace.zmax) == (0, 10)
    assert trace.colorbar.title.text == "weight<br>(square-root scale)"
    assert list(trace.colorbar.ticktext) == ["0 %", "6 %", "25 %", "56 %", "100 %"]
    np.testing.assert_allclose(trace.colorbar.tickvals, [0, 2.5, 5, 7.5, 10])


def test_a_row_that_attends_to_hidden_tokens_is_faint_and_marked() -> None:
    values = np.array([[0.36, 0.64], [0.98, 0.02]], np.float32)
    left = np.array([0.5, 0.0625], np.float32)
    figure = heatmap(values, ["a", "b"], ["a", "b"], high=1, shown_share=left, hidden="[CLS]")
    trace = heatmap_trace(figure)
    np.testing.assert_allclose(trace.z, [[6, 8], [10 * 0.06125**0.5, 10 * 0.00125**0.5]], rtol=1e-6)
    assert figure.layout.yaxis.ticktext == ("a", "b *")
    note = "<br>93.8 % of this row’s weight is on [CLS]"
    assert [list(row) for row in trace.text] == [["", ""], [note, note]]
    # The cell with the strongest colour: row b is drawn faintly.
    assert heatmap_alt(values, ["a", "b"], ["a", "b"], shown_share=left).endswith("“a” → “b”, 64 %.")


def test_equal_labels_have_separate_places_on_numeric_axes() -> None:
    layout = heatmap(weights(5, 7), LABELS[:5], LABELS).layout
    for axis, labels in ((layout.xaxis, LABELS), (layout.yaxis, LABELS[:5]),
                         (layout.xaxis2, LABELS), (layout.yaxis2, LABELS[:5])):  # fmt: skip
        assert axis.type == "linear"
        assert list(axis.tickvals) == list(range(len(labels)))
        assert list(axis.ticktext) == labels
    assert layout.yaxis.autorange == "reversed"
    assert layout.xaxis2.title.text == "to (key)"
    assert layout.yaxis2.title.text == "from (query)"
    assert (layout.xaxis2.matches, layout.yaxis2.matches) == ("x", "y")


@pytest.mark.parametrize(
    "label",
    ["<b>bold</b>", "<br>", "$x^2$", "a&amp;b", "<a href='http://x'>x</a>", "%{z}", "&#36;", "x<sub>2</sub>"],
)
def test_labels_are_not_interpreted_as_html_or_formulas(label: str) -> None:
    (shown,) = heatmap(weights(1, 1), [label], [label]).layout.xaxis.ticktext
    assert not set("<>$") & set(shown)
    assert unescape(shown) == label
    assert config("name")["typesetMath"] is False


def test_the_colours_of_a_difference_are_centred_at_zero() -> None:
    values = np.array([[0.1, -0.36], [0.0, 0.2]], dtype=np.float32)
    trace = heatmap_trace(heatmap(values, ["a", "b"], ["a", "b"], kind="diverging", unit="signed percent"))
    assert (trace.zmin, trace.zmid, trace.zmax) == pytest.approx((-6, 0, 6), rel=1e-6)
    np.testing.assert_allclose(trace.z, [[10**0.5, -6], [0, 20**0.5]], rtol=1e-6)
    assert trace.hovertemplate == "%{y} → %{x}<br><b>%{customdata:+.1f} points</b>%{text}<extra></extra>"
    assert list(trace.colorbar.ticktext) == ["−36 points", "−9 points", "0 points", "+9 points", "+36 points"]
    assert trace.colorscale == DIVERGING


def test_masked_cells_are_blank() -> None:
    values = np.array([[0.5, np.nan], [-np.inf, 0.25]], dtype=np.float32)
    trace = heatmap_trace(heatmap(values, ["a", "b"], ["a", "b"]))
    assert np.isnan(trace.z).tolist() == [[False, True], [True, False]]
    assert trace.zmax == pytest.approx(50**0.5)
    assert trace.hoverongaps is False


def test_the_picture_contains_the_full_caption() -> None:
    caption = "“<b>dog</b> & $x$” · minilm · head 4-2 · " + "a long explanation " * 12
    written = heatmap(np.eye(2, dtype=np.float32), "ab", "ab", caption=caption).layout.annotations[0].text
    lines = written.split("<br>")
    assert len(lines) > 1
    assert unescape(" ".join(lines)) == caption.strip()
    assert "<b>" not in written
