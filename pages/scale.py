"""Scaling by √d."""

from attnviz.app.learn.scale.page import draw

draw()
