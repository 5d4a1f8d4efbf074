"""Where do the weights come from? From a training, to be watched step by step, and to be run here."""

from attnviz.app.folded import NOT_SHOWN, THE_CODE, section
from attnviz.app.learn.lesson import lesson
from attnviz.app.learn.watch_it_learn import sections, train_it_live
from attnviz.app.state.choices import LIVE_SEED, LIVE_STEPS

with lesson("watch_it_learn") as places:
    chosen = places.controls(sections.choose)
    places.question(sections.question, chosen)
    places.picture(sections.picture, chosen)
    places.text(sections.text, chosen)
    places.folded(
        section("One step of training", sections.one_step, chosen),
        section("How wrong it is", sections.loss, chosen),
        section("Train one yourself", train_it_live.train, chosen).with_choices(LIVE_SEED, LIVE_STEPS),
        section(THE_CODE, sections.code, chosen),
        section(NOT_SHOWN, sections.limits, chosen),
    )
