"""How does attention know the order? Shuffle the words; then four ways to tell it, and your model's own."""

from attnviz.app.learn.lesson import lesson
from attnviz.app.learn.positions import own_positions, position_kinds, sections

with lesson("positions") as places:
    with places.controls:
        chosen = sections.choose()
    with places.question:
        sections.question(chosen)
    with places.picture:
        read = sections.picture(chosen)
    with places.text:
        sections.text(read)
    with places.more:
        position_kinds.draw(chosen.text, chosen.query)
        own_positions.draw(chosen.text)
    with places.code:
        sections.code()
    with places.limits:
        sections.limits()
