"""Where do the weights come from? From a training, to be watched step by step, and to be run here."""

from attnviz.app.learn.lesson import lesson
from attnviz.app.learn.watch_it_learn import sections, train_it_live

with lesson("watch_it_learn") as places:
    chosen = places.controls(sections.choose)
    places.question(sections.question, chosen)
    places.picture(sections.picture, chosen)
    places.text(sections.text, chosen)
    places.more(train_it_live.train, chosen.number, chosen.head)
    places.code(sections.code)
    places.limits(sections.limits, chosen)
