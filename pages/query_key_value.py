"""Queries, keys and values."""

from attnviz.app.lessons.query_key_value.page import draw

draw()
