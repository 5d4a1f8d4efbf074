"""Translate."""

from attnviz.app.lessons.translate.page import draw

draw()
