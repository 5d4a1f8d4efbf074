"""Wherever a page names a head, the name is a link that opens this head on Explore, with what the page reads.

As with citations, no page need do it. A page about another text or model than the choices say tells it here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode

import streamlit as st

from attnviz.app import caches
from attnviz.app.references import CODE_OR_LINK
from attnviz.app.state import link, memory
from attnviz.app.state.choice import Choice
from attnviz.app.state.choices import (
    HEAD,
    KIND,
    LAYER,
    MODEL,
    OTHER,
    QUERY,
    TEXT,
    of_page,
)
from attnviz.errors import AttnvizError
from attnviz.trace import Kind

_CHOICES: tuple[Choice[Any], ...] = MODEL, TEXT, OTHER, KIND, LAYER, HEAD, QUERY
_CHOOSES_KIND = ("compare", "explore", "intervene")
_OWN = "what the heads of this page read"
_ASKED = "a head was asked for by its name"

# "2-1", "encoder head 2-1", "cross-attention head (1-1)"; no range of numbers, and no part of a formula.
_NAME = re.compile(
    rf"{CODE_OR_LINK}|\$[^$]*+\$|"
    r"(?P<before>(?:\b(?P<kind>[Ee]ncoder|[Dd]ecoder|[Cc]ross)(?:-attention)?(?: heads?)? )?\(?[*]?[*]?)"
    r"(?<![\w.–/\\-])(?P<of_layer>[1-9]\d?\d?)-(?P<number>[1-9]\d?\d?)(?![\w–-]|\.\d)",
    re.DOTALL,
)


class Read(NamedTuple):
    """Whose heads are named: a model's, of this kind unless another is said, where it reads this text."""

    model: str
    text: str
    kind: Kind | None = None


_HERE: ContextVar[Read | None] = ContextVar("whose heads are named in a part of a page", default=None)


def read(model: str, text: str) -> None:
    """Say what this page reads, where its choices do not."""
    memory.put(_OWN, (link.page(), Read(model, text)))


@contextmanager
def of(model: str, text: str, kind: Kind | None = None) -> Iterator[None]:
    """In here a page names the heads of this model; of "", those of no model that Explore could open."""
    before = _HERE.set(Read(model, text, kind))
    try:
        yield
    finally:
        _HERE.reset(before)


def linked(text: str) -> str:
    """Markdown in which each name of a head is a link."""
    if "-" not in text:
        return text
    whose = _HERE.get() or _of_page()
    if whose is None or not whose.model:
        return text
    try:
        entry = caches.entry(whose.model)
    except AttnvizError:
        return text
    along = _along(whose)

    def opens(found: re.Match[str]) -> str:
        if found["of_layer"] is None:
            return found[0]
        of_kind = (found["kind"] or whose.kind or entry.kinds[0]).lower()
        if of_kind not in entry.kinds:
            return found[0]
        if int(found["of_layer"]) > entry.layers_of(of_kind) or int(found["number"]) > entry.heads:
            return found[0]
        query = {
            **along,
            KIND.name: of_kind,
            LAYER.name: found["of_layer"],
            HEAD.name: found["number"],
        }
        if len(entry.kinds) == 1:
            del query[KIND.name]
        name = f"{found['of_layer']}-{found['number']}"
        return f"{found['before']}[{name}](./?{urlencode(query)})"

    return _NAME.sub(opens, text)


def _of_page() -> Read | None:
    """What the page reads, as it has said or as its choices say."""
    page = link.page()
    said, own = memory.get(_OWN, (None, None))
    if said == page:
        return Read(*own)
    if page in MODEL.pages and MODEL.stands:
        return Read(str(MODEL.get("")), str(TEXT.get("") or ""), kind())
    return None


def kind() -> Kind | None:
    """Of which attention the page's open head is, where that can be chosen on the page."""
    chosen: Kind | None = KIND.get(None) if link.page() in _CHOOSES_KIND else None
    return chosen


def _along(whose: Read) -> dict[str, str]:
    """What a link to a head brings along: the model, the text, and what else the page has of Explore."""
    here = of_page(link.page())
    own = whose == _of_page()
    others = [each for each in (OTHER, QUERY) if own and each.name in here and link.said(each)]
    return {
        MODEL.name: whose.model,
        **({TEXT.name: whose.text} if whose.text else {}),
        **{each.name: link.said(each) for each in others},
    }


def take(query: str) -> None:
    """Choose what a link to a head asks for, in a callback; `open_taken` then leads to Explore.

    `query` comes from the browser: as in a link, what does not exist is mended where it is drawn.
    """
    asked = parse_qs(query.removeprefix("./?"))
    if TEXT.name in asked and asked[TEXT.name] != [TEXT.get("")]:
        OTHER.forget()
    for choice in _CHOICES:
        if choice.name in asked:
            choice.set(choice.parse(asked[choice.name]))
    memory.put(_ASKED, True)


def open_taken() -> None:
    """Go to Explore if a head was asked for by its name."""
    if memory.forget(_ASKED) and link.page() != "explore":
        st.switch_page("pages/explore.py", query_params={})  # what was taken stands in the widgets
