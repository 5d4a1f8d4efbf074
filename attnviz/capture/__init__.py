"""A model and an input in, a trace out: recording, families, generation, gradients."""
