"""Training."""

from attnviz.app.learn.watch_it_learn.page import draw

draw()
