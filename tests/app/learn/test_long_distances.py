"""The page on long distances without a browser: its sentences, its charts, and what it says to bad input."""

import numpy as np
import pytest

from attnviz.app.learn.english import NARROW, OPENING
from attnviz.app.learn.long_distances.compute import stretch
from attnviz.app.learn.long_distances.sections import NETWORK, scientific
from attnviz.app.state.choices import CLAUSES
from attnviz.errors import ModelFilesDamaged
from attnviz.text import percent
from attnviz.trained.translator import distance
from attnviz.trained.translator.lengthening import MOST
from tests.app.learn.conftest import VisitLesson
from tests.app.shown import charts, clean, sent, words


def test_the_picture_is_told_in_words(visit_lesson: VisitLesson) -> None:
    app = visit_lesson("long_distances")
    clean(app)
    shown, told = stretch(OPENING, CLAUSES.default, 0), words(app)
    assert next(header.value for header in app.header if "noun" in header.value).startswith(
        f"{shown.words_apart} "
    )
    for attempt in (shown.recurrent, shown.transformer):
        exact = attempt.words == shown.target
        whole = len(shown.target)
        assert (
            f"gets all {whole} words right" if exact else f"gets {attempt.right} of {whole} words right"
        ) in told
    weight = float(shown.back[list(shown.named)].sum())
    assert f"{shown.choice - 1} words back, at `le chien` (**{percent(weight)}**)" in told


def test_the_pronoun_is_told(visit_lesson: VisitLesson) -> None:
    shown, told = stretch(NARROW, 3, 0), words(visit_lesson("long_distances", english=NARROW, clauses="3"))
    for attempt in (shown.recurrent, shown.transformer):
        if attempt.elle > attempt.il:
            assert (
                f"it rightly prefers *elle* ({percent(attempt.elle)}) to *il* ({percent(attempt.il)})" in told
            )
        else:
            assert (
                f"it wrongly prefers *il* ({percent(attempt.il)}) to *elle* ({percent(attempt.elle)})" in told
            )


def test_the_picture_gets_both_networks(visit_lesson: VisitLesson) -> None:
    message = sent(visit_lesson("long_distances", clauses="2", english=NARROW), "stretched")
    shown = stretch(NARROW, 2, 0)
    english, french = message["sentences"]
    assert [word["text"] for word in english["words"]] == [*shown.source, "[END]"]
    assert [word["clause"] for word in english["words"]] == [*shown.source_clauses, 0]
    assert [word["weight"] for word in english["words"]] == pytest.approx(shown.across, abs=1e-6)
    assert [word["text"] for word in english["words"] if word["role"]] == ["road", "it"]
    assert [word["text"] for word in french["words"]] == list(shown.target)
    assert [word["weight"] for word in french["words"]][: shown.choice] == pytest.approx(shown.back, abs=1e-6)
    assert {word["weight"] for word in french["words"][shown.choice :]} == {None}
    assert [word["text"] for word in french["words"] if word["role"]] == ["la", "route", "elle"]
    for network, attempt, name in zip(
        message["networks"], (shown.recurrent, shown.transformer), NETWORK.values(), strict=True
    ):
        assert network["name"] == name
        assert [word["text"] for word in network["words"] if word["mark"] != "missing"] == list(attempt.words)
        assert network["exact"] == (attempt.words == shown.target)
        levels = np.array(network["levels"]) - 127
        expected = attempt.kept.reshape(-1) / np.abs(attempt.kept).max()
        np.testing.assert_allclose(levels / 127, expected, atol=0.005)


def test_the_memory_stays_and_the_vectors_grow(visit_lesson: VisitLesson) -> None:
    keeps = [
        [
            network["keeps"]
            for network in sent(visit_lesson("long_distances", clauses=clauses), "stretched")["networks"]
        ]
        for clauses in ("0", "3")
    ]
    assert keeps[0][0] == keeps[1][0] == "keeps 2 × 128 = 256 numbers, however long the sentence"
    assert keeps[0][1] == "keeps 64 numbers a word: 13 × 64 = 832"
    assert keeps[1][1] != keeps[0][1]


def test_longer_than_learned_is_said(visit_lesson: VisitLesson) -> None:
    learned = distance.read().longest_learned
    note = "are more than they have ever seen"
    assert note not in words(visit_lesson("long_distances", clauses=str(learned)))
    assert f"{MOST} {note}" in words(visit_lesson("long_distances", clauses=str(MOST)))


def test_the_charts_show_what_was_measured(visit_lesson: VisitLesson) -> None:
    found = charts(visit_lesson("long_distances"))
    measured = distance.read()
    for title, what in (("The whole translation is right", "exact"), ("The pronoun is right", "pronoun")):
        for line, name in zip(found[title]["lines"], distance.NAMES, strict=True):
            shares = [
                100 * getattr(point, what) / measured.sentences for point in measured.networks[name].points
            ]
            assert line["y"] == pytest.approx(shares, rel=1e-4)
            assert line["x"] == pytest.approx(measured.words, abs=0.05)
            assert all(
                low <= y <= high for low, y, high in zip(line["low"], line["y"], line["high"], strict=True)
            )
    (untrained, trained, *_) = found["Reaction to the noun’s vector"]["lines"]
    points = measured.networks["recurrent"].points
    assert untrained["y"] == pytest.approx([np.log10(point.untrained.middle) for point in points], rel=1e-4)
    assert trained["y"] == pytest.approx([np.log10(point.gradient.middle) for point in points], rel=1e-4)
    heads = (measured.back["il"], measured.back["elle"], measured.across)
    for line, head in zip(found["Where the transformer looks"]["lines"], heads, strict=True):
        assert f"head {head.name}," in line["label"]
        assert line["y"] == pytest.approx([100 * weight for weight in head.weights], rel=1e-4)


def test_the_charts_are_told_in_words(visit_lesson: VisitLesson) -> None:
    told, measured = words(visit_lesson("long_distances")), distance.read()
    at = measured.longest_learned
    for network in measured.networks.values():
        counts = (network.points[at].exact, network.points[-1].exact)
        beyond = " and ".join(percent(count / measured.sentences) for count in counts)
        assert f"{beyond} of its translations are right" in told
        assert f"goes from {scientific(network.points[0].untrained.middle)} to" in told
    for head in (*measured.back.values(), measured.across):
        assert f"{100 * head.weights[at]:.0f} % at {measured.words[at]:.0f}" in told


def test_the_unequal_trainings_are_told(visit_lesson: VisitLesson) -> None:
    lstm, transformer = (distance.read().networks[name].steps for name in distance.NAMES)
    told = words(visit_lesson("long_distances"))
    assert f"saw {lstm:,} batches" in told
    assert f"{lstm / transformer:.1f} times as many because it learns more slowly" in told


def test_the_guess_is_answered_by_what_was_measured(visit_lesson: VisitLesson) -> None:
    app = visit_lesson("long_distances")
    measured = distance.read()
    first, last = (measured.networks["recurrent"].points[at] for at in (0, measured.longest_learned))
    lost = {
        "what “it” means": first.pronoun - last.pronoun,
        "other words of the sentence": first.exact - last.exact,
    }
    right = max(lost, key=lambda what: lost[what])
    app.button_group(key="guess_long_distances").set_value(right).run()
    assert "**Yes.**" in words(app)
    app.button_group(key="guess_long_distances").set_value("nothing").run()
    assert "**Not quite.**" in words(app)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("The road was narrow.", "cannot be stretched here"),
        ("The cat did not cross the street as it was too old.", "Both a cat and a street could be old"),
        ("The zebra did not cross the road as it was too tired.", "zebra"),
        ("<script>alert(1)</script>", "never seen"),
    ],
)
def test_what_cannot_be_stretched_is_refused_kindly(visit_lesson: VisitLesson, typed: str, said: str) -> None:
    app = visit_lesson("long_distances", english=typed)
    assert not app.exception
    assert said in app.error[0].value
    assert app.text_input(key="english").value == typed
    assert "The whole translation is right" in charts(app)


@pytest.mark.parametrize(("name", "value"), [("clauses", "99"), ("clauses", "many"), ("clauses_seed", "-1")])
def test_a_link_that_asks_for_nonsense_gets_a_kind_word(
    visit_lesson: VisitLesson, name: str, value: str
) -> None:
    app = visit_lesson("long_distances", {name: value})
    clean(app)
    assert f"`{name}` cannot be `{value}` here" in app.warning[0].value


def test_missing_measures_are_named_with_the_command(
    visit_lesson: VisitLesson, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> distance.Distances:
        raise ModelFilesDamaged(
            f"distances.json is missing or damaged. Make it again with: {distance.COMMAND}"
        )

    monkeypatch.setattr(distance, "read", missing)
    app = visit_lesson("long_distances")
    assert not app.exception
    assert "python -m attnviz distances" in app.error[0].value


@pytest.mark.parametrize(
    ("number", "written"),
    [(0.371, "0.37"), (12.5, "12.50"), (4.04e-17, "4.0 × 10⁻¹⁷"), (0.0021, "2.1 × 10⁻³")],
)
def test_small_numbers_are_written_by_powers(number: float, written: str) -> None:
    assert scientific(number) == written
