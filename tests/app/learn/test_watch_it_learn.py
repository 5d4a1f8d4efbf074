"""The page on learning without a browser: the stored steps, and a training that is only played."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.learn import film
from attnviz.app.learn.training import Learned, Training
from attnviz.app.learn.watch_it_learn import sections, train_it_live
from attnviz.app.learn.watch_it_learn.in_training import TAUGHT, first_majority
from attnviz.app.server.jobs import Job, Jobs
from attnviz.trained.live import step_line
from attnviz.trained.translator import learning, live
from attnviz.trained.translator.grammar import written
from attnviz.trained.translator.learning import PROBES, Measures, Snapshot
from attnviz.trained.translator.training import Settings
from attnviz.trained.translator.variants import VARIANTS
from tests.app.shown import buttons, charts, clean, press, stop, try_page, until, visit, words
from tests.trained.translator.steps import snapshot

PAGE = "watch_it_learn"
pytestmark = pytest.mark.usefixtures("jobs")


def percent(share: float) -> str:
    return f"**{100 * share:.0f} %**"


@pytest.fixture
def played(play: Callable[..., None]) -> None:
    before, after = (live.snapshot_line(snapshot(step, PROBES[:1])) for step in (0, 50))
    play(before, step_line(17), after)


def start(app: AppTest, jobs: Jobs) -> Job[Learned]:
    """Press the button, and wait until the training has told all that it will."""
    press(app, "Start training")
    job = jobs.running("live training")
    assert job
    until(lambda: job.latest is not None and job.latest.done >= 50)
    return job


@pytest.mark.parametrize(("variant", "at"), [("taught", 0), ("taught", -1), ("candidates", 9)])
def test_the_numbers_of_a_step_are_told_in_words(variant: str, at: int) -> None:
    stored = learning.shipped(variant).snapshots[at]
    app = visit(PAGE, learner=VARIANTS[variant].title, training_step=str(stored.step))
    assert not app.warning
    told = words(app)
    measures = stored.measures
    assert f"translates {percent(measures.exact)} without an error" in told
    assert f"prefers the right pronoun in {percent(measures.pronoun)}" in told
    assert "chance is 50 %" in told
    probe, glance = PROBES[0], stored.glances[0]
    row = glance.weights["encoder"][1, 0, probe.it]
    most = max(range(len(row)), key=lambda key: row[key])
    named = [*probe.source, "[END]"][most]
    assert f"After **{stored.step:,}** steps, `it` looks at `{named}" in told
    assert f"**{row[most] / 10:.1f} %**" in told
    assert f"*il* with **{glance.il / 10:.1f} %** and *elle* with **{glance.elle / 10:.1f} %**" in told


def test_the_curves_are_the_stored_measures() -> None:
    stored = learning.shipped("taught")
    step = stored.steps[5]
    shown = charts(visit(PAGE, training_step=str(step)))
    chart = shown["What is learned when"]
    assert chart["marked"] == step
    names = ["exact", "pronoun", "referent", "other"]
    for line, name in zip(chart["lines"][:-1], names, strict=True):  # the last only makes room
        assert line["x"] == list(stored.steps)
        values = [100 * getattr(snapshot.measures, name) for snapshot in stored.snapshots]
        assert line["y"] == pytest.approx(values, rel=1e-5)
    losses = [snapshot.measures.loss for snapshot in stored.snapshots]
    assert shown["The loss on held-out sentences"]["lines"][0]["y"] == pytest.approx(losses, rel=1e-5)


def test_every_sentence_and_every_head_can_be_watched() -> None:
    app = visit(PAGE)
    heads = app.selectbox(key="watched").options
    assert len(heads) == len(set(heads)) == 16
    for probe in PROBES:
        clean(app.selectbox(key="probe").set_value(written(probe.source)).run())
        assert written(probe.source) in words(app)
    for head in (heads[0], heads[9], heads[-1]):
        clean(app.selectbox(key="watched").set_value(head).run())
        assert any(head in title.value for title in app.header)


def test_missing_steps_are_named_with_the_command_that_makes_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(learning, "WEIGHTS", tmp_path)
    learning.shipped.cache_clear()
    app = try_page(PAGE)
    learning.shipped.cache_clear()
    assert "taught" in app.error[0].value
    assert "python -m attnviz learning --variant taught" in app.error[0].value


@pytest.mark.usefixtures("played")
def test_a_training_is_started_watched_and_stopped(jobs: Jobs) -> None:
    app = visit(PAGE, live_told=VARIANTS["candidates"].title, live_seed="7", live_steps="100")
    job = start(app, jobs)
    assert job.latest is not None
    assert job.latest.found.training == Training("candidates", 7, 100)
    clean(app.run())
    latest = snapshot(50)
    assert f"translates {percent(latest.measures.exact)} without an error" in words(app)
    assert [line["x"] for line in charts(app)["What this training learned when"]["lines"]] == [
        *([[0, 50]] * 4),
        [0, 100],
    ]
    assert f"{VARIANTS['candidates'].title}, seed 7 · 50 of 100 steps in" in app.get("progress")[0].proto.text
    press(app, "Stop")
    assert job.wait(10) == "unwatched"
    app.run()
    assert app.get("progress")[0].proto.text.startswith("Stopped")
    assert "Train another one" in buttons(app)


@pytest.mark.usefixtures("played")
def test_another_visitor_watches_and_waits(jobs: Jobs) -> None:
    job = start(visit(PAGE), jobs)
    other = visit(PAGE)
    assert "Another visitor is training" in other.info[0].value
    assert not {"Start training", "Stop"} & set(buttons(other))
    assert "50 of 2,000 steps" in other.get("progress")[0].proto.text
    seen = dict(job._seen)
    other.run()
    assert job._seen == seen  # only who started it keeps it running
    stop(jobs)
    assert job.state == "unwatched"
    other.run()
    assert "Start training" in buttons(other)


def test_a_fault_of_the_training_is_told(monkeypatch: pytest.MonkeyPatch, jobs: Jobs) -> None:
    lines = ["print('x'); raise MemoryError('no **room**')"]
    monkeypatch.setattr(Training, "command", property(lambda _: [sys.executable, "-u", "-c", *lines]))
    app = visit(PAGE)
    press(app, "Start training")
    job = jobs.running("live training")
    assert job is None or job.wait(10) == "refused"
    app.run()
    assert not app.exception
    assert "MemoryError\\: no \\*\\*room\\*\\*" in app.error[0].value


def test_as_many_steps_are_offered_as_a_live_training_takes() -> None:
    assert Settings.live("taught").steps == train_it_live.ENOUGH


def test_the_story_is_told_only_where_it_happened() -> None:
    def at(step: int, pronoun: float, referent: float, other: float) -> Snapshot:
        return Snapshot(step, Measures(1.0, 0.5, pronoun, referent, other), ())

    lost, both, still = at(0, 0.5, 0.1, 0.1), at(50, 0.48, 0.5, 0.49), at(300, 0.53, 0.51, 0.47)
    half, sure = at(400, 0.7, 0.7, 0.3), at(700, 0.96, 0.97, 0.02)
    told = sections.story((lost, both, still, half, sure))
    assert told.startswith("After **50** steps")
    assert "Until step **300** both get about the same on average" in told
    assert "right in 48 % to 53 % of them" in told
    assert "After **700** steps the head gives **97 %**" in told
    assert not sections.story((lost, half, sure))
    assert not sections.story((lost, both, half))


def test_a_film_moves_the_slider_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = learning.shipped("taught").steps
    app = visit(PAGE, training_step=str(steps[-2]))
    press(app, "Play")
    assert "Pause" in buttons(app)
    assert app.select_slider(key="training_step").value == steps[-2]
    monkeypatch.setattr(film, "_EVERY_SECONDS", 0)  # the next picture is due at once
    clean(app.run())
    assert app.select_slider(key="training_step").value == steps[-1]
    assert "Play" in buttons(app)
    press(app, "Play")
    assert app.select_slider(key="training_step").value == steps[-1]


def test_a_word_leads_to_the_first_step_at_which_it_gets_more_than_half() -> None:
    training = learning.shipped("taught")
    row = training.probes[0].it
    by_hand: dict[int, int] = {}
    for stored in training.snapshots:
        shares = stored.glances[0].weights["encoder"][1, 0, row].tolist()
        for place, share in enumerate(shares):
            if share > 500:
                by_hand.setdefault(place, stored.step)
    assert first_majority(training.snapshots, 0, TAUGHT, row) == by_hand
    assert by_hand[1] > 0  # dog
    offered = visit(PAGE).button_group(key="first majority")
    steps = [int(each.split(" step ")[1].replace(",", "")) for each in offered.options]
    assert steps == list(by_hand.values())
    app = offered.set_value(offered.options[-1]).run()
    assert f"After **{steps[-1]:,}** steps" in words(app)
