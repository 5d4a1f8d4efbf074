"""The models on this server, and the supported families."""

from __future__ import annotations

import logging

import streamlit as st

from attnviz.app import markdown
from attnviz.app.models import facts
from attnviz.app.models.lookup import entry_or_error
from attnviz.app.state.choices import MODEL
from attnviz.capture import loading
from attnviz.errors import AttnvizError
from attnviz.models import allowed
from attnviz.models.catalogue import Entry
from attnviz.models.families import REFUSED

_PER_ROW = 2


def draw() -> None:
    """Draw every model that the visitor can open."""
    opened = allowed.opened()
    names = sorted(allowed.names(), key=lambda name: name not in opened)  # opened models first
    for first in range(0, len(names), _PER_ROW):
        row = names[first : first + _PER_ROW]
        for column, name in zip(st.columns(_PER_ROW), row, strict=False):
            with column.container(border=True, height="stretch"):
                _draw(name)


def _draw(name: str) -> None:
    entry = entry_or_error(name)
    if isinstance(entry, AttnvizError):
        st.markdown(f"**{markdown.code(name)}**")
        st.warning(markdown.plain(_problem(name, entry)), icon=":material/block:")
        return
    title = markdown.code(entry.name)
    st.markdown(title if entry.title == entry.name else f"**{markdown.plain(entry.title)}** · {title}")
    st.markdown(f"{markdown.plain(entry.description)}  \n:small[{facts.summary(entry)}]")
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        explore_with(entry)
        state = "in memory" if loading.is_loaded(entry.name) else "loads when it is first used"
        st.markdown(f":small[{state}]", width="content")


def _problem(name: str, error: AttnvizError) -> str:
    """Return why a model cannot be used; if the visitor may not open models, log the reason instead."""
    if allowed.may_open():
        return str(error)
    logging.getLogger(__name__).warning("%s cannot be used: %s", name, error)
    return "This model cannot be used at the moment. The reason is in this server’s log."


def explore_with(entry: Entry) -> None:
    """Draw the link that opens a model on Explore or, if it reads only images, on Images."""
    page = "explore" if entry.is_text_model else "images"
    st.page_link(
        f"pages/{page}.py",
        label="Explore with this model",
        icon=":material/arrow_forward:",
        icon_position="right",
        query_params={MODEL.name: entry.name},
    )


def operator_note() -> None:
    """Draw a note that the operator chose the models of this public server."""
    st.markdown(
        "The operator of this server chose its models. To open your own model, start attnviz on your own "
        "machine."
    )


def families() -> None:
    """Draw the supported and the refused families."""
    st.markdown(
        "When a model is opened, its attention weights for a short text are compared with those that "
        "transformers itself computes. A model's weights must be **safetensors** (pickle files can run code "
        "and are never read), with a `config.json` and, for texts, a tokenizer with token offsets, such as "
        "one with a `tokenizer.json`. A model with its own code (`trust_remote_code`) is refused."
    )
    st.markdown(
        "If the weights differ by more than rounding errors, or if queries, keys and values cannot be "
        "recorded, only the weights that transformers returns are shown. A model for which transformers "
        "returns no weights is refused."
    )
    with st.expander("Refused families, by reason"):
        st.markdown(
            "\n".join(
                f"- {reason[0].upper()}{reason[1:]}: {', '.join(map(markdown.code, names))}."
                for reason, names in REFUSED.items()
            )
        )
