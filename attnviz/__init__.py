"""See what attention does: any sentence, a real model, every number its own."""

from __future__ import annotations

from attnviz.capture import catalogue, loading
from attnviz.errors import (
    AttnvizError,
    EmptyText,
    InvalidTrace,
    ModelFilesDamaged,
    ModelNotSupported,
    TextTooLong,
    UnknownModel,
    UnreadableText,
)
from attnviz.trace import Block, Token, Trace

__all__ = [
    "AttnvizError",
    "Block",
    "EmptyText",
    "InvalidTrace",
    "ModelFilesDamaged",
    "ModelNotSupported",
    "TextTooLong",
    "Token",
    "Trace",
    "UnknownModel",
    "UnreadableText",
    "models",
    "trace",
]


def models() -> tuple[str, ...]:
    """The names that `trace` knows, all of them usable without a network."""
    return catalogue.names()


# The function takes the submodule's name, and `from attnviz.trace import …` still finds the submodule.
def trace(text: str, model: str = "minilm", target: str | None = None) -> Trace:
    """Run a model over a text and return what its attention did.

    >>> trace("The dog slept.", model="minilm").stack("encoder").shape  # [layer, head, query, key]
    (6, 12, 6, 6)

    Args:
        text: what the model reads; it is never cut.
        model: a name from `models()`. The first call with a name loads that model, which takes some seconds.
        target: the second text of an encoder–decoder.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text cannot be read as it is.
        UnknownModel: no such name.
        ModelFilesDamaged: the model's files are missing or changed.
        ModelNotSupported: the model reads no second text.
    """
    loaded = loading.load(model)
    if target is not None:
        raise ModelNotSupported(f"{model} reads one text; leave the second text (target) away.")
    return loaded.trace(text)
