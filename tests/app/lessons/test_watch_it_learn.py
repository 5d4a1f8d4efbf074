"""The lesson "Training" without a browser: stored steps, and a simulated training run."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.lessons.measured import bundled_results
from attnviz.app.lessons.training import Training, TrainingState
from attnviz.app.lessons.watch_it_learn.page import title_of
from attnviz.app.lessons.watch_it_learn.values import quarters
from attnviz.app.server.jobs import Job, Jobs
from attnviz.trained.snapshots import line, stored
from attnviz.trained.storyteller.grammar import TRACKED_TEXT
from attnviz.trained.translator.probes import PROBES
from tests.app.shown import buttons, charts, clean, message_to, page_text, press, stop, visit, wait_until
from tests.trained.random_snapshots import translator_snapshot

PAGE = "watch_it_learn"
pytestmark = pytest.mark.usefixtures("jobs")


@pytest.fixture
def simulated_training(play: Callable[..., None]) -> None:
    before, after = (line(translator_snapshot(step, PROBES[:1])) for step in (0, 50))
    play(before, line(17), after)


def start(app: AppTest, jobs: Jobs) -> Job[TrainingState]:
    """Start the training, and wait for its last snapshot."""
    press(app, "Start training")
    job = jobs.running("live training")
    assert job
    wait_until(lambda: job.latest is not None and job.latest.done >= 50)
    return job


@pytest.mark.parametrize(("variant", "at"), [("guided", 0), ("unguided", -1), ("candidates", 9)])
def test_numbers_of_one_step_of_a_translator(variant: str, at: int) -> None:
    snapshot = stored(variant).snapshots[at]
    app = visit(PAGE, learner=title_of(variant), training_step=str(snapshot.step))
    assert not app.warning
    text = page_text(app)
    text_snapshot = snapshot.texts[0]
    head = bundled_results(variant).head if variant == "unguided" else "2-1"
    heading = f"Encoder {head} after {snapshot.step:,} steps"
    assert (message_to(app, "head_view")["heading"], message_to(app, "head_view")["query"]) == (
        heading,
        PROBES[0].it,
    )
    assert f"*il* **{text_snapshot.il / 10:.1f} %**, *elle* **{text_snapshot.elle / 10:.1f} %**" in text


@pytest.mark.parametrize("size", ["storyteller", "storyteller-4-layers"])
def test_language_model_opens_with_its_final_induction_head(size: str) -> None:
    training = stored(size)
    _, snapshot = quarters(training)
    app = visit(PAGE, learner=title_of(size), training_step=str(snapshot.step))
    assert not app.warning
    scores = training.snapshots[-1].scores["prefix_matching"]
    layer, head = divmod(int(scores.argmax()), scores.shape[1])
    heading = f"Decoder {layer + 1}-{head + 1} after {snapshot.step:,} steps"
    assert message_to(app, "head_view")["heading"] == heading
    repetition = len(TRACKED_TEXT) // 2 + len(TRACKED_TEXT) // 4
    row = snapshot.texts[0].weights["decoder"][layer, head, repetition]
    assert row.argmax() == repetition - len(TRACKED_TEXT) // 2 + 1
    assert message_to(app, "head_view")["query"] == repetition


def test_curves_are_the_stored_measures() -> None:
    training = stored("guided")
    step = training.steps[5]
    shown = charts(visit(PAGE, training_step=str(step)))
    chart = shown["What is learned when"]
    assert chart["marked"] == step
    names = ["exact", "pronoun", "referent", "other"]
    for curve, name in zip(chart["lines"][:-1], names, strict=True):  # the last line only extends the axis
        assert curve["x"] == list(training.steps)
        values = [100 * snapshot.measures[name] for snapshot in training.snapshots]
        assert curve["y"] == pytest.approx(values, rel=1e-5)
    losses = [snapshot.measures["loss"] for snapshot in training.snapshots]
    assert shown["The loss on held-out sentences"]["lines"][0]["y"] == pytest.approx(losses, rel=1e-5)


@pytest.mark.usefixtures("simulated_training")
def test_training_can_be_started_and_stopped(jobs: Jobs) -> None:
    app = visit(PAGE, learner=title_of("candidates"), live_seed="7", live_steps="100")
    job = start(app, jobs)
    assert job.latest is not None
    assert job.latest.found.training == Training("candidates", 7, 100)
    clean(app.run())
    assert [curve["x"] for curve in charts(app)["Measures of this training run"]["lines"]] == [
        *([[0, 50]] * 4),
        [0, 100],
    ]
    assert f"{title_of('candidates')}, seed 7 · 50 of 100 steps in" in app.get("progress")[0].proto.text
    press(app, "Stop")
    assert not job.running
    assert app.get("progress")[0].proto.text.startswith("Stopped")
    assert "Train another model" in buttons(app)


@pytest.mark.usefixtures("simulated_training")
def test_another_visitor_can_only_watch_a_training_run(jobs: Jobs) -> None:
    job = start(visit(PAGE), jobs)
    other = visit(PAGE)
    assert "Another visitor is training" in other.info[0].value
    assert not {"Start training", "Stop"} & set(buttons(other))
    assert "50 of 2,000 steps" in other.get("progress")[0].proto.text
    stop(jobs)
    assert not job.running
    other.run()
    assert "Start training" in buttons(other)
