"""The block."""

from attnviz.app.learn.block.page import draw

draw()
