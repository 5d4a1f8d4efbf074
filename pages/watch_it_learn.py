"""Training."""

from attnviz.app.lessons.watch_it_learn.page import draw

draw()
