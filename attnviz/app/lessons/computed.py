"""Cache decorators for the lessons' computations, by model."""

from __future__ import annotations

from attnviz.app.server.cache import cached
from attnviz.models import catalogue

MODEL = catalogue.FROM_SCRATCH
COMPUTING = "Computing with the model …"

cached_bert = cached(COMPUTING, MODEL)
"""Caches a computation with the lessons' BERT."""

cached_translator = cached(COMPUTING, catalogue.TRANSLATOR)
"""Caches a computation with the translator."""


def _size(*_: object, model: str = catalogue.STORYTELLER, **__: object) -> str:
    return model


cached_storyteller = cached(COMPUTING, _size)
"""Caches a computation with the storyteller in its keyword argument `model`."""
