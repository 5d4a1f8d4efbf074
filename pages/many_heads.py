"""Multi-head attention."""

from attnviz.app.learn.many_heads.page import draw

draw()
