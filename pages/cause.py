"""Edit the translator's attention, and see how the translation changes."""

from attnviz.app.lessons.cause.page import draw

draw()
