"""The models of this server: each is looked up by its name, and again when its files may have changed."""

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
from attnviz.models.catalogue import Downloaded, Entry, Folder
from attnviz.models.tokenizer import tokenizer_of

_FRESH_SECONDS = 30.0  # how long what is known of a model's files is valid
_PROBLEM_SECONDS = 300.0  # the same for a reason why it cannot be used: a lookup may wait for a network


def _until(key: Hashable, known: Entry | AttnvizError, now: float) -> float:  # noqa: ARG001 - as cachetools asks
    return now + (_FRESH_SECONDS if isinstance(known, Entry) else _PROBLEM_SECONDS)


@cachetools.cached(cachetools.TLRUCache(256, _until, time.monotonic), condition=threading.Condition())
def _look(model: str, target: str) -> Entry | AttnvizError:  # noqa: ARG001 - the same name may mean another model
    try:
        return resolve.entry(model)
    except AttnvizError as error:
        return error.with_traceback(None)


def clear() -> None:
    """Forget what is known of the models."""
    _look.cache_clear()


def looked_up(model: str) -> Entry | AttnvizError:
    """What is known of a model, or why it cannot be used; looked at again now and then."""
    try:
        known = _look(model, allowed.target(model))
        if isinstance(known, AttnvizError) and loading.ready(model):  # somebody has opened it meanwhile
            clear()
            known = _look(model, allowed.target(model))
    except AttnvizError as error:  # it is not on the operator's list
        return error
    return known


def usable() -> tuple[Entry, ...]:
    """The models of this server that can be used, in the order of the choice."""
    return tuple(known for known in map(looked_up, allowed.names()) if isinstance(known, Entry))


def entry(model: str) -> Entry:
    """What is known of a model.

    Raises:
        AttnvizError: there is no such model, or it cannot be shown.
    """
    known = looked_up(model)
    if isinstance(known, AttnvizError):
        raise known
    return known


def fingerprint(model: str) -> str:
    """Another one as soon as the model's files have changed; "" where they cannot change.

    Raises:
        AttnvizError: there is no such model, or it cannot be shown.
    """
    return entry(model).fingerprint


def called(model: str) -> str:
    """What captions and files call a model: a folder by its own name, not by where it lies."""
    known = entry(model)
    in_a_folder = isinstance(known.origin, Folder) and not isinstance(known.origin, Downloaded)
    return known.title if in_a_folder and allowed.may_open() else model


def mask_token(model: str) -> str | None:
    """How the masked token is typed for a model that has a head for it; None for any other."""
    known = entry(model)
    if known.expects != "masked" or not isinstance(known.origin, Folder):
        return None
    return tokenizer_of(known).mask


def load(model: str) -> Model:
    """Return the loaded model; the page says so while it is loading.

    Raises:
        AttnvizError: there is no such model, or its files are missing or damaged.
    """
    if loading.ready(model):
        return loading.load(model)
    with st.spinner("The model is loading. This page goes on by itself …"):
        return warm_up.model(model)
