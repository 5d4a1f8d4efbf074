"""Positional encodings."""

from attnviz.app.learn.positions.page import draw

draw()
