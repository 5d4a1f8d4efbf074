"""The lesson "Positional encodings" without a browser: pictures and tables show the computed values."""

import numpy as np
import pytest

from attnviz.app.lessons.choosing import TokenSelection
from attnviz.app.lessons.compute import tokens
from attnviz.app.lessons.positions import values
from tests.app.shown import chart_specs, charts, message_to, page_text, press, visit

TIRED = "The dog did not cross the road as it was too tired."
IT = 9


def test_heatmap_and_waves_show_the_encoding() -> None:
    app, found = visit("positions"), values.waves(len(tokens(TIRED)))
    [heatmap] = [spec for spec in chart_specs(app) if spec["layer"][0]["mark"]["type"] == "rect"]
    cells, row, columns = (layer["data"]["values"] for layer in heatmap["layer"])
    shown = np.full(found.encoding.shape, np.nan)
    for cell in cells:
        shown[cell["position"], cell["dimension"]] = cell["value"]
    np.testing.assert_allclose(shown, found.encoding, atol=1e-6)
    assert (row, columns) == ([{"position": IT}], [{"dimension": 8}, {"dimension": 9}])
    for line, column in zip(charts(app)["Waves of pair i = 4"]["lines"], (8, 9), strict=True):
        by_position = dict(zip(line["x"], line["y"], strict=True))
        expected = pytest.approx(found.encoding[:, column].tolist(), abs=1e-5)
        assert [by_position[at] for at in range(len(found.encoding))] == expected
    assert "19.9" in page_text(app)  # 2π · 10000^(8/64)


def test_shift_rotates_the_pair() -> None:
    app = visit("positions", shift="3", dimension_pair="0")
    shown = charts(app)
    _, before, after = shown["Pair i = 0 on the circle"]["lines"]
    assert (before["x"][1], before["y"][1]) == pytest.approx((np.cos(9), np.sin(9)), abs=1e-5)
    assert (after["x"][1], after["y"][1]) == pytest.approx((np.cos(12), np.sin(12)), abs=1e-5)
    [products] = shown["Dot product by distance"]["lines"]
    assert products["y"] == pytest.approx(values.waves(15).by_distance.tolist(), rel=1e-5)


def test_rotary_scores_by_distance() -> None:
    app, found = visit("positions", encoding="rotary", key="13 tired"), values.rotary(TIRED, 3, 1, IT, 12)
    lines = charts(app)["Score by distance"]["lines"]
    assert [line["y"] for line in lines] == [pytest.approx(row.tolist(), rel=1e-4) for row in found.scores]
    score = found.scores[0, values.REACH + 3]
    assert page_text(app).count(f"{score:.4f}".replace("-", "−")) == len(values.STARTS)


def test_charts_of_the_other_encodings() -> None:
    found, (_, biases) = values.learned(), values.alibi(8)
    [mean] = charts(visit("positions"))["Similarity of MiniLM's learned positions"]["lines"]
    for name, numbers in (("low", found.low), ("y", found.mean), ("high", found.high)):
        assert mean[name] == pytest.approx(numbers.tolist(), rel=1e-5, abs=1e-6)
    lines = charts(visit("positions", encoding="alibi", slopes="8"))["Bias by distance"]["lines"]
    assert [line["y"] for line in lines] == [pytest.approx(row.tolist(), rel=1e-4) for row in biases]
    [line] = charts(visit("positions", encoding="relative"))["Bucket by distance"]["lines"]
    assert line["y"] == values.t5_buckets(np.array(line["x"], dtype=int)).tolist()


def test_table_compares_outputs_of_shuffled_words() -> None:
    app, found = visit("positions", order="5"), values.shuffle(TIRED, 5)
    rows = message_to(app, "share_table")["rows"]
    assert [int(row["place"]) - 1 for row in rows] == list(found.order)
    expected = np.transpose([found.without.cosines, found.with_positions.cosines])
    np.testing.assert_allclose([row["shares"] for row in rows], expected, atol=1e-6)
    assert {row["written"][0] for row in rows} == {"= same"}
    assert "= same" not in {row["written"][1] for row in rows}


def test_shuffle_button_increments_the_order_and_wraps() -> None:
    app = visit("positions", order="998")
    for order in (999, 1):
        press(app, "Shuffle")
        assert app.number_input(key="order").value == order


def test_table_of_a_long_text_includes_the_selected_token() -> None:
    text = "The dog did not cross the road. " * 20
    groups, order = TokenSelection(text, 0).groups, values.shuffle(text, 1).order
    last = order[-2]
    app = visit("positions", text=text, order="1", query=f"{last + 1} {groups[last].label}")
    rows = message_to(app, "share_table")["rows"]
    assert [row["place"] for row in rows] == [str(token + 1) for token in (*order[:31], last)]
