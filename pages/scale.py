"""Why are the scores divided by √d? Random numbers show it, and a real head."""

from attnviz.app.learn.lesson import lesson
from attnviz.app.learn.scale import sections

with lesson("scale") as places:
    learning, real = places.more.container(), places.more.container()
    with real:
        head = sections.choose()
    with places.picture:
        drawn = sections.draw()
    with places.question:
        sections.question()
    with places.picture:
        sections.picture(drawn)
    with places.text:
        sections.text()
    with learning:
        sections.learning(drawn)
    with real:
        sections.real(head)
    with places.code:
        sections.code()
    with places.limits:
        sections.limits()
