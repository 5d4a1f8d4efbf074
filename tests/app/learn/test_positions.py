"""The page on positions without a browser: what it says is what was computed, whatever is typed or linked."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.learn.choosing import TokenSelection
from attnviz.app.learn.compute import tokens
from attnviz.app.learn.positions.compute import alibi, rotary, set_experiment, shuffled, table, waves
from tests.app.shown import charts, sent, visit, words

TIRED = "The dog did not cross the road as it was too tired."
IT = 9


def said(app: AppTest) -> str:
    return " ".join(words(app).split())


def test_it_opens_with_a_shuffle_and_says_what_became_of_it() -> None:
    app = visit("positions")
    found = set_experiment(TIRED, 1)
    row = found.order.index(IT)
    placed = found.with_positions
    assert f"`it` (token 10, now token {row + 1}) comes out **the same**" in said(app)
    assert (
        f"differ by up to **{placed.differences[row]:.2f}** (cosine **{placed.cosines[row]:.2f}**)"
        in said(app)
    )


def test_shuffle_and_original_order_turn_the_number() -> None:
    app = visit("positions", order="999")
    shuffle, original = (
        next(button for button in app.button if button.label == label)
        for label in ("Shuffle", "Original order")
    )
    shuffle.click().run()
    assert app.number_input(key="order").value == 1
    shuffle.click().run()
    assert app.number_input(key="order").value == 2
    assert "Why not exactly 0?" in said(app)
    original.click().run()
    assert app.number_input(key="order").value == 0
    assert "This is the original order" in said(app)
    assert "Why not exactly 0?" not in said(app)


def test_a_long_text_says_what_is_shown() -> None:
    text = "The dog did not cross the road. " * 20
    groups = TokenSelection(text, 0).groups
    found = set_experiment(text, 1)
    last = found.order[-2]
    app = visit("positions", text=text, order="1", query=f"{last + 1} {groups[last].label}")
    rows = sent(app, "share_table")["rows"]
    assert [row["place"] for row in rows] == [str(token + 1) for token in (*found.order[:31], last)]
    assert not visit("positions", text=text).exception


def test_what_the_widget_is_given_is_what_was_computed() -> None:
    found = set_experiment(TIRED, 5)
    rows = sent(visit("positions", order="5", text=TIRED), "share_table")["rows"]
    assert [int(row["place"]) - 1 for row in rows] == list(shuffled(tokens(TIRED), 5))
    expected = np.transpose([found.without.cosines, found.with_positions.cosines])
    np.testing.assert_allclose([row["shares"] for row in rows], expected, atol=1e-6)
    same = [row["written"][0] for row in rows]
    assert same == ["= same"] * len(rows)
    assert not [row for row in rows if row["written"][1] == "= same"]


def test_sinusoidal_positions() -> None:
    # 9 / 10000^(8/64) = 9 / 3.1623 = 2.8460; sin 2.8460 = 0.291, cos 2.8460 = −0.957.
    app, found = visit("positions"), waves(len(tokens(TIRED)))
    told, picture, shown = said(app), sent(app, "encoding"), charts(app)
    assert "= 2.8460$ radians: sine **0.291**, cosine **−0.957**" in told
    assert "**32.0** at distance 0" in told
    assert picture["vectors"] == [pytest.approx(row.tolist(), abs=1e-6) for row in found.encoding]
    assert (picture["position"], picture["pair"]) == (IT, 4)
    for line, column in zip(shown["Pair 5 along the positions"]["lines"], (8, 9), strict=True):
        by_position = dict(zip(line["x"], line["y"], strict=True))
        expected = pytest.approx(found.encoding[:, column].tolist(), abs=1e-5)
        assert [by_position[at] for at in range(len(found.encoding))] == expected
    [products] = shown["PE · PE by distance"]["lines"]
    assert products["y"] == pytest.approx(found.by_distance.tolist(), rel=1e-5)


def test_learned_positions() -> None:
    app, found = visit("positions", encoding="Learned"), table(len(tokens(TIRED)))
    told = said(app)
    assert f"cosine of **{found.mean[1]:.2f}** on average, ten apart **{found.mean[10]:.2f}**" in told
    assert found.mean[6] == max(found.mean[3:10])
    assert f"to **{found.mean[6]:.2f}** at distance 6" in told
    assert "no row 513" in told
    [mean] = charts(app)["How alike the vectors of two places are"]["lines"]
    for name, values in (("low", found.low), ("y", found.mean), ("high", found.high)):
        assert mean[name] == pytest.approx(values.tolist(), rel=1e-5, abs=1e-6)


def test_rotary_positions() -> None:
    link = {"layer": "2", "head": "7", "key": "13 tired", "turning_pair": "2"}
    app, found = visit("positions", link, encoding="Rotary"), rotary(TIRED, 1, 6, IT, 12)
    told, shown = said(app), charts(app)
    score, plain = (f"{m[IT, 12]:.3f}".replace("-", "−") for m in (found.scores, found.plain))
    assert f"scores `tired` at position 12 with **{score}** (**{plain}** before turning)" in told
    assert re.search(r"stays, to within 0\.0000\d\d", told)
    lines = shown["The score by distance"]["lines"]
    assert [line["y"] for line in lines] == [pytest.approx(row.tolist(), rel=1e-4) for row in found.moved]
    circle, places, _ = shown["Pair 2 of the query, turned"]["lines"]
    assert places["y"] == pytest.approx(found.turned[:, 3].tolist(), rel=1e-4)
    points = [point for line in (circle, places) for point in zip(line["x"], line["y"], strict=True)]
    radius = [x**2 + y**2 for x, y in points]
    assert max(radius) - min(radius) <= 0.002


def test_linear_biases() -> None:
    app = visit("positions", encoding="ALiBi", slope="3")
    told, found = said(app), alibi(len(tokens(TIRED)), 8)
    assert "Head 3 of 8 has the slope **0.125**" in told
    assert "**All slopes:** 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.01562, 0.007812, 0.003906." in told
    lines = charts(app)["What is added to the score"]["lines"]
    for line, head in zip(lines, (3, 1, 2, 4, 5, 6, 7, 8), strict=True):
        assert line["y"] == pytest.approx(found.by_distance[head - 1].tolist(), rel=1e-4)
    app = visit("positions", encoding="ALiBi", slopes="12", slope="11")
    assert f"Head 11 of 12 has the slope **{alibi(3, 12).slopes[10]:.4g}**" in said(app)
    assert "12 is no power of two" in said(app)
    app.session_state["slopes"] = "8"
    app.run()
    assert app.number_input(key="slope").value == 8  # fewer heads keep the head within reach
    assert not app.exception
