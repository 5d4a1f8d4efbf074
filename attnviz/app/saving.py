"""Files that a visitor takes along: the button that saves one, and names that are safe on every system."""

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

_MAX_NAME_LENGTH = 60  # characters of a model's name that a file's name has room for
_BEGIN = 32  # characters of a sentence in a file's name
_TYPES = {"csv": "text/csv", "npz": "application/zip", "html": "text/html"}


def save_file(
    label: str, contents: Callable[[], str | bytes], name: str, what: str | None = None, icon: str = ""
) -> None:
    """Draw the button that makes a file of this name, with its ending, when it is pressed."""
    kind = _TYPES[name.rsplit(".", 1)[1]]
    st.download_button(label, contents, name, kind, help=what, icon=icon or None, on_click="ignore")


def npz_of(trace: Trace) -> bytes:
    """A whole forward pass as a file."""
    file = io.BytesIO()
    trace.save(file)
    return file.getvalue()


def file_name_of(model: str) -> str:
    """How a file about this model begins: "attnviz-openai-gpt2" for "openai/gpt2"; never a path.

    Of a long name the end is kept, where a folder has its own name.
    """
    kept = re.sub(r"[^A-Za-z0-9_]+", "-", model)
    return f"attnviz-{kept[-_MAX_NAME_LENGTH:].strip('-') or 'model'}"


def with_sentence(name: str) -> str:
    """A file's name with the beginning of the page's sentence."""
    text, *_ = _subject()
    return "-".join(filter(None, (name, _beginning(text))))


def picture_file(what: str, title: str = "", about: str = "", omitted: str = "") -> dict[str, str]:
    """The name of a picture's file, and the texts above and below the picture.

    Args:
        what: the picture's name.
        title: its heading; "": the page's.
        about: what is seen, in parts with " · " between them; "": the sentence, the model and the head that
            the page is about.
        omitted: what of these is not seen.
    """
    text, model, head = _subject()
    kept = re.sub(r"\W+", "-", what).strip("-")
    if about:
        parts = map(_beginning, about.split(" · "))
        return {"name": "-".join(("attnviz", kept, *filter(None, parts))), "title": title, "about": about}
    begin = file_name_of(model) if model else "attnviz"
    name = "-".join(filter(None, (begin, head and f"head{head}", kept)))
    shown = (text and f"“{isolated(text)}”", model, head and f"head {head}", omitted)
    return {"name": with_sentence(name), "title": title, "about": " · ".join(filter(None, shown))}


def _beginning(text: str) -> str:
    """Its first whole words, as a part of a file's name."""
    begin = text if len(text) <= _BEGIN else text[: _BEGIN + 1].rpartition(" ")[0] or text[:_BEGIN]
    return re.sub(r"\W+", "-", begin).strip("-")


def _subject() -> tuple[str, str, str]:
    """The page's sentence, what its model is called, and its head, such as 4-2; "" for what it has not."""
    here = link.page()

    def shown_values(*several: Choice[Any]) -> str:
        return next((to[0] for each in several if here in each.pages and (to := each.written())), "")

    layer, head = choices.LAYER, choices.HEAD
    texts: tuple[Choice[Any], ...] = (choices.TEXT, choices.ENGLISH, choices.PROBE)
    known = shown_values(choices.MODEL) if here not in choices.LESSONS else catalogue.FROM_SCRATCH
    model = lookup.called(lookup.entry(known)) if known else ""
    if here in choices.LESSONS - choices.TEXT.pages:
        model = shown_values(choices.TRANSLATOR) or catalogue.TRANSLATOR
        texts = texts[1:]
    if here in choices.READ_BY_STORYTELLER:
        model, texts = catalogue.STORYTELLER, (choices.PROMPT, choices.REPEATED)
    both = shown_values(layer), shown_values(head)
    return shown_values(*texts), model, head_name(int(both[0]) - 1, int(both[1]) - 1) if all(both) else ""
