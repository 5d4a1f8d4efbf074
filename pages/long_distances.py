"""Long distances."""

from attnviz.app.learn.long_distances.page import draw

draw()
