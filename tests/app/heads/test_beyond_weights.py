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
from attnviz.app.heads.beyond_weights.choices import TokenSelection
from attnviz.app.heads.beyond_weights.comparison import _finding, _number, job_of
from attnviz.app.heads.beyond_weights.explained import EXPLAINED, name_here
from attnviz.app.heads.beyond_weights.numbers import csv_of
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.experiments.beyond_weights import HEAD_WEIGHTS, MEASURES, OCCLUSION, ROLLOUT, MeasuredToken, rows
from attnviz.experiments.progress import Progress
from attnviz.models import catalogue
from attnviz.text import decimal
from tests.app.shown import SECONDS, all_sent, charts, clean, finished, sent, try_page, visit, words

TIRED = "The dog did not cross the road as it was too tired."
IT = 8  # of the translator's tokens


def opened(**more: str) -> AppTest:
    return clean(finished(visit("beyond_weights", {"model": "translator", "text": TIRED, **more})))


def chosen() -> TokenSelection:
    groups = DisplayTokens(loading.tokens("translator", TIRED), TIRED).groups
    entry, given = catalogue.entry("translator"), ModelInput(TIRED)
    return TokenSelection(entry, given, "encoder", 0, 1, groups, groups, IT, special=False, itself=False)


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


def test_which_measures_beat_chance_and_which_go_the_other_way_is_said(
    latest: Progress[MeasuredToken],
) -> None:
    chance = by_chance(11)
    assert chance is not None
    assert 0.6 < chance.bound - 1e-6 < 0.64
    counted = chosen().counted(latest.found)
    yardstick, best, second, *others, last = rows(latest.found, 0, 1, counted)

    def said(*agreements: float) -> str:
        three = zip((best, second, last), agreements, strict=True)
        first, next_, final = (replace(row, agreement=rho) for row, rho in three)
        middle = [replace(row, agreement=0.1) for row in others]
        return _finding(chosen(), latest, [yardstick, first, next_, *middle, final], counted)

    names = [name_here(row.measure, "1-2") for row in (best, second, last)]
    at_what = "chance at ordering the 11 tokens as leaving them out does"
    reverse = f"Beyond chance too, but towards the reverse order: {names[2]} (ρ = −0.64)."
    assert f"**No measure beats {at_what}.** Nearest comes {names[0]} (ρ = 0.60)." in said(0.6, 0.5, 0.0)
    assert f"**1 of 10 measures beats {at_what}:** {names[0]} (ρ = 0.64)." in said(0.64, 0.6, -0.6)
    both = f"{names[0]} (ρ = 0.70), {names[1]} (ρ = 0.64)."
    assert f"**2 of 10 measures beat {at_what}:** {both}" in said(0.7, 0.64, -0.6)
    assert "reverse order" not in said(0.64, 0.6, -0.6)
    assert f"**No measure beats {at_what}.**" in said(0.6, 0.5, -0.64)
    assert reverse in said(0.6, 0.5, -0.64)
    ranked = [
        replace(row, agreement=0.5 if row.measure == HEAD_WEIGHTS else 0.6)
        for row in rows(latest.found, 0, 1, counted)
    ]
    assert "The weights of head 1-2 have ρ = 0.50." in _finding(
        chosen(), latest, [yardstick, *ranked[1:]], counted
    )


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


def test_all_heads_and_layers(latest: Progress[MeasuredToken]) -> None:
    app = opened(layer="1", head="2")
    counted = np.arange(13) < 12
    counted[IT] = False
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


def test_the_numbers_as_a_file(latest: Progress[MeasuredToken]) -> None:
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
        "< 0.1 %",
        "< 0.1 %",
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


def test_odd_texts() -> None:
    for text in ("tired", "the dog the dog"):
        assert "would say nothing" in words(opened(text=text))
    app = try_page("beyond_weights", model="translator", text="Dog. **bold**")
    assert app.error
    assert app.text_input(key="text").value == "Dog. **bold**"
    app.text_input(key="text").set_value("").run()
    assert app.error[0].value
    assert not app.exception
