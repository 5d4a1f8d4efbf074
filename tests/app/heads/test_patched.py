"""What each head carries from one sentence into another: the page's numbers beside the experiment's own."""

from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.capture.model import ModelInput
from attnviz.experiments.patching import Patching, patch
from attnviz.text import decimal
from tests.app.shown import all_sent, buttons, clean, finished, visit, words

TIRED = "The dog did not cross the road as it was too tired."
NARROW = "The dog did not cross the road as it was too narrow."
MAP = "share of the difference that the head restores"
START = "Patch every head"


def found(model: str, given: ModelInput, other: str, place: int) -> Patching:
    *_, last = patch(model, given, other, place)
    return last.found


def patched(**asked: str) -> AppTest:
    app = visit("intervene", **asked)
    app.button(key="patching start").click().run()
    return clean(finished(app))


def the_map(app: AppTest) -> dict[str, list[object]]:
    [drawn] = [each for each in all_sent(app, "head_map") if str(each["title"]).startswith(MAP)]
    return drawn


def told(app: AppTest) -> str:
    """What the section says when it cannot begin."""
    assert START not in buttons(app)
    [info] = [each.value for each in app.info]
    return str(info)


def test_the_page_shows_the_shares_of_all_heads() -> None:
    app = patched(text=TIRED)
    expected = found("minilm", ModelInput(TIRED), NARROW, 9)
    drawn = the_map(app)
    np.testing.assert_allclose(np.array(drawn["values"], dtype=float), expected.shares, atol=1e-4)
    assert drawn["texts"] == [f"{decimal(100 * share, 1)} %" for share in expected.shares]
    best = int(np.abs(expected.shares).argmax())
    for sentence in (
        "The output of `it` after the last layer changes by **28.6°** between the two sentences",
        f"The shares sum to {decimal(100 * expected.shares.sum(), 1)} %",
        "all heads together restores 100.0 %",
    ):
        assert sentence in words(app)
    listed: Any = next(each for each in app.button_group if each.key == "patched most").options
    assert listed[0].startswith(f"{best // 12 + 1}-{best % 12 + 1} · ")


def test_between_two_words_the_share_is_that_of_their_log_odds() -> None:
    app = patched(text=NARROW, model="translator", patched_with=TIRED)
    french = attnviz.trace(NARROW, "translator").target
    expected = found("translator", ModelInput(NARROW, target=french), TIRED, 9)
    assert expected.expected is not None
    values = np.array(the_map(app)["values"], dtype=float)
    np.testing.assert_allclose(values, expected.shares[: len(values)], atol=1e-4)
    one, other = expected.expected
    told = words(app)
    assert f"The first sentence makes `{one.text}` more likely after `car`" in told
    assert f"the second `{other.text}`" in told


def test_what_is_missing_is_said_and_nothing_chosen_is_lost() -> None:
    app = visit("intervene", text=TIRED, patched_with="The dog slept.", layer="5", head="3")
    assert told(app).startswith("The first sentence has 15 tokens, the second 6")
    assert (app.text_input(key="patched_with").value, app.number_input(key="head").value) == (
        "The dog slept.",
        3,
    )
    app.text_input(key="patched_with").set_value(NARROW).run()
    assert not app.info
    app.selectbox(key="query").set_value("13 tired").run()
    assert "Token 13 is “tired” in the first sentence and “narrow” in the second" in told(app)
    assert app.text_input(key="patched_with").value == NARROW
    app = visit("intervene", model="translator", text=TIRED, patched_with="The zebra did not cross it.")
    assert "zebra" in told(app)
