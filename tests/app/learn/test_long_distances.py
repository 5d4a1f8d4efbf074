"""The page on long distances without a browser: its sentences, its charts, and what it says to bad input."""

from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
import pytest

from attnviz.app.learn.english import NARROW, OPENING
from attnviz.app.learn.long_distances.compute import stretch
from attnviz.app.learn.long_distances.sections import NETWORK
from attnviz.app.state.choices import CLAUSES
from attnviz.errors import ModelFilesDamaged
from attnviz.text import percent, plural, scientific
from attnviz.trained.translator import distance
from attnviz.trained.translator.distance import Run
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
    assert f"words back, `{noun}` gets **{percent(weight)}**" in told
    right = shown.target[shown.choice]
    for name in distance.NAMES:
        attempt = getattr(shown, name)
        count = f"{attempt.right} of " if attempt.words != shown.target else "all "
        assert f"gets {count}{len(shown.target)} words right" in told
        shares = {"il": attempt.il, "elle": attempt.elle}
        more, less = sorted(shares, key=lambda word: -shares[word])
        verdict = "rightly" if more == right else "wrongly"
        prefers = (
            f"it {verdict} prefers *{more}* ({percent(shares[more])}) to *{less}* ({percent(shares[less])})"
        )
        assert prefers in told


def test_the_picture_gets_the_networks() -> None:
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
    for network, (name, title) in zip(message["networks"], NETWORK.items(), strict=True):
        attempt = getattr(shown, name)
        assert network["name"] == title
        assert [word["text"] for word in network["words"] if word["mark"] != "missing"] == list(attempt.words)
        assert network["exact"] == (attempt.words == shown.target)
        levels = np.array(network["levels"]) - 127
        expected = attempt.kept / np.abs(attempt.kept).max(axis=1, keepdims=True)  # each vector's own scale
        np.testing.assert_allclose(levels / 127, expected.reshape(-1), atol=0.005)


def test_the_memory_stays_the_vectors_grow_and_longer_than_learned_is_said() -> None:
    app = visit("long_distances", clauses="0")
    memory, both, vectors = (network["keeps"] for network in sent(app, "stretched")["networks"])
    assert memory == "keeps 2 × 128 = 256 numbers, however long the sentence"
    assert both == "keeps 128 numbers a word, and 128 more: 14 × 128 = 1,792"
    assert vectors == "keeps 64 numbers a word: 13 × 64 = 832"
    note = "are more than they have ever seen"
    for clauses in (distance.read().longest_learned, MOST):
        clean(app.slider(key="clauses").set_value(clauses).run())
        keeps = [network["keeps"] for network in sent(app, "stretched")["networks"]]
        assert keeps[0] == memory
        assert keeps[1:] != [both, vectors]
        assert (f"{MOST} {note}" in words(app)) == (note in words(app)) == (clauses == MOST)


def test_the_charts_show_medians_and_ranges_of_what_was_measured() -> None:
    found, measured = charts(visit("long_distances")), distance.read()

    def drawn(title: str, of: Callable[[Run], list[float]], x: Sequence[float]) -> None:
        for line, name in zip(found[title]["lines"], distance.NAMES, strict=False):
            seeds = [of(run) for run in measured.chosen(name)]
            assert line["y"] == pytest.approx([median(some) for some in zip(*seeds, strict=True)], rel=1e-4)
            assert line["low"] == pytest.approx([min(some) for some in zip(*seeds, strict=True)], rel=1e-4)
            assert line["high"] == pytest.approx([max(some) for some in zip(*seeds, strict=True)], rel=1e-4)
            assert line["x"] == pytest.approx(x, abs=0.05)

    drawn(
        "The whole translation is right",
        lambda run: [point.exact / measured.sentences * 100 for point in run.points],
        measured.words,
    )
    drawn(
        "The pronoun is right",
        lambda run: [point.pronoun / measured.sentences * 100 for point in run.points],
        measured.words,
    )
    before, after = (f"Reaction to the noun’s vector, {when} training" for when in ("before", "after"))
    drawn(before, lambda run: [np.log10(point.untrained) for point in run.points], measured.words)
    drawn(after, lambda run: [np.log10(point.gradient) for point in run.points], measured.words)
    assert found[before]["lines"][-1]["y"] == pytest.approx(np.log10(measured.forgetful), rel=1e-4)
    drawn(
        "How the training went",
        lambda run: [moment.exact / measured.tuned_on * 100 for moment in run.curve],
        [moment.step for moment in measured.runs[0].curve],
    )
    heads = (*measured.looks.back.values(), measured.looks.across)
    for line, head in zip(found["Where the transformer looks"]["lines"], heads, strict=True):
        assert f"head {head.name}," in line["label"]
        assert line["y"] == pytest.approx([100 * weight for weight in head.weights], rel=1e-4)


def test_what_was_measured_is_told_in_words() -> None:
    told, measured = words(visit("long_distances")), distance.read()
    at = measured.longest_learned
    for name in distance.NAMES:
        runs = measured.chosen(name)
        exact = [median(run.points[place].exact for run in runs) for place in (at, -1)]
        beyond = " and ".join(percent(count / measured.sentences) for count in exact)
        assert f"{beyond} of its translations are right" in told
        untrained = median(run.points[0].untrained for run in runs)
        assert f"goes from {scientific(untrained)} to" in told
        for some in measured.by_rate(name):
            *_, last = (percent(run.curve[-1].exact / measured.tuned_on) for run in some)
            assert f"and {last} at {some[0].learning_rate:g}" in told
        assert f"so {runs[0].learning_rate:g} was taken; {plural(len(runs), 'training')} of " in told
    *_, slow = measured.by_rate("lstm_attention")
    none, *more, most = (run.curve[-1].exact for run in slow)
    assert f"this one gets {', '.join(map(str, (none, *more)))} and {most} of {measured.tuned_on}" in told
    for head in (*measured.looks.back.values(), measured.looks.across):
        assert f"{100 * head.weights[at]:.0f} % at {measured.words[at]:.0f}" in told


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
