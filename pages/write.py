"""Writing."""

from attnviz.app.learn.write.page import draw

draw()
