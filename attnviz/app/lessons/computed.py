"""Cache decorators for the lessons' computations, by model."""

from __future__ import annotations

from attnviz.app.server.cache import cached
from attnviz.models import catalogue

MODEL = catalogue.FROM_SCRATCH
COMPUTING = "Computing with the model …"

cached_bert = cached(COMPUTING, MODEL)
"""Cache a computation with the lessons' BERT."""

cached_translator = cached(COMPUTING, catalogue.TRANSLATOR)
"""Cache a computation with the translator."""


def _storyteller(*_: object, model: str = catalogue.STORYTELLER, **__: object) -> str:
    return model


cached_storyteller = cached(COMPUTING, _storyteller)
"""Cache a computation with a storyteller; the keyword argument `model` is its name."""
