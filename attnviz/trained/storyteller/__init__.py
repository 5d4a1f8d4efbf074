"""The storyteller, a small language model: its grammar, its training, and what is measured of it."""
