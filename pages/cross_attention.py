"""Cross-attention."""

from attnviz.app.learn.cross_attention.page import draw

draw()
