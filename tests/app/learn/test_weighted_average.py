"""The page about the weighted average without a browser: its sentence, choices, hostile texts and links."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.learn.weighted_average import averaged, averages_compared, compute_splitting
from attnviz.app.learn.weighted_average import compute as lesson
from attnviz.app.learn.weighted_average.sections import TEMPERATURES
from attnviz.app.learn.weighted_average.splitting import SPLITS
from attnviz.text import percent
from tests.app.learn.conftest import VisitLesson
from tests.app.shown import sent, words

TIRED = "The dog did not cross the road as it was too tired."
LONG = " ".join(f"word{number % 7} and" for number in range(160))


@pytest.fixture
def visit(visit_lesson: VisitLesson) -> VisitLesson:
    def open_link(**parameters: str | list[str]) -> AppTest:
        return visit_lesson("weighted_average", **parameters)

    return open_link


def test_the_page_opens_with_its_numbers(visit: VisitLesson) -> None:
    app = visit()
    assert not app.exception
    found = lesson.average(TIRED, "Dot product", 1.0)
    [said] = [one.value for one in app.markdown if " takes " in one.value and "All 13 weights" in one.value]
    assert said.startswith(f"`it` takes **{percent(found.weights[8, 8], 1)}** from itself")
    assert "All 13 weights sum to 100.0 %" in said
    message = sent(app, "average")
    assert message["query"] == 8
    assert [word["label"] for word in message["words"]][7:9] == ["as", "it"]
    assert [part["weight"] for part in message["parts"]] == pytest.approx(found.weights[8].tolist())
    assert message["mixed"] == pytest.approx(found.output[8, :32].tolist())


def test_names_on_both_sides_of_the_late_import_agree() -> None:
    assert tuple(averaged.FORMULAS) == (*lesson.SCORES, lesson.ADDITIVE)
    assert tuple(averages_compared.CERTAIN) == tuple(averaged.FORMULAS)
    assert SPLITS == (compute_splitting.CHARACTERS, compute_splitting.WORDS, compute_splitting.WORD_PIECES)


@pytest.mark.parametrize("scoring", averaged.FORMULAS)
@pytest.mark.parametrize("temperature", ["0", "0.01", "∞"])
def test_scoring_and_temperature_come_with_the_link(
    visit: VisitLesson, scoring: str, temperature: str
) -> None:
    app = visit(scoring=scoring, temperature=temperature, query="3 dog")
    assert not app.exception
    assert not app.warning
    value = float("inf") if temperature == "∞" else float(temperature)
    found = lesson.average(TIRED, scoring, value, 1)
    message = sent(app, "average")
    assert message["query"] == 1
    assert [part["weight"] for part in message["parts"]] == pytest.approx(found.weights[1].tolist(), abs=1e-6)


def test_another_draw_gives_other_weights(visit: VisitLesson) -> None:
    rows = []
    for draw in ("1", "2"):
        app = visit(scoring="Additive", draw=draw, temperature="0.1")
        assert f"**random numbers**, draw {draw}" in words(app)
        rows.append([part["weight"] for part in sent(app, "average")["parts"]])
    assert rows[0] != pytest.approx(rows[1], abs=0.01)


def test_every_temperature_is_a_number() -> None:
    values = [float("inf") if one == "∞" else float(one) for one in TEMPERATURES]
    assert values == sorted(values)


def test_the_guess_is_right_by_the_numbers(visit: VisitLesson) -> None:
    app = visit()
    app.button_group(key="guess_weighted_average").set_value("dog").run()
    assert "**Not quite.** `it` scores 0.91 and gets **14.6 %**" in words(app)
    app.button_group(key="guess_weighted_average").set_value("it").run()
    assert "**Yes.**" in words(app)


def test_the_worked_example_can_be_checked_with_a_calculator(visit: VisitLesson) -> None:
    for temperature in ("0.1", "1", "30"):
        app = visit(temperature=temperature)
        [worked] = re.findall(
            r"\$e\^\{(.*?)\} = (.*?)\$\. The sum of the row is \$(.*?)\$, and .* = \*\*(.*?) %\*\*",
            words(app),
        )
        power, exponential, total, share = worked
        assert 2.718281828 ** eval(power) == pytest.approx(float(exponential), rel=0.02, abs=2e-3)  # noqa: S307
        assert 100 * float(exponential) / float(total) == pytest.approx(float(share), abs=0.06)


@pytest.mark.parametrize("kind", SPLITS)
def test_the_splits(visit: VisitLesson, kind: str) -> None:
    app = visit(split=kind)
    found = compute_splitting.split(kind, TIRED)
    cuts = sent(app, "pieces")["cuts"]
    assert [(cut["id"], cut["start"], cut["end"]) for cut in cuts] == [
        (piece.id, piece.start, piece.end) for piece in found.pieces
    ]
    assert ("exactly what was typed" in words(app)) == (kind != compute_splitting.WORD_PIECES)


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "🙂",
        "👩‍👩‍👧 and 👩‍👩‍👧",
        "שלום עולם",
        "<script>alert(1)</script>",
        "**bold** `code` $x$ :red[no] ![i](http://example.com/i.png)",
        "dog dog dog",
        "| a | b |",
        LONG,
    ],
)
@pytest.mark.parametrize("split", SPLITS)
def test_any_text_has_its_page(visit: VisitLesson, text: str, split: str) -> None:
    app = visit(text=text, split=split, temperature="0")
    assert not app.exception
    assert not app.error
    parts = sent(app, "average")["parts"]
    assert sum(part["weight"] for part in parts) == pytest.approx(1, abs=1e-5)
    assert len(parts) <= 20
    assert "http://example.com" not in re.sub(r"(`+)(.*?)\1", "", words(app))


def test_a_long_text_is_summed_whole(visit: VisitLesson) -> None:
    app = visit(text=LONG, temperature="30")
    message = sent(app, "average")
    assert re.fullmatch(r"\d+ more", message["parts"][-1]["label"])
    for at, mixed in enumerate(message["mixed"]):
        total = sum(part["weight"] * part["vector"][at] for part in message["parts"])
        assert total == pytest.approx(mixed, abs=1e-6)


@pytest.mark.parametrize("text", ["", "word " * 2000])
def test_a_text_that_cannot_be_read_gets_a_kind_word(visit: VisitLesson, text: str) -> None:
    app = visit(text=text)
    assert not app.exception
    assert app.error or app.get("bidi_component")


def test_a_link_with_rubbish_falls_back_and_says_so(visit: VisitLesson) -> None:
    app = visit(scoring="Fuzzy", temperature="hot", split="Syllables", query="99 cat")
    assert not app.exception
    [said] = [one.value for one in app.warning]
    for name in ("scoring", "temperature", "split", "query"):
        assert f"`{name}`" in said
    assert sent(app, "average")["query"] == 8
