"""Why are the scores divided by √d? Random numbers show it, and a real head."""

from attnviz.ui import frame
from attnviz.ui.learn import scale
from attnviz.ui.learn.lesson import lesson

frame.require()
with lesson("scale", scale.PARAMETERS) as places:
    learning, real = places.more.container(), places.more.container()
    with real:
        head = scale.choose()
    with places.picture:
        drawn = scale.draw()
    with places.question:
        scale.question()
    with places.picture:
        scale.picture(drawn)
    with places.text:
        scale.text()
    with learning:
        scale.learning(drawn)
    with real:
        scale.real(head)
    with places.code:
        scale.code()
    with places.limits:
        scale.limits()
