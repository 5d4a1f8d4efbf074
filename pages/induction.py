"""Induction heads."""

from attnviz.app.lessons.induction.page import draw

draw()
