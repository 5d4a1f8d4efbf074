"""What a Learn page computes with the lessons' BERT or with the translator, and when; the server keeps it.

That needs torch, and importing torch takes a second for which no first picture is to wait. So a page imports
its `compute.py` from here, by the page's name: it is loaded when one of its functions is called.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from attnviz.app.server.cache import cached
from attnviz.models import catalogue

if TYPE_CHECKING:
    from attnviz.app.learn.cause import compute as cause
    from attnviz.app.learn.induction import compute as induction
    from attnviz.app.learn.many_heads import compute as many_heads
    from attnviz.app.learn.positions import compute as positions
    from attnviz.app.learn.query_key_value import compute as query_key_value
    from attnviz.app.learn.translate import compute as translate
    from attnviz.app.learn.weighted_average import compute as weighted_average
    from attnviz.app.learn.write import compute as write

    __all__ = ["cause", "induction", "many_heads"]
    __all__ += ["positions", "query_key_value", "translate"]
    __all__ += ["weighted_average", "write"]
else:

    def __getattr__(page: str) -> _Module:
        """What stands for the computations of a page."""
        if page.startswith("_"):
            raise AttributeError(page)
        return _Module(f"attnviz.app.learn.{page}.compute")


MODEL = catalogue.FROM_SCRATCH
COMPUTING = "Computing with the model …"

computed = cached(COMPUTING, MODEL)
"""For a computation with the lessons' BERT; it may import what needs torch."""

translated = cached(COMPUTING, catalogue.TRANSLATOR)
"""For a computation with the translator; it may import what needs torch."""


def _size(*_: object, model: str = catalogue.STORYTELLER, **__: object) -> str:
    return model


storytold = cached(COMPUTING, _size)
"""For a computation with the storyteller that its keyword `model` names; it may import what needs torch."""


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
