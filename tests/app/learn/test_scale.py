"""The page "Why divide by √d?" without a browser: its sentences and choices."""

import numpy as np
import pytest

from attnviz.app.learn.scale import compute as lesson
from attnviz.app.learn.scale import sections
from attnviz.app.state.choices import VECTORS_SEED
from tests.app.learn.conftest import VisitLesson
from tests.app.shown import charts, words

LONG = "The dog did not cross the road as it was too tired. " * 30


@pytest.mark.parametrize("d", sections.SIZES)
def test_the_picture_is_told_in_words(visit_lesson: VisitLesson, d: int) -> None:
    told = words(visit_lesson("scale", d=str(d), seed="3"))
    measured = lesson.variances(sections.SIZES, sections.DRAWS, 3).measured[sections.SIZES.index(d)]
    row = lesson.row(d, 1024, sections.KEYS, 3)
    assert f"At $d$ = **{d}**, {sections.DRAWS} random dot products have variance **{measured:.2f}**" in told
    assert f"gives key {row.plain.weights.argmax() + 1} **" in told
    assert f"entropy of **{row.plain.entropy:.2f}** of 3 bits" in told
    assert f"entropy is **{row.scaled.entropy:.2f}** bits" in told


def test_draw_again_draws_other_numbers_and_the_seed_says_which(visit_lesson: VisitLesson) -> None:
    app = visit_lesson("scale")
    before = words(app)
    app.button[0].click().run()
    assert app.number_input(key="vectors_seed").value == sections.FIRST_SEED + 1
    assert words(app) != before
    assert words(visit_lesson("scale", vectors_seed=str(sections.FIRST_SEED + 1))) == words(app)


def test_the_last_seed_is_followed_by_the_first(visit_lesson: VisitLesson) -> None:
    app = visit_lesson("scale", vectors_seed=str(VECTORS_SEED.most))
    app.button[0].click().run()
    assert app.number_input(key="vectors_seed").value == 0


def test_the_real_row_names_the_token_that_takes_everything(visit_lesson: VisitLesson) -> None:
    told = words(visit_lesson("scale"))
    assert "`it` would give `dog` **99.99 %**" in told
    assert "`dog` gets **65.8 %**" in told


@pytest.mark.parametrize(("guess", "verdict"), [("32", "Yes."), ("1", "Not quite.")])
def test_the_guess_is_answered(visit_lesson: VisitLesson, guess: str, verdict: str) -> None:
    app = visit_lesson("scale")
    app.button_group(key="guess_scale").set_value(guess).run()
    measured = lesson.variances(sections.SIZES, sections.DRAWS, sections.FIRST_SEED).measured[5]
    assert f"**{verdict}**" in words(app)
    assert f"{measured:.1f}" in words(app)


@pytest.mark.parametrize(("name", "value"), [("d", "33"), ("d", "x"), ("seed", "-1"), ("layer", "99")])
def test_a_link_that_asks_for_nonsense_gets_a_kind_word(
    visit_lesson: VisitLesson, name: str, value: str
) -> None:
    app = visit_lesson("scale", {name: value})
    assert words(app)
    assert f"`{name}` cannot be `{value}` here" in app.warning[0].value


def test_of_a_long_sentence_the_strongest_keys_are_listed_and_the_rest_summed() -> None:
    found = lesson.in_bert(LONG.strip(), 3, 1, 9)
    keys = sections.listed(found.row, [token.text for token in found.tokens])
    assert len(keys) == sections.MOST_SHOWN
    assert keys[-1]["label"] == f"{len(found.tokens) - sections.MOST_SHOWN + 1} others"
    assert np.sum([key["weights"] for key in keys], axis=0) == pytest.approx([1, 1], abs=1e-4)
    places = [key["place"] for key in keys[:-1]]
    assert places == sorted(places, key=lambda place: place or 0)
    strongest = int(found.row.scaled.weights.argmax())
    assert strongest + 1 in places


@pytest.mark.parametrize("text", ["a", LONG, "🐕 مرحبا <script>alert(1)</script> **b** $x$", "dog dog dog"])
def test_any_sentence_is_read(visit_lesson: VisitLesson, text: str) -> None:
    assert "Over all" in words(visit_lesson("scale", text=text))


def test_an_empty_sentence_is_refused_kindly(visit_lesson: VisitLesson) -> None:
    app = visit_lesson("scale", text=" ")
    assert not app.exception
    assert "nothing here for the model to read" in app.error[0].value


def test_the_charts_show_what_was_computed(visit_lesson: VisitLesson) -> None:
    shown = charts(visit_lesson("scale", d="64", seed="3"))
    variances = lesson.variances(sections.SIZES, sections.DRAWS, 3)
    means = lesson.curves(sections.SIZES, sections.KEYS, sections.ROWS, 3)
    theory, measured = shown["The variance of q · k grows like d"]["lines"]
    assert theory["x"] == theory["y"] == measured["x"] == list(sections.SIZES)
    for name, errors in (("low", -2), ("y", 0), ("high", 2)):
        assert measured[name] == pytest.approx(variances.measured + errors * variances.errors, rel=1e-5)
    for title, values in (("entropy, in bits", means.entropy), ("size of the gradient", means.gradient)):
        without, with_it = shown[f"Mean {title}"]["lines"]
        assert [without["y"], with_it["y"]] == [pytest.approx(row, rel=1e-5) for row in values]
        assert without["dash"] != with_it["dash"]
        assert without["marker"] != with_it["marker"]
    assert {chart["marked"] for chart in shown.values()} == {64}
