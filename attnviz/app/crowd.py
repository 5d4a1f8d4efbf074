"""How many visitors are here at a time, where the operator bounds it; others wait for a place."""

from __future__ import annotations

import os
import threading

import streamlit as st
from streamlit.runtime import get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz.errors import WrongSetting

SETTING = "ATTNVIZ_VISITORS"
"""The environment variable with the bound, for each server; unset: none."""

ASKS_AGAIN_SECONDS = 3

_inside: set[str] = set()
_lock = threading.Lock()


def most() -> int | None:
    """How many visitors are let in; None: all.

    Raises:
        WrongSetting: the operator has set something that is no such number.
    """
    setting = os.environ.get(SETTING, "").strip()
    if setting and not (setting.isdecimal() and int(setting)):
        raise WrongSetting(f"{SETTING} should be a number of visitors, for example {SETTING}=100.")
    return int(setting) if setting else None


def let_in() -> None:
    """Draw the page that waits, and stop, while as many visitors are here as may be."""
    if _may_enter():
        return
    st.title("Please wait for a place", anchor=False)
    st.info(
        f"This server lets in {most()} at a time, and all places are taken. The page opens by itself as soon "
        "as somebody leaves, with all that its address asks for.",
        icon=":material/hourglass_top:",
    )
    st.fragment(_ask_again, run_every=ASKS_AGAIN_SECONDS)()
    st.stop()


def _ask_again() -> None:
    if _may_enter():
        st.rerun()


def _may_enter() -> bool:
    """Whether this visit has a place; who has one keeps it until the browser is gone."""
    bound, context = most(), get_script_run_ctx()
    if bound is None or context is None:
        return True
    with _lock:
        _inside.intersection_update(here())
        if context.session_id not in _inside and len(_inside) >= bound:
            return False
        _inside.add(context.session_id)
        return True


def here() -> set[str]:
    """The visits whose browsers are connected."""
    return {each.session.id for each in get_instance()._session_mgr.list_active_sessions()}  # noqa: SLF001 - nothing public tells
