"""Multi-head attention."""

from attnviz.app.lessons.many_heads.page import draw

draw()
