"""Cross-attention."""

from attnviz.app.lessons.cross_attention.page import draw

draw()
