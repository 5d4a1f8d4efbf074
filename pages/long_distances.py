"""Why attention, and not memory? Stretch a sentence, and see who loses it."""

from attnviz.app.learn.lesson import lesson, the_code
from attnviz.app.learn.long_distances import sections

with lesson("long_distances") as places:
    found = places.more(sections.measured)
    places.more(sections.measures, found)
    places.question(sections.question, found)
    places.text(sections.text, found)
    places.code(the_code, *sections.CODE)
    places.limits(sections.limits, found)
    text, seed = places.controls(sections.choose)
    shown = places.picture(sections.stretch, text, seed)
    places.picture(sections.picture, shown, found)
