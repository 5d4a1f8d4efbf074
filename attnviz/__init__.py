"""See what attention does: any sentence, a real model, every number its own."""

from __future__ import annotations

from collections.abc import Sequence

from attnviz.capture import catalogue, loading
from attnviz.errors import (
    AttnvizError,
    EmptyText,
    InvalidEdit,
    InvalidTrace,
    ModelFilesDamaged,
    ModelNotSupported,
    TextTooLong,
    UnknownModel,
    UnknownWords,
    UnreadableText,
)
from attnviz.trace import Block, Token, Trace

__all__ = [
    "AttnvizError",
    "Block",
    "EmptyText",
    "InvalidEdit",
    "InvalidTrace",
    "ModelFilesDamaged",
    "ModelNotSupported",
    "TextTooLong",
    "Token",
    "Trace",
    "UnknownModel",
    "UnknownWords",
    "UnreadableText",
    "models",
    "trace",
]


def models() -> tuple[str, ...]:
    """The names that `trace` knows, all of them usable without a network."""
    return catalogue.names()


# The function takes the submodule's name, and `from attnviz.trace import …` still finds the submodule.
def trace(text: str, model: str = "minilm", target: str | None = None, edits: Sequence[str] = ()) -> Trace:
    """Run a model over a text and return what its attention did.

    >>> trace("The dog slept.", model="minilm").stack("encoder").shape  # [layer, head, query, key]
    (6, 12, 6, 6)

    >>> tired = "The dog did not cross the road as it was too tired."
    >>> trace(tired, model="translator").target
    "Le chien n'a pas traversé la route car il était trop fatigué."
    >>> "elle" in trace(tired, model="translator", edits=["encoder 2-1 9 2>7"]).target  # “it” reads the road
    True

    Args:
        text: what the model reads; it is never cut.
        model: a name from `models()`. The first call with a name loads that model, which takes some seconds.
        target: the second text of an encoder–decoder; None: its own translation of the first.
        edits: changes to a translator's attention, each as `attnviz.translation.editing.Edit` writes it.

    Raises:
        EmptyText, TextTooLong, UnreadableText, UnknownWords: a text cannot be read as it is.
        UnknownModel: no such name.
        ModelFilesDamaged: the model's files are missing or changed.
        ModelNotSupported: the model reads no second text, or takes no edits.
        InvalidEdit: an edit cannot be read, or the model or the sentence has no place for it.
    """
    if target is None and not edits:
        return loading.load(model).trace(text)
    translator = loading.load_translator(model)
    from attnviz.translation.editing import Edit

    return translator.trace(text, target, [Edit.parse(edit) for edit in edits])
