"""Induction heads."""

from attnviz.app.learn.induction.page import draw

draw()
