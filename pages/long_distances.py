"""Why attention, and not memory? Three networks, compared on longer and longer sentences."""

from attnviz.app.folded import NOT_SHOWN, section
from attnviz.app.learn.lesson import lesson
from attnviz.app.learn.long_distances import sections

with lesson("long_distances") as places:
    found = places.controls(sections.measured)
    places.question(sections.question, found)
    places.picture(sections.picture, found)
    places.text(sections.text, found)
    places.folded(section(NOT_SHOWN, sections.limits, found))
