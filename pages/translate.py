"""Translate."""

from attnviz.app.learn.translate.page import draw

draw()
