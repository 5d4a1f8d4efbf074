"""What can be asked of a model; whatever else is asked is refused with a sentence."""

from __future__ import annotations

from attnviz.capture.given import Given, as_given
from attnviz.errors import ModelNotSupported, quoted


def understood(
    given: str | Given, name: str, *, pairs: bool = False, targets: bool = False, writes: bool = False
) -> Given:
    """What is given, if the model can do it all; a text alone is read as it is.

    Args:
        given: what is asked.
        name: what the model is called.
        pairs: whether it reads two sentences together.
        targets: whether it has a decoder that reads a text of its own.
        writes: whether it writes on.

    Raises:
        ModelNotSupported: it cannot do what is asked; the message says what it does.
    """
    asked = as_given(given)
    if asked.second is not None and not pairs:
        raise ModelNotSupported(
            f"{quoted(name)} reads one text, not two sentences together. Leave the second one out."
        )
    if asked.target is not None and not targets:
        raise ModelNotSupported(f"{quoted(name)} has no decoder that could read a second text. Leave it out.")
    if asked.writing is not None and not writes:
        raise ModelNotSupported(
            f"{quoted(name)} only reads, and writes nothing. Ask it to read without writing on."
        )
    return asked


def refuse_place(name: str, place: int | None) -> None:
    """Refuse to ask a model for what it expects, if it expects nothing.

    Raises:
        ModelNotSupported: a place is given.
    """
    if place is not None:
        raise ModelNotSupported(f"{quoted(name)} expects no tokens. Ask it for its vectors alone.")
