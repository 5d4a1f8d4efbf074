"""Long distances."""

from attnviz.app.lessons.long_distances.page import draw

draw()
