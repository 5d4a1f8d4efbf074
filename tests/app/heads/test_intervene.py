"""What if a head were silent: the page's numbers beside the model's own, and what it says of odd changes."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.capture.model import ModelInput
from attnviz.experiments.ablation import Numbers, ablate, angles
from tests.app.shown import FOLDED, all_sent, clean, finished, press, sent, token_bars, visit, words
from tests.capture.tiny import SENTENCE

TIRED = "The dog did not cross the road as it was too tired."
FRENCH = "Le chien n'a pas traversé la route car il était trop fatigué."


@pytest.fixture(scope="module")
def alone() -> Numbers:
    """[head, token]: 1 − cosine of each output before and after, with each head of BERT silent alone."""
    *_, end = ablate("minilm", ModelInput(TIRED))
    return end.found.distances.cosine_change


def edits_of(app: AppTest) -> list[str]:
    return list(app.multiselect(key="edits").value)


def bars(app: AppTest) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = token_bars(app)[0]["rows"]
    return found


def expected_rows(app: AppTest) -> list[dict[str, Any]]:
    """What the model expects, before and with the changes."""
    [table] = [each for each in all_sent(app, "share_table") if "with the changes" in each["columns"]]
    rows: list[dict[str, Any]] = table["rows"]
    return rows


def listed(app: AppTest) -> list[str]:
    """The heads of the ranking, as they are listed."""
    found: Any = next(element for element in app.button_group if element.key == "ranked").options
    return list(found)


def test_a_silent_head_moves_each_output_and_all_heads_are_ranked(alone: Numbers) -> None:
    app = finished(visit("intervene", edits="encoder 4-2"))
    expected = alone[37]
    shown = bars(app)
    assert [bar["hint"] for bar in shown] == [
        f"1 − cosine: {cosine_change:.4f}" for cosine_change in expected
    ]
    degrees = angles(expected)
    assert [bar["written"][0] for bar in shown] == [f"{angle:.1f}°" for angle in degrees]
    np.testing.assert_allclose([bar["shares"][0] for bar in shown], degrees / degrees.max(), atol=1e-3)
    assert [bar["label"] for bar in shown if bar["marked"]] == ["it"]
    drawn = sent(app, "head_map")
    values = np.array(drawn["values"])
    np.testing.assert_allclose(values, angles(alone[:, 9]), atol=0.02)
    assert drawn["printed"] == [f"{value:.0f}" for value in values]
    best = int(values.argmax())
    assert listed(app)[0].startswith(f"{best // 12 + 1}-{best % 12 + 1} · ")
    median = angles(float(np.median(alone[:, 9])))
    told = words(app)
    assert f"the output of `it` changes by **{degrees[9]:.1f}°**" in told
    assert f"Median of 72 heads, each ablated alone: **{median:.1f}°**" in told
    assert f"Head 4-2: **number {1 + (values > values[37]).sum()} of 72**" in told
    assert "`it` attends to `dog` **66 %**, `road` **12 %**" in told


def test_a_button_makes_a_change_and_takes_it_back_and_a_sentence_says_what_it_did() -> None:
    app = visit("intervene", text=TIRED, layer="4", head="2")
    whole, road = "make encoder 4-2", "make encoder 4-2 10 >8"
    assert app.button(key=whole).label == "Ablate head 4-2"
    app.button(key=whole).click().run()
    assert app.button(key=whole).label == "Undo: ablate head 4-2"
    assert edits_of(app) == ["encoder 4-2"]
    assert re.search(r"With these changes, the output of `it` changes by \*\*\d\.\d°\*\* \(", words(app))
    # A silent head has one picture, which has all the room.
    assert len(all_sent(app, "head_view")) == 1
    assert "With the changes, the head is ablated" in words(app)
    clean(app.button(key=road).click().run())
    assert edits_of(app) == ["encoder 4-2", "encoder 4-2 10 >8"]
    assert len(all_sent(app, "head_view")) == 2
    told = words(app)
    assert "the head is ablated" not in told
    assert "Head 4-2 is ablated; in head 4-2, `it` attends only to `road`." in told
    assert "with the changes, to `road` **100 %**" in told
    app.button(key=whole).click().run()
    assert edits_of(app) == ["encoder 4-2 10 >8"]
    app.button(key=whole).click().run()  # a head that is ablated last is silent altogether
    assert edits_of(app) == ["encoder 4-2 10 >8", "encoder 4-2"]
    expected = r"Prediction after `car`: `il` goes from .*; most probable now: `elle`, .*\."
    assert re.search(expected, words(visit("intervene", model="translator", edits="encoder 2-1")))


def test_a_link_brings_its_changes_and_invalid_ones_are_listed() -> None:
    asked = ["encoder 4-2 10 3>8", "encoder 9-1", "<script>", "**x**", "encoder 1-1 99", "encoder 1-1 2 >99"]
    app = visit("intervene", FOLDED, text=TIRED, edits=asked)
    (warning,) = app.warning
    for said in ("encoder layer 9", r"\<script\>", r"\*\*x\*\*", "row 99", "key 99"):
        assert said in warning.value
    assert edits_of(app) == asked
    assert "With these changes, the output of" in words(app)  # the valid one is made
    clean(press(app, "Remove invalid changes"))
    assert edits_of(app) == asked[:1]


def test_the_translator_writes_and_expects_otherwise() -> None:
    app = finished(visit("intervene", model="translator", edits="encoder 2-1", layer="2", head="1"))
    edited = attnviz.trace(TIRED, "translator", edits=["encoder 2-1"]).target
    told = words(app)
    assert f"before: `{FRENCH}`" in told
    assert f"with the changes: `{edited}`" in told
    assert re.search(r"Head encoder 2-1: \*\*number \d+ of \d+\*\*", told)
    assert app.selectbox(key="asked").value == "10 car"
    rows = expected_rows(app)
    assert rows[0]["label"] == "il"
    assert f"`il` goes from **{100 * rows[0]['shares'][0]:.1f} %** to" in told


def test_a_decoder_expects_another_word(opened: Callable[[str], str]) -> None:
    app = finished(visit("intervene", model=opened("gpt2"), text=SENTENCE, edits="decoder 1-2"))
    rows = expected_rows(app)
    for column, edits in enumerate(([], ["decoder 1-2"])):
        expected = attnviz.predictions(SENTENCE, opened("gpt2"), edits=edits)[-1].candidates[0]
        found = max(rows, key=lambda row: row["shares"][column])
        assert found["shares"][column] == pytest.approx(expected.probability, abs=1e-5)
        assert found["label"] == expected.text
