"""Attention as a weighted average."""

from attnviz.app.learn.weighted_average.page import draw

draw()
