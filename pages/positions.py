"""How does attention know the order? Shuffle the words; then four ways to tell it, and your model's own."""

from attnviz.app.learn.lesson import lesson, not_shown
from attnviz.app.learn.positions import own_positions, position_kinds, sections

with lesson("positions") as places:
    chosen = places.controls(sections.choose)
    places.question(sections.question, chosen)
    read = places.picture(sections.picture, chosen)
    places.text(sections.text, read)
    places.more(position_kinds.draw, chosen.text, chosen.query)
    places.more(own_positions.draw, chosen.text)
    places.code(sections.code)
    places.limits(not_shown, sections.LIMITS)
