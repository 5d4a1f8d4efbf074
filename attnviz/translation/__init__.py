"""A small translator of our own: its words, its training, and what happens when its attention is changed."""
