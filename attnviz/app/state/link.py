"""The link's parameters: read when a page begins, compared at its end with what the page shows."""

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
_NOTICE = "what the link could not have"


def page() -> str:
    """The page that is being drawn: its name; "" outside of any."""
    return str(memory.get(_PAGE, ""))


def visited(name: str) -> bool:
    """Whether this visit was on the page."""
    return name in memory.get(_VISITED, ())


def arrive(name: str) -> None:
    """Begin a page: read the link's parameters before any widget corrects them.

    The parameters that opened the visit are kept. A link from another page of the app overrides the values
    of its widgets.

    Args:
        name: of the page.
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
    """What the link that opened the visit asked of this choice; empty if it did not name it."""
    values: list[str] = memory.get(_REQUESTED, {}).get(choice.name, [])
    return values


def named(choice: Choice[Any]) -> bool:
    """Whether the link that opened the visit, or the one that led to this page, has this parameter."""
    return bool(requested(choice)) or choice.name in st.query_params


def current(choice: Choice[Any]) -> str:
    """The text of a box, or the link's value if it is not drawn yet; "" for none."""
    if choice.is_set:
        return str(choice.get("") or "")
    return "".join([*requested(choice), *in_address(choice)][-1:])


def in_address(choice: Choice[Any]) -> list[str]:
    """The values of a parameter in the address now."""
    return st.query_params.get_all(choice.name)


def choose(choice: Choice[Any], value: object) -> None:
    """Choose a value that has no Streamlit widget, and write it into the address."""
    choice.set(value)
    st.query_params[choice.name] = choice.written()


def number(choice: Number, maximum: int | None = None) -> int:
    """A number without a widget, from its state or the link; clipped to the valid range.

    Args:
        choice: the number.
        maximum: the largest that there is; None: that of the table.
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
    """The choices of this page that have a value, as a link writes them."""
    here = of_page(page()).items()
    return {name: choice.written() for name, choice in here if choice.is_set}


def never_copied() -> list[str]:
    """The parameters that a copied link omits."""
    return [name for name, choice in of_page(page()).items() if not choice.copied]


def along(*choices: Choice[Any]) -> list[tuple[str, str]]:
    """These choices, as far as this page has them, for a link to another page."""
    here = of_page(page())
    return [
        (choice.name, value)
        for choice in choices
        if choice.name in here and choice.is_set
        for value in choice.written()
    ]


def drop_unused(*, undrawn: bool) -> None:
    """Take out of the address what the page does not have; if `undrawn`, what it only has at times, too."""
    here = of_page(page())
    for name in list(st.query_params):
        if name not in here or (undrawn and not here[name].is_set):
            _delete(name)


def postpone() -> None:
    """Do not report parameters that no widget took yet: one may take them later."""
    for name, choice in of_page(page()).items():
        if not choice.is_set:
            memory.get(_REQUESTED, {}).pop(name, None)


def forget() -> None:
    """Stop reporting on the link: the visitor has something more important to fix."""
    memory.put(_NOTICE, ({}, []))


def notices() -> list[str]:
    """Notices about invalid parameters of the link.

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
    """After the Back button led to an earlier view of this page, forget parameters missing in its address.

    Streamlit does so for the run that follows at once; a page may begin another before all is drawn.
    """
    context = get_script_run_ctx()
    if context and context.is_history_navigation:
        for name, choice in of_page(page()).items():
            if name not in st.query_params:
                choice.forget()


def _take_carried(came: bool) -> None:
    """Let a link from another page of the app override the values of its widgets.

    Streamlit hides from a page all parameters for which the page before had a widget, and keeps what was in
    that widget, if anything. The whole address has the old page's values first, then the link's.

    Args:
        came: whether the visitor has come from another page just now.
    """
    context = get_script_run_ctx()
    address = parse_qs(context.query_string if context else "", keep_blank_values=True)
    hidden = {
        choice: address[choice.name][-1]
        for choice in TABLE
        if choice.carried and choice.name in address and choice.name not in st.query_params
    }
    for choice, value in hidden.items():
        with suppress(ValueError):  # no number; the value stays
            choice.set(choice.parse([value]))
    if hidden and context and context.is_history_navigation:
        # The Back button led here. In such a run widgets have the values of the address, and where
        # that is hidden, their defaults. In the next one they have what was set just now.
        st.rerun()
    here = of_page(page())
    taken = {choice.name: value for choice, value in hidden.items() if choice.name in here}
    # On arrival even nothing is written: that takes out of the address what the page before had. Later it
    # would take out what the browser alone has written there.
    if taken or came:
        st.query_params.update(taken)


def _delete(name: str) -> None:
    # What a widget that has just gone left behind, Streamlit itself takes out.
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
    """A number by its size, so that "1" is what "1.0" is; anything else as it is written."""
    try:
        number = float(value)
    except ValueError:
        return value
    return number if math.isfinite(number) else value


def _shown(text: str, maximum: int = 60) -> str:
    if not text.strip():
        return "empty"
    return markdown.code(text if len(text) <= maximum else text[:maximum] + "…")
