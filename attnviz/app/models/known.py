"""What is known of each model that a visitor can choose, looked up now and then."""

from __future__ import annotations

import streamlit as st

from attnviz.errors import AttnvizError
from attnviz.models import allowed, resolve
from attnviz.models.catalogue import Entry

_SECONDS = 300


def known(name: str) -> Entry | AttnvizError:
    """The facts of a model, or why it cannot be used.

    The reason is kept too: to find it may mean to wait for a network that does not answer, and the menu of
    every page asks.

    Args:
        name: one of `allowed.names()`.
    """
    return _known(name, allowed.target(name))


def usable() -> tuple[Entry, ...]:
    """The models of this server that can be used, in the order of the choice."""
    found = (known(name) for name in allowed.names())
    return tuple(entry for entry in found if isinstance(entry, Entry))


@st.cache_resource(max_entries=128, ttl=_SECONDS, show_spinner=False)
def _known(name: str, target: str) -> Entry | AttnvizError:  # noqa: ARG001 - the same name may mean another model
    try:
        return resolve.entry(name)
    except AttnvizError as error:
        return error.with_traceback(None)
