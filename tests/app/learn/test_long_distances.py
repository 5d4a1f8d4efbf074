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
from tests.app.shown import charts, clean, sent, try_page, visit, words


@pytest.mark.parametrize(("english", "clauses"), [(OPENING, CLAUSES.default), (NARROW, 3)])
def test_the_picture_is_told_in_words(english: str, clauses: int) -> None:
    app = visit("long_distances", english=english, clauses=str(clauses))
    shown, told = stretch(english, clauses, 0), words(app)
    assert any(header.value.startswith(f"{shown.words_apart} ") for header in app.header)
    weight, noun = (
        float(shown.back[list(shown.named)].sum()),
        " ".join(shown.target[at] for at in shown.named),
    )
    assert f"words back, at `{noun}` (**{percent(weight)}**)" in told
    right = shown.target[shown.choice]
    for attempt in (shown.recurrent, shown.transformer):
        count = f"{attempt.right} of " if attempt.words != shown.target else "all "
        assert f"gets {count}{len(shown.target)} words right" in told
        shares = {"il": attempt.il, "elle": attempt.elle}
        more, less = sorted(shares, key=lambda word: -shares[word])
        verdict = "rightly" if more == right else "wrongly"
        prefers = (
            f"it {verdict} prefers *{more}* ({percent(shares[more])}) to *{less}* ({percent(shares[less])})"
        )
        assert prefers in told


def test_the_picture_gets_both_networks() -> None:
    message = sent(visit("long_distances", clauses="2", english=NARROW), "stretched")
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


def test_the_memory_stays_the_vectors_grow_and_longer_than_learned_is_said() -> None:
    app = visit("long_distances", clauses="0")
    memory, vectors = (network["keeps"] for network in sent(app, "stretched")["networks"])
    assert memory == "keeps 2 × 128 = 256 numbers, however long the sentence"
    assert vectors == "keeps 64 numbers a word: 13 × 64 = 832"
    note = "are more than they have ever seen"
    for clauses in (distance.read().longest_learned, MOST):
        clean(app.slider(key="clauses").set_value(clauses).run())
        keeps = [network["keeps"] for network in sent(app, "stretched")["networks"]]
        assert keeps[0] == memory
        assert keeps[1] != vectors
        assert (f"{MOST} {note}" in words(app)) == (note in words(app)) == (clauses == MOST)


def test_the_charts_show_what_was_measured() -> None:
    found = charts(visit("long_distances"))
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


def test_what_was_measured_is_told_in_words() -> None:
    told, measured = words(visit("long_distances")), distance.read()
    at = measured.longest_learned
    for network in measured.networks.values():
        counts = (network.points[at].exact, network.points[-1].exact)
        beyond = " and ".join(percent(count / measured.sentences) for count in counts)
        assert f"{beyond} of its translations are right" in told
        assert f"goes from {scientific(network.points[0].untrained.middle)} to" in told
    for head in (*measured.back.values(), measured.across):
        assert f"{100 * head.weights[at]:.0f} % at {measured.words[at]:.0f}" in told
    lstm, transformer = (measured.networks[name].steps for name in distance.NAMES)
    assert f"saw {lstm:,} batches" in told
    assert f"{lstm / transformer:.1f} times as many because it learns more slowly" in told


def test_what_cannot_be_stretched_leaves_what_was_measured() -> None:
    app = try_page("long_distances", english="The road was narrow.")
    assert "cannot be stretched here" in app.error[0].value
    assert "The whole translation is right" in charts(app)


def test_missing_measures_are_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> distance.Distances:
        raise ModelFilesDamaged(
            f"distances.json is missing or damaged. Make it again with: {distance.COMMAND}"
        )

    monkeypatch.setattr(distance, "read", missing)
    app = try_page("long_distances")
    assert "python -m attnviz distances" in app.error[0].value


@pytest.mark.parametrize(
    ("number", "written"),
    [(0.371, "0.37"), (12.5, "12.50"), (4.04e-17, "4.0 × 10⁻¹⁷"), (0.0021, "2.1 × 10⁻³")],
)
def test_small_numbers_are_written_by_powers(number: float, written: str) -> None:
    assert scientific(number) == written
