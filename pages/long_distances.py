"""Why attention, and not memory? Stretch a sentence, and see who loses it."""

from attnviz.app.learn.lesson import lesson
from attnviz.app.learn.long_distances import sections

with lesson("long_distances") as places:
    with places.more:
        found = sections.measured()
        sections.measures(found)
    with places.question:
        sections.question(found)
    with places.text:
        sections.text(found)
    with places.code:
        sections.code()
    with places.limits:
        sections.limits(found)
    with places.controls:
        text, seed = sections.choose()
    with places.picture:
        sections.picture(sections.stretch(text, seed), found)
