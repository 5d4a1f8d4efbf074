"""The hidden states of a model that transformers runs: what each attention layer reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

# A context variable, because one model serves many threads: each call hears its own.
_heard: ContextVar[list[Any] | None] = ContextVar("attnviz_hidden_states", default=None)


@contextmanager
def hearing() -> Iterator[list[Any]]:
    """Collects a tensor [batch, token, d_model] for each attention layer that runs inside, in their order.

    It is what queries, keys and values are made of; in models that norm before attention, it is normed.
    """
    heard: list[Any] = []
    before = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(before)


def tell(_module: object, given: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Before an attention layer runs: the hook of `forward.prepare`."""
    heard = _heard.get()
    if heard is not None:
        heard.append(named["hidden_states"] if "hidden_states" in named else given[0])
