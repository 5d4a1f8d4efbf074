"""Scaling by √d."""

from attnviz.app.lessons.scale.page import draw

draw()
