"""Queries, keys and values."""

from attnviz.app.learn.query_key_value.page import draw

draw()
