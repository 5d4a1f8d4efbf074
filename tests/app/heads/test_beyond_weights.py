"""Do the weights tell the story: the page's numbers, its sentences, its files, and odd texts."""

import csv
import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.analysis.rank_correlation import by_chance, rank_correlation
from attnviz.app.heads.beyond_weights.by_layer import _best_of_each_way
from attnviz.app.heads.beyond_weights.choices import TokenSelection
from attnviz.app.heads.beyond_weights.comparison import _finding, _moves_most, _number, job_of
from attnviz.app.heads.beyond_weights.explained import EXPLAINED, name_here
from attnviz.app.heads.beyond_weights.numbers import csv_of
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.experiments.beyond_weights import (
    HEAD_WEIGHTS,
    MEASURES,
    OCCLUSION,
    ROLLOUT,
    MeasuredToken,
    Row,
    rows,
)
from attnviz.experiments.progress import Progress
from attnviz.models import catalogue
from attnviz.text import decimal
from tests.app.shown import SECONDS, all_sent, charts, clean, finished, sent, try_page, visit, words

TIRED = "The dog did not cross the road as it was too tired."
IT = 8  # of the translator's tokens
THREE = "under the three ways that there are here (mean vector, key masked and deleted)"


def opened(**more: str) -> AppTest:
    return clean(finished(visit("beyond_weights", {"model": "translator", "text": TIRED, **more})))


def chosen() -> TokenSelection:
    groups = DisplayTokens(loading.tokens("translator", TIRED), TIRED).groups
    entry, given = catalogue.entry("translator"), ModelInput(TIRED)
    return TokenSelection(entry, "encoder", 0, 1, given, groups, groups, IT, special=False, itself=False)


@pytest.fixture(scope="module")
def latest() -> Progress[MeasuredToken]:
    """All that is measured of the chosen token."""
    job = job_of(chosen())
    job.start()
    assert job.wait(SECONDS) == "finished"
    assert job.latest is not None
    return job.latest


def test_the_picture_says_what_the_sentence_says() -> None:
    app = opened()
    shown = sent(app, "measures")
    assert {line["key"] for line in shown["lines"]} == set(MEASURES)
    assert [column["label"] for column in shown["columns"]] == TIRED.lower().rstrip(".").split()
    standings = [column["standing"] for column in shown["columns"]]
    assert standings == ["itself" if place == IT else "counted" for place in range(12)]
    counted = np.arange(12) != IT
    yardstick, (best, *_, worst) = shown["lines"][:3], shown["lines"][3:]
    ways = ["mean vector", "key masked", "deleted"]
    assert [line["label"] for line in yardstick] == [f"Leaving it out: {way}" for way in ways]
    assert {line["key"] for line in yardstick} == {OCCLUSION}
    assert [line["yardstick"] for line in shown["lines"]] == [True] * 3 + [False] * 10
    assert [line["written"][IT] for line in yardstick[1:]] == ["–", "–"]
    told = words(app)
    for line in (best, worst):
        rhos = [
            rank_correlation(np.array(line["values"])[counted], np.array(one["values"])[counted])
            for one in yardstick
        ]
        assert line["band"] == pytest.approx([min(rhos), max(rhos)], abs=1e-6)
        assert line["agreement"] == f"{decimal(min(rhos))} to {decimal(max(rhos))}"
    assert f"{best['label']} ({best['agreement']})" in told
    assert "Two orders of 11 tokens that know nothing of each other reach 0.80, or its negative" in told
    assert "in at most 1 of 214 cases. As 10 measures have 10 chances" in told
    firsts = [line["ranks"].index(1) for line in yardstick]
    for at, line in zip(firsts, yardstick, strict=True):
        assert f"`{shown['columns'][at]['label']}`" in told
        assert f"{float(line['written'][at]):.2g}" in told
    first = sum(any(line["ranks"][at] == 1 for at in firsts) for line in shown["lines"][3:])
    assert f"Of 10 measures, {first or 'none'} put" in told
    assert "(mean vector); or no other token may look at it, in any layer (key masked); or it is" in told
    assert any("**Leaving it out: mask vector** is not here" in info.value for info in app.info)
    assert "Where a row has one strong colour, all its values are nearly as large as the largest" in told


def test_the_output_is_taken_apart() -> None:
    app = opened()
    found = attnviz.decomposition(TIRED, "translator", IT, kind="encoder")
    direction = found.output / (found.output @ found.output)
    shares = {(part.kind, part.layer): part.vectors @ direction for part in found.parts}
    heads = np.stack([shares["encoder", 0], shares["encoder", 1]])
    ffn = [float(shares["feed-forward", layer]) for layer in (0, 1)]
    told = words(app)
    for what, share in (
        ("All heads have", heads.sum()),
        ("all feed-forward networks", sum(ffn)),
        ("the embedding", shares["embeddings", 0]),
        ("the biases", shares["biases", 0]),
    ):
        assert f"{what} **{decimal(float(share))}**" in told
    off = re.search(r"none of its 64 numbers is off by more than (0\.\d{7})\.", told)
    assert off is not None
    assert found.residual <= float(off[1]) < 1e-5
    np.testing.assert_allclose(
        next(each for each in all_sent(app, "head_map") if "from all tokens" in each["title"])["values"],
        heads.sum(axis=2).ravel(),
        atol=1e-5,
    )
    every = [*heads.ravel(), *ffn, shares["embeddings", 0], shares["biases", 0]]
    assert sum(every) == pytest.approx(1, abs=1e-5)
    written = [bar["written"] for bar in sent(app, "token_bars")["bars"]]
    largest = sorted(every, key=lambda share: -abs(share))[:12]
    assert written == [decimal(float(share), 3) for share in largest]


def test_an_output_that_is_no_such_sum_is_refused_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnviz.capture.residual_stream.MOST_NUMBERS", 1)
    app = opened(text="The boy did not cross the road as he was too tired.")
    assert any("Shorten the text." in info.value for info in app.info)
    assert "together are 1" not in words(app)


def test_while_it_is_measured_the_words_are_of_what_is_there_so_far(latest: Progress[MeasuredToken]) -> None:
    counted = chosen().counted(latest.found)
    ranked = rows(latest.found, 0, 1, counted)
    said = _finding(chosen(), replace(latest, done=latest.total - 1), ranked, counted)
    assert "Of 10 measures so far, " in said
    assert re.search(r"\*\*(\d+ of 10 measures so far beats?|No measure so far beats) chance at", said)
    assert "so far" not in _finding(chosen(), latest, ranked, counted)


def rhos(row: Row, *agreements: float) -> Row:
    return replace(row, agreements=np.array(agreements, dtype=np.float32))


def test_a_measure_beats_chance_where_it_does_so_under_every_way(latest: Progress[MeasuredToken]) -> None:
    chance = by_chance(11, 10)
    assert chance is not None
    assert 0.79 < chance.bound <= 0.8
    counted = chosen().counted(latest.found)
    made = rows(latest.found, 0, 1, counted)
    yardstick, (best, second, *others, last) = made[:3], made[3:]

    def said(*agreements: tuple[float, float, float]) -> str:
        three = map(rhos, (best, second, last), *zip(*agreements, strict=True))
        first, next_, final = three
        middle = [rhos(row, 0.1, 0.1, 0.1) for row in others]
        return _finding(chosen(), latest, [*yardstick, first, next_, *middle, final], counted)

    names = [name_here(row.measure, "1-2") for row in (best, second, last)]
    at_what = f"chance at ordering the 11 tokens as leaving them out does, {THREE}"
    reverse = f"Beyond chance too, but towards the reverse order: {names[2]} (−0.90 to −0.81)."
    none, low, high = (0.1, 0.1, 0.1), (0.9, 0.78, 0.9), (0.81, 0.9, 0.85)
    told = said(low, none, none)  # one way is not enough
    assert f"**No measure beats {at_what}.** Nearest comes {names[0]} (0.78 to 0.90)." in told
    assert f"**1 of 10 measures beats {at_what}:** {names[0]} (0.81 to 0.90)." in said(high, low, none)
    both = f"{names[0]} (0.81 to 0.90), {names[1]} (0.81 to 0.90)."
    assert f"**2 of 10 measures beat {at_what}:** {both}" in said(high, high, none)
    assert "reverse order" not in said(high, low, (-0.9, -0.78, -0.9))
    assert f"**No measure beats {at_what}.**" in said(low, none, (-0.81, -0.9, -0.85))
    assert reverse in said(low, none, (-0.81, -0.9, -0.85))
    ranked = [
        rhos(row, 0.5, 0.4, 0.5) if row.measure == HEAD_WEIGHTS else rhos(row, 0.6, 0.6, 0.6)
        for row in made[3:]
    ]
    ranked.sort(key=lambda row: row.measure == HEAD_WEIGHTS)
    assert "The weights of head 1-2: 0.40 to 0.50." in _finding(
        chosen(), latest, [*yardstick, *ranked], counted
    )


def test_whether_every_way_has_the_same_token_first_is_said(latest: Progress[MeasuredToken]) -> None:
    counted = chosen().counted(latest.found)
    dog, road = np.full((2, len(counted)), 0.01, dtype=np.float32)
    dog[1], road[6] = 0.2, 0.3

    def said(*left_out: np.ndarray) -> str:
        ways = dict(zip(latest.found.left_out, left_out, strict=True))
        found = replace(latest.found, left_out=ways)
        return _moves_most(chosen(), found, rows(found, 0, 1, counted)[:3])

    unit = "1 − cosine of its output before and after"
    assert said(dog, 2 * dog, dog) == (
        f"Of the ranked tokens, `dog`, left out, moves `it` most, {THREE}: {unit} is 0.2 to 0.4."
    )
    assert said(dog, road, 2 * dog) == (
        "Which ranked token moves `it` most depends on how it is left out: `dog` (mean vector and deleted: "
        f"0.2 to 0.4); `road` (key masked: 0.3). The numbers are {unit}."
    )


def test_special_tokens_and_the_token_itself_are_ranked_when_asked_for() -> None:
    app = opened(special="true", itself="true")
    shown = sent(app, "measures")
    assert "under the one way that there is here (mean vector)" in words(app)
    refused = [info.value for info in app.info if "The token itself cannot be left out so" in info.value]
    assert [way in told for way, told in zip(("key masked", "deleted"), refused, strict=True)] == [True] * 2
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


def test_all_heads_and_layers(latest: Progress[MeasuredToken]) -> None:
    app = opened(layer="1", head="2")
    counted = np.arange(13) < 12
    counted[IT] = False
    weights = latest.found.values["Weights of the head"].reshape(-1, 13)[:, counted]
    expected = np.array(
        [[rank_correlation(row, one[counted]) for row in weights] for one in latest.found.left_out.values()]
    )
    shown = sent(app, "head_map")
    np.testing.assert_allclose(shown["values"], expected.min(axis=0), atol=1e-5)
    spans = zip(expected.min(axis=0), expected.max(axis=0), strict=True)
    assert shown["texts"] == [f"{decimal(low)} to {decimal(high)}" for low, high in spans]
    names = [f"{at // 4 + 1}-{at % 4 + 1}" for at in range(8)]
    assert (
        f"Of 8 heads, the weights of **{names[int(expected.min(axis=0).argmax())]}** order the 11"
        in words(app)
    )
    best = [names[int(rhos.argmax())] for rhos in expected]
    assert len(set(best)) == 1
    assert f"It is the best head {THREE}." in words(app)
    chance = by_chance(11, 8)
    assert chance is not None
    assert (expected.min(axis=0) < chance.bound - 1e-5).all()
    assert f"8 heads have 8 chances, so a head beats chance with {chance.told} or more" in words(app)
    assert f"{THREE} (Bonferroni): none of them do." in words(app)
    chart = charts(app)["Agreement with leaving words out, layer by layer"]
    assert [line["label"] for line in chart["lines"]] == ["mean weights", "norms", "norms after Add & Norm"]
    assert [line["x"] for line in chart["lines"]] == [[1, 2]] * 3


def test_whether_every_way_has_the_same_best_head_is_said(latest: Progress[MeasuredToken]) -> None:
    counted = chosen().counted(latest.found)
    each = np.zeros((3, 2, 4), dtype=np.float32)
    each[0, 1, 2] = each[1, 0, 3] = each[2, 1, 2] = 0.5
    assert _best_of_each_way(latest.found, counted, each, (1, 2)) == (
        "Which head is the best depends on how words are left out: 2-3 (mean vector and deleted); 1-4 (key "
        "masked). "
    )


def test_the_numbers_as_a_file(latest: Progress[MeasuredToken]) -> None:
    table = list(csv.DictReader(csv_of(chosen(), latest.found).removeprefix("\ufeff").splitlines()))
    assert {(row["text"], row["token that is asked about"]) for row in table} == {(TIRED, "9:it")}
    assert [row["token"] for row in table][IT - 1 : IT + 1] == ["8:as", "9:it"]
    ways = ["mean vector", "key masked", "deleted"]
    assert list(table[0])[5:9] == [*ways, "Weights of head 1-2"]
    assert [table[IT][way] for way in ways[1:]] == ["", ""]
    np.testing.assert_array_equal(
        np.array([row[ROLLOUT] for row in table], dtype=np.float32), latest.found.values[ROLLOUT]
    )


def test_the_table_has_few_columns_and_says_what_next_to_nothing_is() -> None:
    app = opened(layer="2", head="1")
    table: Any = app.dataframe[0]
    ways = ["mean vector", "key masked", "deleted"]
    assert list(table.value.columns) == ["token", *ways, "Weights of head 2-1"]
    least = table.value["Weights of head 2-1"].min()
    assert 0 < least < 1e-6
    digits, power = f"{least:.2e}".split("e-")
    raised = str(int(power)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    assert f"{least:.3g} is {digits} × 10⁻{raised}." in app.caption[-1].value
    written = [each.get("type_config", {}).get("format") for each in json.loads(table.proto.columns).values()]
    assert written.count("%.3g") == 4
    app = opened(measure=ROLLOUT)
    assert list(app.dataframe[0].value.columns) == ["token", *ways, ROLLOUT]
    assert not any("× 10" in caption.value for caption in app.caption)


def test_a_share_that_is_not_0_never_reads_as_0() -> None:
    assert [_number(ROLLOUT, share) for share in (0.0, 1e-18, 0.0004, 0.0006)] == [
        "0.0 %",
        "< 0.1 %",
        "< 0.1 %",
        "0.1 %",
    ]
    assert _number(OCCLUSION, 3.5e-19) == "3.5e-19"


def test_what_chance_reaches_is_told_of_few_tokens_too() -> None:
    told = words(opened(text="the dog was too tired", special="true", query="2 dog"))
    assert "With 5 tokens to rank and 10 measures to compare, agreement would say nothing." in told
    assert "With 5 tokens and 8 heads to choose from, no head can beat chance" in told
    told = words(opened(text="the dog was very tired", special="true", itself="true", query="2 dog"))
    assert "Two orders of 6 tokens that know nothing of each other reach 1.00, or its negative" in told
    assert "in at most 1 of 360 cases" in told


def test_of_four_tokens_chance_alone_makes_even_the_same_order_too_often() -> None:
    told = words(opened(text="the dog was too tired", query="2 dog"))
    assert "With 4 tokens to rank and 10 measures to compare, agreement would say nothing." in told
    assert "Too few tokens are ranked: chance alone gives even their very order too often." in told


def test_odd_texts() -> None:
    for text, query in (("tired", "2 [END]"), ("the dog the dog", "3 the")):
        assert "would say nothing" in words(opened(text=text, query=query))
    app = try_page("beyond_weights", model="translator", text="Dog. **bold**")
    assert app.error
    assert app.text_input(key="text").value == "Dog. **bold**"
    app.text_input(key="text").set_value("").run()
    assert app.error[0].value
    assert not app.exception
