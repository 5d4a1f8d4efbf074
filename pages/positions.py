"""Positional encodings."""

from attnviz.app.lessons.positions.page import draw

draw()
