"""The models of this server. Names are resolved to `Entry` objects only here; pages pass these on."""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable

import cachetools
import streamlit as st

from attnviz.app.server import warm_up
from attnviz.capture import loading
from attnviz.capture.model import Model
from attnviz.errors import AttnvizError
from attnviz.models import allowed, resolve
from attnviz.models.catalogue import Downloaded, Entry, Folder, Hub
from attnviz.models.tokenizer import tokenizer_of

_FRESH_SECONDS = 30.0  # validity of the facts about a model's files
_PROBLEM_SECONDS = 300.0  # validity of an error; longer, because a lookup may wait for the network

_LOADING = "The model is loading. This page continues automatically …"


def _expiry(key: Hashable, result: Entry | AttnvizError, now: float) -> float:  # noqa: ARG001 - for cachetools
    return now + (_FRESH_SECONDS if isinstance(result, Entry) else _PROBLEM_SECONDS)


@cachetools.cached(cachetools.TLRUCache(256, _expiry, time.monotonic), condition=threading.Condition())
def _resolve(model: str, target: str) -> Entry | AttnvizError:  # noqa: ARG001 - part of the cache key
    try:
        return resolve.entry(model)
    except AttnvizError as error:
        return error.with_traceback(None)


def clear() -> None:
    """Clear the cached entries and errors."""
    _resolve.cache_clear()


def entry_or_error(model: str) -> Entry | AttnvizError:
    """Return a model's entry, or the error that explains why it is unusable; cached for a limited time."""
    try:
        result = _resolve(model, allowed.target(model))
        if isinstance(result, AttnvizError) and loading.is_loaded(model):  # loaded after the error was cached
            clear()
            result = _resolve(model, allowed.target(model))
    except AttnvizError as error:  # the model is not on the operator's list
        return error
    return result


def usable() -> tuple[Entry, ...]:
    """Return the models of this server that can be used, in the order of the menu."""
    return tuple(result for result in map(entry_or_error, allowed.names()) if isinstance(result, Entry))


def entry(model: str) -> Entry:
    """Return the entry of the model with this name.

    Raises:
        AttnvizError: there is no such model, or it cannot be shown.
    """
    result = entry_or_error(model)
    if isinstance(result, AttnvizError):
        raise result
    return result


def on_this_machine(model: Entry) -> Entry:
    """Return the entry with its files on this machine, downloaded if necessary.

    Raises:
        AttnvizError: the files cannot be downloaded.
    """
    if not isinstance(model.origin, Hub):
        return model
    with st.spinner(_LOADING):
        downloaded = loading.downloaded(model.name)
    clear()
    return downloaded


def display_name(model: Entry) -> str:
    """Return the name for captions and files; for a folder, only its last part."""
    in_a_folder = isinstance(model.origin, Folder) and not isinstance(model.origin, Downloaded)
    return model.title if in_a_folder and allowed.may_open() else model.name


def mask_token(model: Entry) -> str | None:
    """Return the mask token as it is typed; None if the model predicts no masked tokens or has no folder."""
    if model.expects != "masked" or not isinstance(model.origin, Folder):
        return None
    return tokenizer_of(model).mask


def loaded_model(model: Entry) -> Model:
    """Return the loaded model; the page shows a spinner while it loads.

    Raises:
        AttnvizError: the model's files are missing or damaged.
    """
    if (ready := loading.in_memory(model)) is not None:
        return ready
    with st.spinner(_LOADING):
        return warm_up.model(model)
