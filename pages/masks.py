"""Masks."""

from attnviz.app.learn.masks.page import draw

draw()
