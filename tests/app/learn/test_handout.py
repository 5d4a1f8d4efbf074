"""The handout has the numbers of the traces; lessons that cannot read the sentence are left out and named."""

import re

import numpy as np
import pytest

from attnviz.app import caches
from attnviz.app.examples import OPENING
from attnviz.app.learn import handout
from attnviz.app.learn.computed import MODEL
from attnviz.app.learn.contents import LESSONS, Lesson
from attnviz.capture.model import ModelInput
from attnviz.export.handout import Sheet, blanks
from attnviz.models import catalogue
from attnviz.text import percent
from attnviz.trace import Floats, Trace
from tests.app.shown import visit, warnings

IT = 9  # among BERT's tokens; the translator has no [CLS]


def sheet(name: str) -> Sheet:
    [only] = handout.sheets([name], OPENING.text)
    return only


def trace(model: str) -> Trace:
    return caches.trace(model, ModelInput(OPENING.text))


@pytest.mark.parametrize(
    ("name", "column", "expected"),
    [
        ("query_key_value", 2, lambda: trace(MODEL).block("encoder", 3).weights[1, IT]),
        ("masks", 0, lambda: trace(MODEL).block("encoder", 0).weights[1, IT]),
        ("many_heads", 1, lambda: trace(MODEL).block("encoder", 3).weights[:, IT].max(axis=1)),
        ("translate", 1, lambda: trace(catalogue.TRANSLATOR).block("cross", 0).weights[0, :10].max(axis=1)),
        (
            "cause",
            1,
            lambda: trace(catalogue.TRANSLATOR).stack("encoder")[:, :, IT - 1].max(axis=-1).flatten(),
        ),
    ],
)
def test_the_weights_on_paper_are_the_model_s(name: str, column: int, expected: object) -> None:
    weights: Floats = expected()  # type: ignore[operator]
    printed = sheet(name).columns[column]
    np.testing.assert_allclose(printed.values, weights, atol=1e-5)
    assert list(printed.written) == [percent(value, 1) for value in printed.values]


def test_what_is_printed_of_one_row_fits_together() -> None:
    scores, weights = (np.array(column.values) for column in sheet("weighted_average").columns)
    np.testing.assert_allclose(np.exp(scores) / np.exp(scores).sum(), weights, rtol=1e-5)
    dots, scaled, plain, divided = (np.array(column.values) for column in sheet("scale").columns)
    np.testing.assert_allclose(np.exp(dots) / np.exp(dots).sum(), plain, rtol=1e-4)
    np.testing.assert_allclose(np.exp(scaled) / np.exp(scaled).sum(), divided, rtol=1e-4)
    masked = np.array(sheet("masks").columns[1].values)
    assert not masked[IT + 1 :].any()
    assert masked.sum() == pytest.approx(1, abs=1e-5)
    without, _ = (np.array(column.values) for column in sheet("positions").columns)
    np.testing.assert_allclose(without, 1, atol=1e-5)
    products, scaled, weights = (np.array(column.values) for column in sheet("cross_attention").columns)
    np.testing.assert_allclose(products / np.sqrt(384), scaled, rtol=1e-5)
    np.testing.assert_allclose(np.exp(scaled) / np.exp(scaled).sum(), weights, rtol=1e-4)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_every_lesson_asks_what_its_page_asks_and_prints_no_answer(lesson: Lesson) -> None:
    found = sheet(lesson.name)
    assert found.question
    assert found.right in found.options
    assert found.because
    assert all(len(column.values) == len(found.rows) for column in found.columns)
    out = blanks(found, 1)
    assert len(out) >= 3
    printed = {
        (row, column): each.written[row]
        for column, each in enumerate(found.columns)
        for row in range(len(found.rows))
        if (row, column) not in {*out, *found.hidden}
    }
    assert found.right not in printed.values()
    last = len(found.columns) - 1
    guessed = found.options if found.right in found.rows else ()
    assert not [row for row, column in printed if found.rows[row] in guessed and column == last]
    assert not re.search("picture|drag|click", found.because, re.IGNORECASE), "paper has none of these"
    assert "scratch" not in found.about


@pytest.mark.parametrize("name", ["weighted_average", "query_key_value", "cross_attention"])
def test_every_blank_of_a_row_of_weights_can_be_worked_out_from_what_is_printed(name: str) -> None:
    found = sheet(name)
    assert not found.hidden
    (total,) = re.findall(r"e\^score ÷ ([\d.]+)", found.about)
    scores, weights = found.columns[-2:]
    worked_out = np.exp([float(score.replace("−", "-")) for score in scores.written]) / float(total)
    np.testing.assert_allclose(worked_out, weights.values, rtol=0.01)


def test_a_sheet_does_not_ask_where_there_is_nothing_to_guess_and_stops_at_the_pronoun() -> None:
    assert handout.SHEETS["weighted_average"]("Dog").question == ""
    assert sheet("translate").rows[-2:] == ["9 car", "10 il or elle?"]


def test_a_long_sentence_keeps_its_largest_numbers_and_says_so() -> None:
    [long] = handout.sheets(["query_key_value"], "The dog saw it and ran away. " * 12)
    assert len(long.rows) == 18
    assert "the 18 rows with the largest numbers, of 98" in long.about


def test_classroom_offers_the_45_minutes_and_leaves_out_what_cannot_be_read() -> None:
    app = visit("classroom", open="Handout")
    [menu] = app.multiselect
    assert menu.value == ["1 · Weighted average", "3 · Query, key, value", "9 · Translate", "10 · Cause"]
    assert "Left out" not in warnings(app)
    app = visit("classroom", sentence="The xylophone sang.", handout=["9 · Translate", "5 · Masks"])
    assert "Left out: 9 · Translate." in warnings(app)
    assert "xylophone" in warnings(app)
    assert len(app.get("download_button")) == 1
