"""The storyteller, a small language model: grammar, training and evaluation."""
