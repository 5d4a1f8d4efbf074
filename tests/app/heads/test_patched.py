"""What each head carries from one sentence into another: the page's numbers beside the experiment's own."""

import csv

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.heads.intervene.patched import INTO_FIRST, csv_of
from attnviz.capture.model import ModelInput
from attnviz.experiments.patching import Patching, patch
from attnviz.interventions.edit import Edit
from attnviz.text import decimal
from tests.app.shown import all_sent, buttons, clean, finished, token_bars, visit, words

TIRED = "The dog did not cross the road as it was too tired."
NARROW = "The dog did not cross the road as it was too narrow."
FRENCH = "Le chien n'a pas traversé la route car il était trop fatigué."
MAP = "share of the difference that the head carries"
START = "Patch every head"


def found(model: str, given: ModelInput, other: str, place: int, rows_of: Edit | None = None) -> Patching:
    *_, last = patch(model, given, other, place, rows_of)
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


def test_the_page_shows_the_shares_of_all_heads_and_those_of_the_open_head_token_by_token() -> None:
    app = patched(text=TIRED)
    expected = found("minilm", ModelInput(TIRED), NARROW, 9)
    drawn = the_map(app)
    np.testing.assert_allclose(np.array(drawn["values"], dtype=float), expected.shares, atol=1e-4)
    assert drawn["texts"] == [f"{decimal(100 * share, 1)} %" for share in expected.shares]
    rows = found("minilm", ModelInput(TIRED), NARROW, 9, Edit("encoder", 3, 1)).shares
    [bars] = [each["rows"] for each in token_bars(app) if "carried" in str(each["title"])]
    assert [bar["written"][0] for bar in bars] == [f"{decimal(100 * share, 1)} %" for share in rows]
    best = int(np.abs(expected.shares).argmax())
    for sentence in (
        "The output of `it` after the last layer changes by **28.6°** between the two sentences",
        f"carry most: {best // 12 + 1}-{best % 12 + 1} **{decimal(100 * expected.shares[best], 1)} %**",
        f"All shares added are {decimal(100 * expected.shares.sum(), 1)} %",
        "patched at once, carry 100.0 %",
        "is that of `it`: **",
    ):
        assert sentence in words(app)
    [button] = [each for each in app.get("download_button") if "Save as CSV" in str(each.proto.label)]
    assert button.proto.label == "Save as CSV"


@pytest.mark.parametrize(
    ("given", "whole"),
    [
        (ModelInput(TIRED), "1 − cosine of the token’s two outputs"),
        (ModelInput(TIRED, target=FRENCH), "the log odds of “il” against “elle” in nats"),
    ],
)
def test_the_file_has_every_share_and_what_it_is_a_share_of(given: ModelInput, whole: str) -> None:
    model = "translator" if given.target else "minilm"
    expected = found(model, given, NARROW, 9)
    text = csv_of(model, given, NARROW, 9, expected).removeprefix("\ufeff")
    rows = list(csv.DictReader(text.splitlines()))
    about = {
        "model": model,
        "outputs of": TIRED,
        "put into the run over": NARROW,
        "second text": given.target or "",
        "chosen token": "10",
        "difference of": whole,
        "whole difference": f"{expected.whole:.9g}",
    }
    assert all(row.items() >= about.items() for row in rows)
    patched = [f"{row['attention']} {row['layer']}-{row['head']}" for row in rows]
    assert patched == [str(edit) for edit in expected.patched]
    np.testing.assert_allclose([float(row["share"]) for row in rows], expected.shares, rtol=1e-8)


def test_from_the_second_into_the_first_the_sentences_change_sides() -> None:
    app = patched(text=TIRED, model="translator", patched_with=NARROW, into=INTO_FIRST)
    expected = found("translator", ModelInput(NARROW, target=FRENCH), TIRED, 9)
    assert expected.expected is not None
    values = np.array(the_map(app)["values"], dtype=float)
    np.testing.assert_allclose(values, expected.shares[: len(values)], atol=1e-4)
    assert (
        "The second sentence makes `elle` more likely after `car` (90.0 % against 0.1 %), the first `il`"
        in words(app)
    )
    assert "is that of `it`: **98.7 %**." in words(app)


def test_what_is_missing_is_said_and_nothing_chosen_is_lost() -> None:
    app = visit("intervene", text=TIRED, patched_with="The dog slept.", layer="5", head="3")
    assert told(app).startswith("The first sentence has 15 tokens, the second 6")
    assert (app.text_input(key="patched_with").value, app.number_input(key="head").value) == (
        "The dog slept.",
        3,
    )
    next(each for each in app.button if each.label.startswith("Copy the first")).click().run()
    assert app.text_input(key="patched_with").value == TIRED
    assert "have the same tokens. Change a word" in told(app)
    app.text_input(key="patched_with").set_value(NARROW).run()
    assert not app.info
    app.selectbox(key="query").set_value("13 tired").run()
    assert "Token 13 is “tired” in the first sentence and “narrow” in the second" in told(app)
    assert app.text_input(key="patched_with").value == NARROW
    app = visit("intervene", model="translator", text=TIRED, patched_with="The zebra did not cross it.")
    assert "zebra" in told(app)
