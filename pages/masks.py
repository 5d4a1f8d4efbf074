"""Who may look at whom? A mask decides: here you draw it, and see those of your model."""

from attnviz.app.learn.lesson import lesson, not_shown
from attnviz.app.learn.masks import own_masks, reach, sections, teacher_forcing

with lesson("masks") as places:
    chosen = places.controls(sections.choose)
    places.question(sections.question, chosen)
    drawn_as_text = places.text(sections.text, chosen)
    places.picture(sections.picture, chosen, drawn_as_text)
    places.more(teacher_forcing.draw)
    places.more(reach.draw, chosen.text)
    places.more(own_masks.draw, chosen.text)
    places.code(sections.code)
    places.limits(not_shown, sections.LIMITS)
