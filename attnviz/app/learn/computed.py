"""What a Learn page computes with the lessons' BERT or with the translator; the server keeps it."""

from __future__ import annotations

from attnviz.app.caches import cached
from attnviz.models import catalogue

MODEL = catalogue.FROM_SCRATCH
COMPUTING = "Computing with the model …"

computed = cached(MODEL, COMPUTING)
"""For a computation with the lessons' BERT; it may import what needs torch."""

translated = cached(catalogue.TRANSLATOR, COMPUTING)
"""For a computation with the translator; it may import what needs torch."""
