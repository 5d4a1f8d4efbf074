"""Heads at work: what they do over many sentences, and what the model does without them."""

from attnviz.app.heads import contents
from attnviz.app.page import page

with page("heads", "Heads at work"):
    contents.draw()
