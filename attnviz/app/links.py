"""What a link asked for, and a kind word where it could not be had."""

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs

import streamlit as st
from streamlit.errors import StreamlitAPIException
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz.app import markdown

_ASKED = "what the link asked for"
_NOTICE = "what the link could not have"

_CARRIED: dict[str, type[int] | type[str]] = {
    **dict.fromkeys(("model", "kind", "text", "other", "target", "query"), str),
    **dict.fromkeys(("layer", "head"), int),
}
"""What a link from page to page can name, although both pages have a widget for it."""


def remember(names: Iterable[str] = ()) -> None:
    """Keep the link's parameters as they came, before any widget corrects them; once for each visit.

    Every page calls this before its first widget: what a link from another page asks for is taken here.

    Args:
        names: the parameters that the page has widgets for, and that stay in its address.
    """
    _arrive(names)
    if _ASKED not in st.session_state:
        st.session_state[_ASKED] = {name: st.query_params.get_all(name) for name in st.query_params}


def asked(name: str) -> list[str]:
    """What the link that opened the page asked of this parameter; empty if it did not name it."""
    values: list[str] = st.session_state.get(_ASKED, {}).get(name, [])
    return values


def named(name: str) -> bool:
    """Whether the link that opened the visit asked for this parameter, or the one that led to this page."""
    return bool(asked(name)) or name in st.query_params


def postpone(names: Iterable[str]) -> None:
    """Say nothing of what the link asks of those of these that no widget took yet: one may take it later."""
    for name in names:
        if name not in st.session_state:
            st.session_state.get(_ASKED, {}).pop(name, None)


def given(names: Iterable[str]) -> dict[str, list[str]]:
    """The parameters of these names that the page has, with their values now, as a link writes them."""
    return {name: _written(st.session_state[name]) for name in names if name in st.session_state}


def drop_unused(names: Iterable[str]) -> None:
    """Take out of the address those of these names that it has, and that no widget of the page took."""
    for name in names:
        if name in st.query_params and name not in st.session_state:
            # What a widget that has just gone left behind, Streamlit itself takes out.
            with suppress(StreamlitAPIException):
                del st.query_params[name]


def _arrive(names: Iterable[str]) -> None:
    """Let a link from another page of the app win over what stood in the widgets there.

    Streamlit hides from a page all parameters for which the page before had a widget, and keeps what was in
    that widget, if anything. The whole address has the old page's values first, then the link's.
    """
    context = get_script_run_ctx()
    address = parse_qs(context.query_string if context else "", keep_blank_values=True)
    hidden = {name: address[name][-1] for name in _CARRIED if name in address and name not in st.query_params}
    for name, value in hidden.items():
        with suppress(ValueError):  # no number; what stood there stays
            st.session_state[name] = _CARRIED[name](value)
    if hidden and context and context.is_history_navigation:
        # The Back button led here. In such a run widgets have what their part of the address says, and where
        # that is hidden, their defaults. In the next one they have what was set just now.
        st.rerun()
    if shown := {name: hidden[name] for name in names if name in hidden}:
        st.query_params.update(shown)


def _written(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(item) for item in value]
    if isinstance(value, bool):
        return [str(value).lower()]
    return [] if value is None else [str(value)]


def notices(given: Mapping[str, list[str]]) -> list[str]:
    """What to tell the visitor about a link that asked for something that does not exist.

    Shown until the visitor changes anything.

    Args:
        given: every parameter the page knows, with its value now, as a link would write it.

    Returns:
        One Markdown sentence for each parameter whose value was not taken.
    """
    if _NOTICE not in st.session_state:
        asked: Mapping[str, list[str]] = st.session_state.get(_ASKED, {})
        st.session_state[_NOTICE] = (dict(given), _differences(asked, given))
    at_first, sentences = st.session_state[_NOTICE]
    return list(sentences) if at_first == given else []


def _differences(asked: Mapping[str, list[str]], given: Mapping[str, list[str]]) -> list[str]:
    sentences = []
    for name, values in asked.items():
        if name not in given:
            sentences.append(f"{_shown(name)} is not something a link can choose here; it was left out.")
        elif set(map(_same, values)) != set(map(_same, given[name])):
            taken = ", ".join(_shown(value) for value in given[name]) or "none"
            wanted = ", ".join(_shown(value) for value in values) or "nothing"
            if len(values) > 1 and len(given[name]) == 1 and given[name][0] in values:
                sentences.append(f"The link names {_shown(name)} more than once: it is {taken} now.")
                continue
            sentences.append(f"{_shown(name)} cannot be {wanted} here, so it is {taken} now.")
    return sentences


def _same(value: str) -> float | str:
    """A number by its size, so that "1" is what "1.0" is; anything else as it is written."""
    try:
        number = float(value)
    except ValueError:
        return value
    return number if math.isfinite(number) else value


def _shown(text: str, most: int = 60) -> str:
    if not text.strip():
        return "empty"
    return markdown.code(text if len(text) <= most else text[:most] + "…")


def forget() -> None:
    """Say nothing about the link any more: the visitor has something more important to mend."""
    st.session_state[_NOTICE] = ({}, [])


def draw(given: Mapping[str, list[str]]) -> None:
    """Say what of the link could not be had, if anything."""
    sentences = notices(given)
    if sentences:
        st.warning("\n\n".join(sentences), icon=":material/link_off:")
