"""Who may look at whom? A mask decides: here you draw it, and see those of your model."""

from attnviz.app.learn.lesson import lesson
from attnviz.app.learn.masks import own_masks, reach, sections

with lesson("masks") as places:
    with places.controls:
        chosen = sections.choose()
    with places.question:
        sections.question(chosen)
    with places.text:
        drawn_as_text = sections.text(chosen)
    with places.picture:
        sections.picture(chosen, drawn_as_text)
    with places.more:
        reach.draw(chosen.text)
        own_masks.draw(chosen.text)
    with places.code:
        sections.code()
    with places.limits:
        sections.limits()
