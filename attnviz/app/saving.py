"""Downloads: the button that saves a file, and file names that are valid on every system."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import streamlit as st

from attnviz.app.models import lookup
from attnviz.app.state import choices, link
from attnviz.app.state.choice import Choice
from attnviz.models import catalogue
from attnviz.text import head_name, isolated
from attnviz.trace import Trace

_MAX_NAME_LENGTH = 60  # maximum number of characters of a model's name in a file name
_MAX_TEXT = 32  # maximum number of characters of a sentence in a file name
_TYPES = {"csv": "text/csv", "npz": "application/zip", "html": "text/html"}


def save_file(
    label: str, contents: Callable[[], str | bytes], name: str, help_text: str | None = None, icon: str = ""
) -> None:
    """Draw a button that creates a file with this name when it is pressed."""
    kind = _TYPES[name.rsplit(".", 1)[1]]
    st.download_button(label, contents, name, kind, help=help_text, icon=icon or None, on_click="ignore")


def npz_of(trace: Trace) -> bytes:
    """Return a trace as an NPZ file."""
    file = io.BytesIO()
    trace.save(file)
    return file.getvalue()


def file_name_of(model: str) -> str:
    """Return the prefix of a model's file names: "attnviz-openai-gpt2" for "openai/gpt2"; never a path.

    Only the end of a long name is kept, because it has the last part of a path.
    """
    safe = re.sub(r"[^A-Za-z0-9_]+", "-", model)
    return f"attnviz-{safe[-_MAX_NAME_LENGTH:].strip('-') or 'model'}"


def with_sentence(name: str) -> str:
    """Return a file name that ends with the first words of the page's sentence."""
    text, *_ = _subject()
    return "-".join(filter(None, (name, _beginning(text))))


def picture_file(picture: str, title: str = "", about: str = "", omitted: str = "") -> dict[str, str]:
    """Return the file name of a picture, and the texts above and below it.

    Args:
        picture: Name of the picture.
        title: Heading of the picture; "" for the heading of the page.
        about: Description, in parts separated by " · "; "" for the page's sentence, model and head.
        omitted: Note on hidden parts.
    """
    text, model, head = _subject()
    safe = re.sub(r"\W+", "-", picture).strip("-")
    if about:
        parts = map(_beginning, about.split(" · "))
        return {"name": "-".join(("attnviz", safe, *filter(None, parts))), "title": title, "about": about}
    begin = file_name_of(model) if model else "attnviz"
    name = "-".join(filter(None, (begin, head and f"head{head}", safe)))
    shown = (text and f"“{isolated(text)}”", model, head and f"head {head}", omitted)
    return {"name": with_sentence(name), "title": title, "about": " · ".join(filter(None, shown))}


def _beginning(text: str) -> str:
    """Return the first words of a text, for a file name."""
    begin = text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT + 1].rpartition(" ")[0] or text[:_MAX_TEXT]
    return re.sub(r"\W+", "-", begin).strip("-")


def _subject() -> tuple[str, str, str]:
    """Return the page's sentence, the model's name, and the head, such as 4-2; "" if missing."""
    here = link.page()

    def shown_values(*several: Choice[Any]) -> str:
        written = (each.written() for each in several if here in each.pages)
        return next((values[0] for values in written if values), "")

    layer, head = choices.LAYER, choices.HEAD
    texts: tuple[Choice[Any], ...] = (choices.TEXT, choices.ENGLISH, choices.PROBE)
    model_name = shown_values(choices.MODEL) if here not in choices.LESSONS else catalogue.FROM_SCRATCH
    model = lookup.display_name(lookup.entry(model_name)) if model_name else ""
    if here in choices.LESSONS - choices.TEXT.pages:
        model = shown_values(choices.TRANSLATOR) or catalogue.TRANSLATOR
        texts = texts[1:]
    if here in choices.STORYTELLER_PAGES:
        model, texts = catalogue.STORYTELLER, (choices.PROMPT, choices.REPEATED)
    both = shown_values(layer), shown_values(head)
    return shown_values(*texts), model, head_name(int(both[0]) - 1, int(both[1]) - 1) if all(both) else ""
