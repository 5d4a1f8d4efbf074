"""How does a circuit form? A training of the storyteller, to be watched step by step, and to be run here."""

from attnviz.app.folded import NOT_SHOWN, THE_CODE, section
from attnviz.app.learn.lesson import lesson, the_code
from attnviz.app.learn.watch_a_circuit_form import sections
from attnviz.app.state.choices import FORMING_STEPS, LIVE_SEED

with lesson("watch_a_circuit_form") as places:
    chosen = places.controls(sections.choose)
    places.question(sections.question, chosen)
    places.picture(sections.picture, chosen)
    places.text(sections.text, chosen)
    places.folded(
        section("How wrong it is", sections.loss, chosen),
        section("Train one yourself", sections.train, chosen).with_choices(LIVE_SEED, FORMING_STEPS),
        section(THE_CODE, the_code, *sections.CODE),
        section(NOT_SHOWN, sections.limits, chosen),
    )
