"""The translator: its words and grammar, its training, and what is measured of it."""
