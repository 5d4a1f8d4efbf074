"""Why attention, and not memory? Stretch a sentence, and see who loses it."""

from attnviz.app.folded import NOT_SHOWN, THE_CODE, section
from attnviz.app.learn.lesson import lesson, the_code
from attnviz.app.learn.long_distances import sections

with lesson("long_distances") as places:
    found = places.controls(sections.measured)
    places.question(sections.question, found)
    places.text(sections.text, found)
    # Before the sentence is stretched: what was measured stands there even if that cannot be done.
    places.folded(
        section("Measured on many sentences", sections.measures, found),
        section("Where the transformer looks", sections.where_it_looks, found),
        section("Gradients over a distance", sections.gradients, found),
        section("How an LSTM works", sections.recurrent),
        section("How they were trained", sections.trained_alike, found),
        section(THE_CODE, the_code, *sections.CODE),
        section(NOT_SHOWN, sections.limits, found),
    )
    text, seed = places.controls(sections.choose)
    shown = places.picture(sections.stretch, text, seed)
    places.picture(sections.picture, shown, found)
