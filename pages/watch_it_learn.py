"""Where do the weights come from? From a training, to be watched step by step, and to be run here."""

from attnviz.ui import frame
from attnviz.ui.learn import train_it_live, watch_it_learn
from attnviz.ui.learn.lesson import lesson

frame.require()
with lesson("watch_it_learn", (*watch_it_learn.PARAMETERS, *train_it_live.PARAMETERS)) as places:
    with places.controls:
        chosen = watch_it_learn.choose()
    with places.question:
        watch_it_learn.question(chosen)
    with places.picture:
        watch_it_learn.picture(chosen)
    with places.text:
        watch_it_learn.text(chosen)
    with places.more:
        train_it_live.train(chosen.number, chosen.head)
    with places.code:
        watch_it_learn.code()
    with places.limits:
        watch_it_learn.limits(chosen)
