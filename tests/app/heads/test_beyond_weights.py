"""Do the weights tell the story: the page's numbers, its sentences, its files, and odd texts."""

import csv
import json
import re
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnviz.analysis.rank_correlation import by_chance, rank_correlation
from attnviz.analysis.shown import Shown
from attnviz.app.heads.beyond_weights.choices import TokenSelection
from attnviz.app.heads.beyond_weights.comparison import _finding, _number, job_of
from attnviz.app.heads.beyond_weights.explained import EXPLAINED, name_here
from attnviz.app.heads.beyond_weights.numbers import csv_of
from attnviz.capture import loading
from attnviz.experiments.beyond_weights import HEAD_WEIGHTS, MEASURES, OCCLUSION, ROLLOUT, rows
from attnviz.models import catalogue
from tests.app.shown import charts, clean, sent, visit, words

TIRED = "The dog did not cross the road as it was too tired."
IT = 8  # of the translator's tokens


def finished(app: AppTest) -> AppTest:
    """The page when everything is measured."""
    for _ in range(400):
        if not any(button.label == "Stop" for button in app.button) and not app.get("progress"):
            return app
        time.sleep(0.05)
        app.run()
    raise AssertionError("still measuring")


def opened(**more: str) -> AppTest:
    app = finished(visit("beyond_weights", **{"model": "translator", "text": TIRED, **more}))
    return app


def chosen() -> TokenSelection:
    groups = Shown(loading.tokens("translator", TIRED), TIRED).groups
    return TokenSelection(
        catalogue.entry("translator"), TIRED, "encoder", 0, 1, groups, IT, special=False, itself=False
    )


def test_the_picture_says_what_the_sentence_says() -> None:
    app = opened()
    shown = sent(app, "measures")
    assert {line["key"] for line in shown["lines"]} == set(MEASURES)
    assert [column["label"] for column in shown["columns"]] == TIRED.lower().rstrip(".").split()
    standings = [column["standing"] for column in shown["columns"]]
    assert standings == ["itself" if place == IT else "counted" for place in range(12)]
    counted = np.arange(12) != IT
    yardstick, best, *_, worst = shown["lines"]
    assert yardstick["key"] == OCCLUSION
    values = [np.array(line["values"])[counted] for line in (yardstick, best, worst)]
    most = shown["columns"][yardstick["ranks"].index(1)]["label"]
    told = words(app)
    assert f"Leaving out `{most}` moves `it` most: 1 − cosine" in told
    for line, each in ((best, values[1]), (worst, values[2])):
        rho = f"{rank_correlation(each, values[0]):.2f}".replace("-", "−")
        assert line["agreement"] == rho
    assert f"{best['label']} (ρ = {best['agreement']})" in told
    assert "Two orders of 11 tokens that know nothing of each other reach ρ = 0.62, or its negative" in told
    assert "in about 1 of 21 cases" in told
    first = sum(line["ranks"][yardstick["ranks"].index(1)] == 1 for line in shown["lines"][1:])
    assert f"Of 10 measures, {first or 'none'} put" in told
    assert "Where a row is dark all over, all its values are nearly as large as the largest" in told


@pytest.mark.parametrize("query", ["9 it", "2 dog", "3 did", "12 tired"])
def test_which_measures_beat_chance_is_said_in_plain_words(query: str) -> None:
    app = opened(query=query, layer="1", head="1")
    shown, told = sent(app, "measures"), words(app)
    counted = np.array([column["standing"] == "counted" for column in shown["columns"]])
    yardstick, *others = (np.array(line["values"])[counted] for line in shown["lines"])
    rhos = [rank_correlation(values, yardstick) for values in others]
    chance = by_chance(11)
    assert chance is not None
    listed = [f"{line['label']} (ρ = {line['agreement']})" for line in shown["lines"][1:]]
    beating = [name for name, rho in zip(listed, rhos, strict=True) if rho > chance.bound - 1e-6]
    at_what = "chance at ordering the 11 tokens as leaving them out does"
    if beating:
        verb = "beats" if len(beating) == 1 else "beat"
        assert f"**{len(beating)} of 10 measures {verb} {at_what}:** {', '.join(beating)}." in told
    else:
        assert f"**No measure beats {at_what}.** Nearest comes {listed[0]}." in told
    reverse = [name for name, rho in zip(listed, rhos, strict=True) if rho < 1e-6 - chance.bound]
    assert ("Beyond chance too, but towards the reverse order" in told) == bool(reverse)
    for name, line in zip(listed, shown["lines"][1:], strict=True):
        if line["key"] == HEAD_WEIGHTS and name not in [*beating, *reverse, listed[0]]:
            assert f"The weights of head 1-1 have ρ = {line['agreement']}." in told


def test_while_it_is_measured_the_words_are_of_what_is_there_so_far() -> None:
    opened()
    latest = job_of(chosen()).latest
    assert latest is not None
    counted = chosen().counted(latest.found)
    ranked = rows(latest.found, 0, 1, counted)
    partly = replace(latest, done=latest.total - 1)
    said = _finding(chosen(), partly, ranked, counted)
    assert "Of 10 measures so far, " in said
    assert re.search(
        r"\*\*\d+ of 10 measures so far beats? chance at|\*\*No measure so far beats chance at", said
    )
    assert "so far" not in _finding(chosen(), latest, ranked, counted)


def test_that_no_measure_beats_chance_and_that_one_goes_the_other_way_is_said() -> None:
    opened()
    latest = job_of(chosen()).latest
    assert latest is not None
    counted = chosen().counted(latest.found)
    yardstick, best, *others, last = rows(latest.found, 0, 1, counted)

    def said(*agreements: float) -> str:
        changed = [replace(row, agreement=rho) for row, rho in zip((best, last), agreements, strict=True)]
        middle = [replace(row, agreement=0.1) for row in others]
        return _finding(chosen(), latest, [yardstick, changed[0], *middle, changed[1]], counted)

    names = [name_here(row.measure, "1-2") for row in (best, last)]
    at_what = "chance at ordering the 11 tokens as leaving them out does"
    assert f"**No measure beats {at_what}.** Nearest comes {names[0]} (ρ = 0.60)." in said(0.6, 0.0)
    assert f"**1 of 10 measures beats {at_what}:** {names[0]} (ρ = 0.64)." in said(0.64, -0.6)
    assert "reverse order" not in said(0.64, -0.6)
    reverse = f"Beyond chance too, but towards the reverse order: {names[1]} (ρ = −0.64)."
    assert reverse in said(0.6, -0.64)
    assert f"**No measure beats {at_what}.**" in said(0.6, -0.64)


def test_special_tokens_and_the_token_itself_are_ranked_when_asked_for() -> None:
    shown = sent(opened(special="true", itself="true"), "measures")
    assert [column["label"] for column in shown["columns"]][-1] == "[END]"
    assert {column["standing"] for column in shown["columns"]} == {"counted"}
    assert all(max(line["ranks"]) > 12 for line in shown["lines"])


def test_a_measure_is_explained() -> None:
    app = opened(measure=ROLLOUT)
    assert app.selectbox(key="measure").value == ROLLOUT
    assert EXPLAINED[ROLLOUT].what in words(app)
    assert f"**Where it can mislead.** {EXPLAINED[ROLLOUT].misleads}" in words(app)
    assert sent(app, "measures")["chosen"] == ROLLOUT
    assert set(EXPLAINED) == set(MEASURES)
    assert "so the other measures are compared with it" in EXPLAINED[OCCLUSION].what


def test_all_heads_and_layers() -> None:
    app = opened(layer="1", head="2")
    counted = np.arange(13) < 12
    counted[IT] = False
    latest = job_of(chosen()).latest
    assert latest is not None
    weights, yardstick = latest.found.values["Weights of the head"], latest.found.values[OCCLUSION]
    expected = [rank_correlation(row[counted], yardstick[counted]) for row in weights.reshape(-1, 13)]
    np.testing.assert_allclose(sent(app, "head_map")["values"], expected, atol=1e-5)
    layer, head = divmod(int(np.argmax(expected)), 4)
    assert f"Of 8 heads, the weights of **{layer + 1}-{head + 1}** order the 11 tokens most" in words(app)
    chance = by_chance(11)
    assert chance is not None
    assert chance.frequency < 0.048
    far = int((np.abs(expected) > chance.bound - 1e-5).sum())
    assert far == 0
    assert "No head beats chance, for which it would take ±0.62." in words(app)
    assert "is reached by" not in words(app)
    chart = charts(app)["Agreement with leaving words out, layer by layer"]
    assert [line["label"] for line in chart["lines"]] == ["mean weights", "norms", "norms after Add & Norm"]
    assert [line["x"] for line in chart["lines"]] == [[1, 2]] * 3


def test_the_numbers_as_a_file() -> None:
    opened()
    latest = job_of(chosen()).latest
    assert latest is not None
    text = csv_of(chosen(), latest.found)
    facts = dict(csv.reader(line for line in text.removeprefix("\ufeff").splitlines() if line[0] == "#"))
    assert facts["# text"] == f"“{TIRED}”"
    assert facts["# what replaces a word"] == "the mean of all word vectors"
    table = list(csv.DictReader(line for line in text.removeprefix("\ufeff").splitlines() if line[0] != "#"))
    assert [row["token"] for row in table][IT - 1 : IT + 1] == ["8:as", "9:it"]
    assert list(table[0])[1:3] == [OCCLUSION, "Weights of head 1-2"]
    np.testing.assert_array_equal(
        np.array([row[ROLLOUT] for row in table], dtype=np.float32), latest.found.values[ROLLOUT]
    )


def test_the_table_has_few_columns_and_says_what_next_to_nothing_is() -> None:
    app = opened(layer="2", head="1")
    table: Any = app.dataframe[0]
    assert list(table.value.columns) == ["token", OCCLUSION, "Weights of head 2-1"]
    least = table.value["Weights of head 2-1"].min()
    assert 0 < least < 1e-6
    digits, power = f"{least:.2e}".split("e-")
    raised = str(int(power)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    assert f"{least:.3g} is {digits} × 10⁻{raised}: next to nothing." in app.caption[-1].value
    written = [each.get("type_config", {}).get("format") for each in json.loads(table.proto.columns).values()]
    assert written.count("%.3g") == 2
    app = opened(measure=ROLLOUT)
    assert list(app.dataframe[0].value.columns) == ["token", OCCLUSION, ROLLOUT]
    assert not any("next to nothing" in caption.value for caption in app.caption)


def test_a_share_that_is_not_0_never_reads_as_0() -> None:
    assert [_number(ROLLOUT, share) for share in (0.0, 1e-18, 0.0004, 0.0006)] == [
        "0.0 %",
        "<0.1 %",
        "<0.1 %",
        "0.1 %",
    ]
    assert _number(OCCLUSION, 3.5e-19) == "3.5e-19"


def test_what_chance_reaches_is_told_of_few_tokens_too() -> None:
    told = words(opened(text="the dog was too tired", itself="true", query="2 dog"))
    assert "Two orders of 5 tokens that know nothing of each other reach ρ = 1.00, or its negative" in told
    assert "in about 1 of 60 cases" in told
    assert "But 8 heads have 8 chances: ±1.00 is reached by " in told
    assert f" of them, and by {8 / 60:.1f} on average" in told


def test_of_four_tokens_chance_alone_makes_even_the_same_order_too_often() -> None:
    told = words(opened(text="the dog was too tired", query="2 dog"))
    assert "With 4 tokens to rank, agreement would say nothing." in told
    assert "Too few tokens are ranked: chance alone gives even their very order too often." in told
    assert "is reached by" not in told


@pytest.mark.parametrize("text", ["tired", "the dog the dog", "Dog. **bold**"])
def test_odd_texts(text: str) -> None:
    app = visit("beyond_weights", model="translator", text=text)
    if app.error:
        assert app.text_input(key="text").value == text
        return
    finished(app)
    clean(app)
    assert "would say nothing" in words(app)


def test_nothing_is_read_of_nothing() -> None:
    app = opened()
    app.text_input(key="text").set_value("").run()
    assert app.error[0].value
    assert not app.exception
