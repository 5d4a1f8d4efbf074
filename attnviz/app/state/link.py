"""The link's parameters: read when a page begins, compared with the shown values at its end."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs

import streamlit as st
from streamlit.errors import StreamlitAPIException
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz.app import markdown
from attnviz.app.state import memory
from attnviz.app.state.choice import Choice, Number
from attnviz.app.state.choices import TABLE, of_page

_PAGE = "the page"
_VISITED = "the pages of this visit"
_REQUESTED = "requested by the link"
_NOTICE = "invalid parameters of the link"


def page() -> str:
    """Return the name of the current page; "" outside of any."""
    return str(memory.get(_PAGE, ""))


def visited(name: str) -> bool:
    """Return whether this session has visited the page."""
    return name in memory.get(_VISITED, ())


def arrive(name: str) -> None:
    """Begin a page: read the link's parameters before any widget corrects them.

    The parameters that opened the session are kept. A link from another page of the app overrides the values
    of its widgets.

    Args:
        name: Name of the page.
    """
    came = page() != name
    memory.put(_PAGE, name)
    memory.put(_VISITED, memory.get(_VISITED, frozenset()) | {name})
    if not came:
        _go_back()
    _take_carried(came)
    if not memory.has(_REQUESTED):
        memory.put(_REQUESTED, {name: st.query_params.get_all(name) for name in st.query_params})


def requested(choice: Choice[Any]) -> list[str]:
    """Return the values of this parameter in the link that opened the session; empty if it had none."""
    values: list[str] = memory.get(_REQUESTED, {}).get(choice.name, [])
    return values


def named(choice: Choice[Any]) -> bool:
    """Return whether the link that opened the session, or that led to this page, has this parameter."""
    return bool(requested(choice)) or choice.name in st.query_params


def current(choice: Choice[Any]) -> str:
    """Return the text of a box, or the link's value before it is drawn; "" for none."""
    if choice.is_set:
        return str(choice.get("") or "")
    return "".join([*requested(choice), *in_address(choice)][-1:])


def in_address(choice: Choice[Any]) -> list[str]:
    """Return the current values of a parameter in the URL."""
    return st.query_params.get_all(choice.name)


def choose(choice: Choice[Any], value: object) -> None:
    """Set a value that has no Streamlit widget, and write it into the URL."""
    choice.set(value)
    st.query_params[choice.name] = choice.written()


def number(choice: Number, maximum: int | None = None) -> int:
    """Return a number without a widget, from its state or the link; clipped to the valid range.

    Args:
        choice: The parameter.
        maximum: Largest valid number; None for that of the table.
    """
    asked = [] if choice.is_set else in_address(choice)
    try:
        value = choice.parse(asked) if asked else choice.get(choice.default)
    except ValueError:
        value = choice.default
    value = max(choice.minimum, min(value, choice.maximum if maximum is None else maximum))
    if asked or choice.get(choice.default) != value:
        choose(choice, value)
    return value


def values() -> dict[str, list[str]]:
    """Return the parameters of this page that have a value, as in a link."""
    here = of_page(page()).items()
    return {name: choice.written() for name, choice in here if choice.is_set}


def never_copied() -> list[str]:
    """Return the parameters that a copied link omits."""
    return [name for name, choice in of_page(page()).items() if not choice.copied]


def along(*choices: Choice[Any]) -> list[tuple[str, str]]:
    """Return these parameters, if this page has them, for a link to another page."""
    here = of_page(page())
    return [
        (choice.name, value)
        for choice in choices
        if choice.name in here and choice.is_set
        for value in choice.written()
    ]


def drop_unused(*, undrawn: bool) -> None:
    """Remove from the URL parameters of other pages; if `undrawn`, also of widgets that are not drawn."""
    here = of_page(page())
    for name in list(st.query_params):
        if name not in here or (undrawn and not here[name].is_set):
            _delete(name)


def postpone() -> None:
    """Do not report parameters without a widget yet: one may be drawn later."""
    for name, choice in of_page(page()).items():
        if not choice.is_set:
            memory.get(_REQUESTED, {}).pop(name, None)


def forget() -> None:
    """Stop reporting on the link: the page shows an error."""
    memory.put(_NOTICE, ({}, []))


def notices() -> list[str]:
    """Return notices about invalid parameters of the link.

    Shown until the visitor changes anything.

    Returns:
        One Markdown sentence for each choice with an invalid value.
    """
    if not memory.has(_NOTICE):
        now = values()
        memory.put(_NOTICE, (now, _differences(memory.get(_REQUESTED, {}), now)))
    at_first, sentences = memory.get(_NOTICE)
    return list(sentences) if sentences and at_first == values() else []


def _go_back() -> None:
    """After the Back button led to an earlier view of this page, remove values missing in its URL.

    Streamlit does so for the next run only; a page may begin another before all is drawn.
    """
    context = get_script_run_ctx()
    if context and context.is_history_navigation:
        for name, choice in of_page(page()).items():
            if name not in st.query_params:
                choice.forget()


def _take_carried(came: bool) -> None:
    """Let a link from another page of the app override the values of its widgets.

    Streamlit hides from a page all parameters for which the page before had a widget, and keeps what was in
    that widget, if anything. The full URL has the old page's values first, then the link's.

    Args:
        came: True if the visitor has just come from another page.
    """
    context = get_script_run_ctx()
    parameters = parse_qs(context.query_string if context else "", keep_blank_values=True)
    hidden = {
        choice: parameters[choice.name][-1]
        for choice in TABLE
        if choice.carried and choice.name in parameters and choice.name not in st.query_params
    }
    for choice, value in hidden.items():
        with suppress(ValueError):  # no number; the value stays
            choice.set(choice.parse([value]))
    if hidden and context and context.is_history_navigation:
        # The Back button led here. In such a run widgets have the values of the URL, and where
        # that is hidden, their defaults. In the next one they have what was set just now.
        st.rerun()
    here = of_page(page())
    taken = {choice.name: value for choice, value in hidden.items() if choice.name in here}
    # On arrival even nothing is written: that removes the previous page's parameters from the URL. Later it
    # would take out what the browser alone has written there.
    if taken or came:
        st.query_params.update(taken)


def _delete(name: str) -> None:
    # Streamlit itself removes parameters of a widget that is no longer drawn.
    with suppress(StreamlitAPIException):
        del st.query_params[name]


def _differences(asked: Mapping[str, list[str]], given: Mapping[str, list[str]]) -> list[str]:
    sentences = []
    for name, values in asked.items():
        if name not in given:
            sentences.append(f"{_shown(name)} is not valid on this page; it was ignored.")
        elif set(map(_same, values)) != set(map(_same, given[name])):
            taken = ", ".join(_shown(value) for value in given[name]) or "none"
            wanted = ", ".join(_shown(value) for value in values) or "nothing"
            if len(values) > 1 and len(given[name]) == 1 and given[name][0] in values:
                sentences.append(f"The link has {_shown(name)} more than once; using {taken}.")
                continue
            sentences.append(f"{_shown(name)} = {wanted} is not valid on this page; using {taken}.")
    return sentences


def _same(value: str) -> float | str:
    """Return a number as a float, so that "1" equals "1.0"; anything else unchanged."""
    try:
        number = float(value)
    except ValueError:
        return value
    return number if math.isfinite(number) else value


def _shown(text: str, maximum: int = 60) -> str:
    if not text.strip():
        return "empty"
    return markdown.code(text if len(text) <= maximum else text[:maximum] + "…")
