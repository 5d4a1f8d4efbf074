"""Do the weights tell the story: the page's numbers, its sentences, its files, and odd texts."""

import csv
import re
import time

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnviz.analysis.rank_correlation import rank_correlation
from attnviz.analysis.shown import Shown
from attnviz.capture import catalogue, loading
from attnviz.heads.beyond_weights import MEASURES, OCCLUSION, ROLLOUT
from attnviz.ui.heads.beyond_weights.choices import Chosen
from attnviz.ui.heads.beyond_weights.comparison import work_of
from attnviz.ui.heads.beyond_weights.explained import EXPLAINED
from attnviz.ui.heads.beyond_weights.numbers import csv_of
from tests.ui.conftest import VisitPage
from tests.ui.shown import charts, clean, sent, words

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


def opened(visit_page: VisitPage, **more: str) -> AppTest:
    app = finished(visit_page("beyond_weights", **{"model": "translator", "text": TIRED, **more}))
    clean(app)
    return app


def chosen() -> Chosen:
    groups = Shown(loading.tokens("translator", TIRED), TIRED).groups
    return Chosen(
        catalogue.entry("translator"), TIRED, "encoder", 0, 1, groups, IT, special=False, itself=False
    )


def test_the_picture_says_what_the_sentence_says(visit_page: VisitPage) -> None:
    app = opened(visit_page)
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
        assert re.search(rf"\*\*{re.escape(line['label'])}\*\* [^*]*\(ρ = {rho}\)", told)
    first = sum(line["ranks"][yardstick["ranks"].index(1)] == 1 for line in shown["lines"][1:])
    assert f"Of 10 measures, {first or 'none'} put" in told


def test_special_tokens_and_the_token_itself_are_ranked_when_asked_for(visit_page: VisitPage) -> None:
    shown = sent(opened(visit_page, special="true", itself="true"), "measures")
    assert [column["label"] for column in shown["columns"]][-1] == "[END]"
    assert {column["standing"] for column in shown["columns"]} == {"counted"}
    assert all(max(line["ranks"]) > 12 for line in shown["lines"])


def test_a_measure_is_explained(visit_page: VisitPage) -> None:
    app = opened(visit_page, measure=ROLLOUT)
    assert app.selectbox(key="measure").value == ROLLOUT
    assert EXPLAINED[ROLLOUT].what in words(app)
    assert EXPLAINED[ROLLOUT].misleads in words(app)
    assert sent(app, "measures")["chosen"] == ROLLOUT
    assert set(EXPLAINED) == set(MEASURES)


def test_all_heads_and_layers(visit_page: VisitPage) -> None:
    app = opened(visit_page, layer="1", head="2")
    counted = np.arange(13) < 12
    counted[IT] = False
    latest = work_of(chosen()).latest
    assert latest is not None
    weights, yardstick = latest.found.values["Weights of the head"], latest.found.values[OCCLUSION]
    expected = [rank_correlation(row[counted], yardstick[counted]) for row in weights.reshape(-1, 13)]
    np.testing.assert_allclose(sent(app, "head_map")["values"], expected, atol=1e-5)
    layer, head = divmod(int(np.argmax(expected)), 4)
    assert f"Of 8 heads, the weights of **{layer + 1}-{head + 1}** order the 11 tokens most" in words(app)
    chart = charts(app)["Agreement with leaving words out, layer by layer"]
    assert [line["label"] for line in chart["lines"]] == ["mean weights", "norms", "norms after Add & Norm"]
    assert [line["x"] for line in chart["lines"]] == [[1, 2]] * 3


def test_the_numbers_as_a_file(visit_page: VisitPage) -> None:
    opened(visit_page)
    latest = work_of(chosen()).latest
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


@pytest.mark.parametrize("text", ["tired", "the dog the dog", "Dog. **bold**"])
def test_odd_texts(visit_page: VisitPage, text: str) -> None:
    app = visit_page("beyond_weights", model="translator", text=text)
    if app.error:
        assert app.text_input(key="text").value == text
        return
    finished(app)
    clean(app)
    assert "would say nothing" in words(app)


def test_nothing_is_read_of_nothing(visit_page: VisitPage) -> None:
    app = opened(visit_page)
    app.text_input(key="text").set_value("").run()
    assert app.error[0].value
    assert not app.exception
