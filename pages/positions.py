"""How does attention know the order? Shuffle the words; then four ways to tell it."""

from attnviz.app.folded import NOT_SHOWN, THE_CODE, section
from attnviz.app.learn.lesson import lesson, not_shown
from attnviz.app.learn.positions import position_kinds, sections

with lesson("positions") as places:
    chosen = places.controls(sections.choose)
    places.question(sections.question, chosen)
    read = places.picture(sections.picture, chosen)
    places.text(sections.text, read)
    kinds = section("Four ways to tell the order", position_kinds.draw, chosen.text, chosen.query)
    places.folded(
        kinds.with_choices(*position_kinds.CHOICES),
        section("How the two are compared", sections.compared, read),
        section(THE_CODE, sections.code),
        section(NOT_SHOWN, not_shown, sections.LIMITS),
    )
