"""Writing."""

from attnviz.app.lessons.write.page import draw

draw()
