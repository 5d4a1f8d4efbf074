"""Read the link's parameters when a page begins, and report invalid ones when it ends."""

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
    """Return the name of the current page; "" if there is none."""
    return str(memory.get(_PAGE, ""))


def visited(name: str) -> bool:
    """Return whether this session has visited the page."""
    return name in memory.get(_VISITED, ())


def arrive(name: str) -> None:
    """Read the link's parameters at the beginning of a page, before any widget corrects them.

    The parameters that opened the session are kept. A link from another page of the app overrides the values
    of this page's widgets.

    Args:
        name: Name of the page.
    """
    is_arrival = page() != name
    memory.put(_PAGE, name)
    memory.put(_VISITED, memory.get(_VISITED, frozenset()) | {name})
    if not is_arrival:
        _go_back()
    _take_carried(is_arrival)
    if not memory.has(_REQUESTED):
        memory.put(_REQUESTED, {name: st.query_params.get_all(name) for name in st.query_params})


def requested(choice: Choice[Any]) -> list[str]:
    """Return the values of this parameter in the link that opened the session; empty if it had none."""
    values: list[str] = memory.get(_REQUESTED, {}).get(choice.name, [])
    return values


def contains(choice: Choice[Any]) -> bool:
    """Return whether the link that opened the session, or that led to this page, has this parameter."""
    return bool(requested(choice)) or choice.name in st.query_params


def current(choice: Choice[Any]) -> str:
    """Return the text of a box, or the link's value before the box is drawn; "" for none."""
    if choice.is_set:
        return str(choice.get("") or "")
    return "".join([*requested(choice), *in_address(choice)][-1:])


def in_address(choice: Choice[Any]) -> list[str]:
    """Return the current values of a parameter in the URL."""
    return st.query_params.get_all(choice.name)


def choose(choice: Choice[Any], value: object) -> None:
    """Set the value of a parameter without a Streamlit widget, and write it into the URL."""
    choice.set(value)
    st.query_params[choice.name] = choice.written()


def number(choice: Number, maximum: int | None = None) -> int:
    """Return the clipped value of a parameter without a widget, from session state or else the URL.

    Args:
        choice: The parameter.
        maximum: Largest valid number; None for the parameter's maximum.
    """
    in_url = [] if choice.is_set else in_address(choice)
    try:
        value = choice.parse(in_url) if in_url else choice.get(choice.default)
    except ValueError:
        value = choice.default
    value = max(choice.minimum, min(value, choice.maximum if maximum is None else maximum))
    if in_url or choice.get(choice.default) != value:
        choose(choice, value)
    return value


def values() -> dict[str, list[str]]:
    """Return the values of this page's parameters, as in a link; omits parameters without a value."""
    here = of_page(page()).items()
    return {name: choice.written() for name, choice in here if choice.is_set}


def never_copied() -> list[str]:
    """Return the names of the parameters that a copied link omits."""
    return [name for name, choice in of_page(page()).items() if not choice.copied]


def parameters(*choices: Choice[Any]) -> list[tuple[str, str]]:
    """Return the names and values of these parameters on this page, for a link to another page."""
    here = of_page(page())
    return [
        (choice.name, value)
        for choice in choices
        if choice.name in here and choice.is_set
        for value in choice.written()
    ]


def drop_unused(*, undrawn: bool) -> None:
    """Remove other pages' parameters from the URL; if `undrawn`, also parameters with no widget."""
    here = of_page(page())
    for name in list(st.query_params):
        if name not in here or (undrawn and not here[name].is_set):
            _delete(name)


def postpone() -> None:
    """Do not report parameters that have no widget yet; the widget may be drawn later."""
    for name, choice in of_page(page()).items():
        if not choice.is_set:
            memory.get(_REQUESTED, {}).pop(name, None)


def forget() -> None:
    """Report nothing about the link, because the page shows an error."""
    memory.put(_NOTICE, ({}, []))


def notices() -> list[str]:
    """Return a Markdown sentence for each invalid parameter of the link, until the visitor makes a change."""
    if not memory.has(_NOTICE):
        current_values = values()
        memory.put(_NOTICE, (current_values, _differences(memory.get(_REQUESTED, {}), current_values)))
    initial, sentences = memory.get(_NOTICE)
    return list(sentences) if sentences and initial == values() else []


def _go_back() -> None:
    """After the Back button, remove values that are missing from the URL of the page.

    Streamlit does so only in the first run, and a page may rerun before it has drawn everything.
    """
    context = get_script_run_ctx()
    if context and context.is_history_navigation:
        for name, choice in of_page(page()).items():
            if name not in st.query_params:
                choice.forget()


def _take_carried(is_arrival: bool) -> None:
    """Let a link from another page of the app override the values of this page's widgets.

    Streamlit hides a parameter from a page if the previous page had a widget for it, and keeps the widget's
    value, if any. The full URL contains the old page's values first, then the link's.

    Args:
        is_arrival: True if the visitor has just come from another page.
    """
    context = get_script_run_ctx()
    in_url = parse_qs(context.query_string if context else "", keep_blank_values=True)
    hidden = {
        choice: in_url[choice.name][-1]
        for choice in TABLE
        if choice.carried and choice.name in in_url and choice.name not in st.query_params
    }
    for choice, value in hidden.items():
        with suppress(ValueError):  # not a number: keep the old value
            choice.set(choice.parse([value]))
    if hidden and context and context.is_history_navigation:
        # After the Back button, widgets have the values of the URL or, for hidden parameters, their
        # defaults. After a rerun, they have the values set above.
        st.rerun()
    here = of_page(page())
    carried = {choice.name: value for choice, value in hidden.items() if choice.name in here}
    # On arrival, even an empty update removes the previous page's parameters from the URL. Later, it would
    # also remove parameters that only the browser has written.
    if carried or is_arrival:
        st.query_params.update(carried)


def _delete(name: str) -> None:
    # Streamlit raises an error for a widget's parameter; it removes the parameter together with the widget.
    with suppress(StreamlitAPIException):
        del st.query_params[name]


def _differences(requested: Mapping[str, list[str]], shown: Mapping[str, list[str]]) -> list[str]:
    sentences = []
    for name, values in requested.items():
        if name not in shown:
            sentences.append(f"{_quoted(name)} is not valid on this page; it was ignored.")
        elif set(map(_comparable, filter(None, values))) != set(map(_comparable, shown[name])):
            used = ", ".join(_quoted(value) for value in shown[name]) or "none"
            requested_values = ", ".join(_quoted(value) for value in values) or "nothing"
            if len(values) > 1 and len(shown[name]) == 1 and shown[name][0] in values:
                sentences.append(f"The link has {_quoted(name)} more than once; using {used}.")
                continue
            sentences.append(f"{_quoted(name)} = {requested_values} is not valid on this page; using {used}.")
    return sentences


def _comparable(value: str) -> float | str:
    """Return a number as a float, so that "1" equals "1.0"; anything else unchanged."""
    try:
        number = float(value)
    except ValueError:
        return value
    return number if math.isfinite(number) else value


def _quoted(text: str, maximum: int = 60) -> str:
    if not text.strip():
        return "empty"
    return markdown.code(text if len(text) <= maximum else text[:maximum] + "…")
