"""Traces of forward passes: recording, model families, generation, gradients."""
