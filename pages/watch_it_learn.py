"""Where do the weights come from? From a training, to be watched step by step, and to be run here."""

from attnviz.app.learn.lesson import lesson
from attnviz.app.learn.watch_it_learn import sections, train_it_live

with lesson("watch_it_learn") as places:
    with places.controls:
        chosen = sections.choose()
    with places.question:
        sections.question(chosen)
    with places.picture:
        sections.picture(chosen)
    with places.text:
        sections.text(chosen)
    with places.more:
        train_it_live.train(chosen.number, chosen.head)
    with places.code:
        sections.code()
    with places.limits:
        sections.limits(chosen)
