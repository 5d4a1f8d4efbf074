"""Activation patching on the page Intervene: its numbers equal the results of `patch`."""

from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.capture.model import ModelInput
from attnviz.experiments.patching import Patching, patch
from attnviz.text import decimal
from tests.app.shown import buttons, clean, messages_to, page_text, visit, wait_finished

TIRED = "The dog did not cross the road as it was too tired."
NARROW = "The dog did not cross the road as it was too narrow."
MAP = "Fraction of the difference"
START = "Patch every head"


def patching(model: str, model_input: ModelInput, other: str, place: int) -> Patching:
    *_, last = patch(model, model_input, other, place)
    return last.found


def run_patching(**parameters: str) -> AppTest:
    app = visit("intervene", **parameters)
    app.button(key="patching start").click().run()
    return clean(wait_finished(app))


def patching_map(app: AppTest) -> dict[str, list[object]]:
    [drawn] = [each for each in messages_to(app, "head_map") if str(each["title"]).startswith(MAP)]
    return drawn


def problem(app: AppTest) -> str:
    """Return the message shown when patching cannot start."""
    assert START not in buttons(app)
    [info] = [each.value for each in app.info]
    return str(info)


def test_map_shows_the_share_of_each_head() -> None:
    app = run_patching(text=TIRED)
    expected = patching("minilm", ModelInput(TIRED), NARROW, 9)
    drawn = patching_map(app)
    np.testing.assert_allclose(np.array(drawn["values"], dtype=float), expected.shares, atol=1e-4)
    assert drawn["texts"] == [f"{decimal(100 * share, 1)} %" for share in expected.shares]
    best = int(np.abs(expected.shares).argmax())
    for sentence in (
        "The output of `it` after the last layer differs by **28.6°** between the two sentences",
        f"The effects sum to {decimal(100 * expected.shares.sum(), 1)} %",
        "all heads together removes 100.0 %",
    ):
        assert sentence in page_text(app)
    listed: Any = next(each for each in app.button_group if each.key == "patched most").options
    assert listed[0].startswith(f"{best // 12 + 1}-{best % 12 + 1} · ")


def test_shares_refer_to_the_log_odds_of_two_words() -> None:
    app = run_patching(text=NARROW, model="translator", patched_with=TIRED)
    french = attnviz.trace(NARROW, "translator").target
    expected = patching("translator", ModelInput(NARROW, target=french), TIRED, 9)
    assert expected.expected is not None
    values = np.array(patching_map(app)["values"], dtype=float)
    np.testing.assert_allclose(values, expected.shares[: len(values)], atol=1e-4)
    first, other = expected.expected
    text = page_text(app)
    assert f"Probabilities after `car` in the first and the second sentence: `{first.text}` " in text
    assert f", `{other.text}` " in text


def test_unsuitable_sentences_are_reported_and_choices_kept() -> None:
    app = visit("intervene", text=TIRED, patched_with="The dog slept.", layer="5", head="3")
    assert problem(app).startswith("The first sentence has 15 tokens, the second 6")
    assert (app.text_input(key="patched_with").value, app.number_input(key="head").value) == (
        "The dog slept.",
        3,
    )
    app.text_input(key="patched_with").set_value(NARROW).run()
    assert not app.info
    app.selectbox(key="query").set_value("13 tired").run()
    assert "Token 13 is “tired” in the first sentence and “narrow” in the second" in problem(app)
    assert app.text_input(key="patched_with").value == NARROW
    app = visit("intervene", model="translator", text=TIRED, patched_with="The zebra did not cross it.")
    assert "zebra" in problem(app)
