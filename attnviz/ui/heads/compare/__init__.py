"""The sections of the page about what changes between two sentences, or between two models."""
