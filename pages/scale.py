"""Why are the scores divided by √d? Random numbers show it, and a real head."""

from attnviz.app.learn.lesson import lesson, not_shown, the_code
from attnviz.app.learn.scale import sections

with lesson("scale") as places:
    learning, real = places.more.below(), places.more.below()
    head = real(sections.choose)
    drawn = places.picture(sections.draw)
    places.question(sections.question)
    places.picture(sections.picture, drawn)
    places.text(sections.text)
    learning(sections.learning, drawn)
    real(sections.real, head)
    places.code(the_code, *sections.CODE)
    places.limits(not_shown, sections.LIMITS)
