"""Masks."""

from attnviz.app.lessons.masks.page import draw

draw()
