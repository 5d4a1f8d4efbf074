"""Caches for the computations of the lessons, by the model that they need."""

from __future__ import annotations

from attnviz.app.server.cache import cached
from attnviz.models import catalogue

MODEL = catalogue.FROM_SCRATCH
COMPUTING = "Computing with the model …"

computed = cached(COMPUTING, MODEL)
"""For a computation with the lessons' BERT."""

translated = cached(COMPUTING, catalogue.TRANSLATOR)
"""For a computation with the translator."""


def _size(*_: object, model: str = catalogue.STORYTELLER, **__: object) -> str:
    return model


storytold = cached(COMPUTING, _size)
"""For a computation with the storyteller that its keyword `model` names."""
