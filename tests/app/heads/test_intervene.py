"""The page Intervene: its numbers equal the model's, and it reports invalid edits."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.capture.model import ModelInput
from attnviz.experiments.ablation import Numbers, ablate, angles
from tests.app.shown import (
    FOLDED,
    clean,
    message_to,
    messages_to,
    page_text,
    press,
    token_bars,
    visit,
    wait_finished,
)
from tests.capture.tiny import SENTENCE

TIRED = "The dog did not cross the road as it was too tired."
FRENCH = "Le chien n'a pas traversé la route car il était trop fatigué."


@pytest.fixture(scope="module")
def single_ablations() -> Numbers:
    """1 − cosine between a token's outputs before and after ablating one head of BERT, [head, token]."""
    *_, end = ablate("minilm", ModelInput(TIRED))
    return end.found.distances.cosine_change


def edits_of(app: AppTest) -> list[str]:
    return list(app.multiselect(key="edits").value)


def bars(app: AppTest) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = token_bars(app)[0]["rows"]
    return found


def expected_rows(app: AppTest) -> list[dict[str, Any]]:
    """Return the rows of the table of predictions without and with the changes."""
    [table] = [each for each in messages_to(app, "share_table") if "with the changes" in each["columns"]]
    rows: list[dict[str, Any]] = table["rows"]
    return rows


def ranked_labels(app: AppTest) -> list[str]:
    """Return the labels of the ranked heads, in order."""
    found: Any = next(element for element in app.button_group if element.key == "ranked").options
    return list(found)


def test_ablated_head_changes_each_output_and_heads_are_ranked(single_ablations: Numbers) -> None:
    app = wait_finished(visit("intervene", edits="encoder 4-2"))
    expected = single_ablations[37]
    shown = bars(app)
    assert [bar["hint"] for bar in shown] == [
        f"1 − cosine of this angle: {cosine_change:.4f}" for cosine_change in expected
    ]
    degrees = angles(expected)
    assert [bar["written"][0] for bar in shown] == [f"{angle:.1f}°" for angle in degrees]
    np.testing.assert_allclose([bar["shares"][0] for bar in shown], degrees / degrees.max(), atol=1e-3)
    assert [bar["label"] for bar in shown if bar["marked"]] == ["it"]
    drawn = message_to(app, "head_map")
    values = np.array(drawn["values"])
    np.testing.assert_allclose(values, angles(single_ablations[:, 9]), atol=0.02)
    assert drawn["printed"] == [f"{value:.0f}" for value in values]
    best = int(values.argmax())
    assert ranked_labels(app)[0].startswith(f"{best // 12 + 1}-{best % 12 + 1} · ")
    median = angles(float(np.median(single_ablations[:, 9])))
    text = page_text(app)
    assert f"The output of `it` changes by **{degrees[9]:.1f}°**" in text
    assert f"Median of 72 heads, ablated one at a time: **{median:.1f}°**" in text
    assert f"Head 4-2: **rank {1 + (values > values[37]).sum()} of 72**" in text


def test_buttons_make_and_undo_edits() -> None:
    app = visit("intervene", text=TIRED, layer="4", head="2")
    ablate_button, redirect_button = "make encoder 4-2", "make encoder 4-2 10 >8"
    assert app.button(key=ablate_button).label == "Undo “Ablate head 4-2”"  # ablated when the page opens
    app.button(key=ablate_button).click().run()
    assert app.button(key=ablate_button).label == "Ablate head 4-2"
    assert edits_of(app) == []
    app.button(key=ablate_button).click().run()
    assert edits_of(app) == ["encoder 4-2"]
    assert re.search(r"The output of `it` changes by \*\*\d\.\d°\*\*\.", page_text(app))
    # For an ablated head, only the weights without the changes are drawn.
    assert len(messages_to(app, "head_view")) == 1
    assert "Head 4-2 is ablated: its output is set to zero." in page_text(app)
    clean(app.button(key=redirect_button).click().run())
    assert edits_of(app) == ["encoder 4-2", "encoder 4-2 10 >8"]
    assert len(messages_to(app, "head_view")) == 2
    text = page_text(app)
    assert "Head 4-2 is ablated; then, in head 4-2, `it` attends only to `road`." in text
    assert "with the changes: `road` **100 %**" in text
    app.button(key=ablate_button).click().run()
    assert edits_of(app) == ["encoder 4-2 10 >8"]
    app.button(key=ablate_button).click().run()  # the edits are applied in order: the head is ablated
    assert edits_of(app) == ["encoder 4-2 10 >8", "encoder 4-2"]
    expected = r"After `car`, the probability of `il` changes from .*; most probable now: `elle`, .*\."
    assert re.search(expected, page_text(visit("intervene", model="translator", edits="encoder 2-1")))


def test_another_model_opens_with_its_own_head_ablated() -> None:
    app = visit("intervene", text=TIRED)
    assert edits_of(app) == ["encoder 4-2"]
    clean(app.selectbox(key="model").select("translator").run())
    [edit] = edits_of(app)
    assert edit != "encoder 4-2"
    assert not app.warning


def test_edits_in_a_link_are_applied_and_invalid_ones_listed() -> None:
    edits = ["encoder 4-2 10 3>8", "encoder 9-1", "<script>", "**x**", "encoder 1-1 99", "encoder 1-1 2 >99"]
    app = visit("intervene", FOLDED, text=TIRED, edits=edits)
    (warning,) = app.warning
    for problem in ("encoder layer 9", r"\<script\>", r"\*\*x\*\*", "row 99", "key 99"):
        assert problem in warning.value
    assert edits_of(app) == edits
    assert "The output of `" in page_text(app)  # the valid edit is applied
    clean(press(app, "Remove invalid changes"))
    assert edits_of(app) == edits[:1]


def test_edit_changes_translation_and_predictions() -> None:
    app = wait_finished(visit("intervene", model="translator", edits="encoder 2-1", layer="2", head="1"))
    edited = attnviz.trace(TIRED, "translator", edits=["encoder 2-1"]).target
    text = page_text(app)
    assert f"before: `{FRENCH}`" in text
    assert f"With the changes: `{edited}`" in text
    assert re.search(r"Encoder head 2-1: \*\*rank \d+ of \d+\*\*", text)
    assert app.selectbox(key="expected_at").value == "10 car"
    rows = expected_rows(app)
    assert rows[0]["label"] == "il"
    assert f"`il` changes from **{100 * rows[0]['shares'][0]:.1f} %** to" in text


def test_edit_changes_predictions_of_a_decoder(opened: Callable[[str], str]) -> None:
    app = wait_finished(visit("intervene", model=opened("gpt2"), text=SENTENCE, edits="decoder 1-2"))
    rows = expected_rows(app)
    for column, edits in enumerate(([], ["decoder 1-2"])):
        expected = attnviz.predictions(SENTENCE, opened("gpt2"), edits=edits)[-1].candidates[0]
        found = max(rows, key=lambda row: row["shares"][column])
        assert found["shares"][column] == pytest.approx(expected.probability, abs=1e-5)
        assert found["label"] == expected.text
