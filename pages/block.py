"""The block."""

from attnviz.app.lessons.block.page import draw

draw()
