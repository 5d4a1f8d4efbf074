"""The page on how a circuit forms, without a browser: stored steps, and a training that is only played."""

from collections.abc import Callable

import pytest

from attnviz.app.learn.training import Training
from attnviz.app.server.jobs import Jobs
from attnviz.text import percent
from attnviz.trained.live import step_line
from attnviz.trained.storyteller import forming
from tests.app.shown import buttons, charts, clean, press, sent, until, visit, words

PAGE = "watch_a_circuit_form"
pytestmark = pytest.mark.usefixtures("jobs")


def test_it_opens_where_the_circuit_has_just_formed_and_tells_its_numbers() -> None:
    stored = forming.shipped("storyteller").snapshots
    found = forming.formed(stored)
    assert found
    app = visit(PAGE)
    assert app.select_slider(key="forming_step").value == found.step
    score = percent(float(found.copying.prefix_matching[stored[-1].copying.induction_heads[0]]))
    assert f"it gives **{score}** to what followed the last time" in words(app)
    assert f"the model copies **{percent(found.copying.right)}**" in words(app)


def test_another_step_and_another_head() -> None:
    app = visit(PAGE, forming_step="0", forming_head="1-4")
    assert "Head 1-4 after 0 steps" in [header.value for header in app.header]
    assert sent(app, "head_view")["heading"] == "Head 1-4 after 0 steps"
    assert "copies **< 1 %**" in words(app)


def test_four_layers_formed_another_one() -> None:
    stored = forming.shipped("storyteller-4-layers").snapshots
    app = visit(PAGE, size="4 layers")
    assert charts(app)["What forms when"]["lines"][0]["y"] == pytest.approx(
        [100 * each.copying.right for each in stored]
    )
    assert app.select_slider(key="forming_step").value == forming.formed(stored).step  # type: ignore[union-attr]
    switched = visit(PAGE)
    clean(switched.button_group(key="size").set_value("4 layers").run())
    assert switched.select_slider(key="forming_step").value == forming.formed(stored).step  # type: ignore[union-attr]


def test_the_curves_are_the_stored_measures() -> None:
    stored, shown = forming.shipped("storyteller").snapshots, charts(visit(PAGE))
    copied, matching, *_ = shown["What forms when"]["lines"]
    assert copied["x"] == [each.step for each in stored]
    assert copied["y"] == pytest.approx([100 * each.copying.right for each in stored])
    assert matching["y"] == pytest.approx([100 * each.copying.prefix_matching.max() for each in stored])
    again = shown["The loss on random words"]["lines"][1]
    assert again["y"] == pytest.approx([each.copying.second_loss for each in stored])


def test_a_training_is_watched_here_and_waited_for_on_the_page_of_the_translator(
    play: Callable[..., None], jobs: Jobs
) -> None:
    stored = forming.shipped("storyteller").snapshots
    play(forming.line(stored[0]), step_line(7), forming.line(stored[1]))
    app = visit(PAGE, live_seed="7", forming_steps="600")
    press(app, "Start training")
    job = jobs.running("live training")
    assert job
    until(lambda: job.latest is not None and job.latest.done == stored[1].step)
    assert job.latest is not None
    assert job.latest.found.training == Training("storyteller", 7, 600)
    app.run()
    assert "What this training learned when" in charts(app)
    assert "seed 7 · 100 of 600 steps in" in app.get("progress")[0].proto.text
    other = visit("watch_it_learn")
    assert "This server trains one model at a time, so yours can start" in other.info[0].value
    assert not {"Start training", "Stop"} & set(buttons(other))
    assert not other.get("progress")
