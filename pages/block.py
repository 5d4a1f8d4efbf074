"""The block: one token's vector in one layer."""

from attnviz.app.lessons.block.page import draw

draw()
