"""What a Learn page computes with the lessons' BERT or with the translator, and when; the server keeps it.

That needs torch, and importing torch takes a second for which no first picture is to wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from attnviz.app.caches import cached
from attnviz.models import catalogue

MODEL = catalogue.FROM_SCRATCH
COMPUTING = "Computing with the model …"

computed = cached(MODEL, COMPUTING)
"""For a computation with the lessons' BERT; it may import what needs torch."""

translated = cached(catalogue.TRANSLATOR, COMPUTING)
"""For a computation with the translator; it may import what needs torch."""

storytold = cached(catalogue.STORYTELLER, COMPUTING)
"""For a computation with the storyteller; it may import what needs torch."""


@dataclass(frozen=True)
class _Function:
    """Stands for a function of a module until it is called."""

    module: str
    name: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(import_module(self.module), self.name)(*args, **kwargs)


@dataclass(frozen=True)
class _Module:
    """Stands for a module; what is written in capitals is no function, and is asked for at once."""

    name: str

    def __getattr__(self, attribute: str) -> Any:
        if attribute.isupper():
            return getattr(import_module(self.name), attribute)
        return _Function(self.name, attribute)


def later(module: str) -> Any:
    """What stands for the module of this name; the type checker is told to take it for the module itself."""
    return _Module(module)
