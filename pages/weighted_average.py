"""Attention as a weighted average."""

from attnviz.app.lessons.weighted_average.page import draw

draw()
