"""Cause."""

from attnviz.app.lessons.cause.page import draw

draw()
