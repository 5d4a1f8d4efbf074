"""A report as one HTML file that works offline and can be emailed or printed."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from attnviz.analysis.display_tokens import MIN_SHOWN_SHARE
from attnviz.errors import InvalidTrace
from attnviz.export.report.contents import Contents, contents, kinds_of, without_vision
from attnviz.text import head_name, joined, plural
from attnviz.trace import Kind, Trace, checked_place
from attnviz.widgets import code

View = Literal["lines", "matrix"]
Part = Literal["atlas", "head"]
Theme = Literal["light", "dark", "auto"]

STYLE = code.LOOK + Path(__file__).with_name("report.css").read_text("utf-8")


@dataclass(frozen=True)
class InitialView:
    """Initial state of a page; readers can change all of it.

    Attributes:
        kind: "encoder", "decoder" or "cross"; None for the first kind of the trace.
        layer, head: Selected head, both from 0.
        query: Shown query token, from 0; None shows all.
        together: Several query tokens instead of `query`; the sum of their weights is shown.
        view: "lines" or "matrix".
        hide_special: Hide the tokens that the tokenizer added.
    """

    kind: Kind | None = None
    layer: int = 0
    head: int = 0
    query: int | None = None
    view: View = "lines"
    hide_special: bool = False
    together: tuple[int, ...] = ()

    @property
    def followed(self) -> tuple[int, ...]:
        """The shown query tokens; empty for all."""
        return self.together if self.query is None else (self.query,)


def report(
    trace: Trace | Sequence[Trace],
    opening: InitialView | None = None,
) -> str:
    """Return an HTML page with thumbnails of all heads, and each head as lines and as a matrix.

    The page is self-contained; its Content-Security-Policy forbids requests. The same traces always give the
    same bytes.

    Args:
        trace: One trace, or several, with a switch between them.
        opening: Initial state.

    Raises:
        AttnvizError: the texts are too long for one file.
        InvalidTrace: a trace has only some heads or queries, or the first trace lacks what `opening` selects.
    """
    traces = [*map(without_vision, [trace] if isinstance(trace, Trace) else trace)]
    data = contents(traces)
    opening = opening or InitialView(layer=traces[0].of_kind(kinds_of(traces[0])[0])[0].layer)
    initial_kind(traces[0], opening)
    return page(data, opening, ("atlas", "head"))


def initial_kind(trace: Trace, opening: InitialView) -> Kind:
    """Validate the initial state, and return its kind of attention.

    Raises:
        InvalidTrace: the kind, layer, head or token does not exist.
    """
    kind = opening.kind or kinds_of(trace)[0]
    blocks = trace.of_kind(kind)
    layers, heads = [block.layer for block in blocks], len(blocks[0].query)
    if opening.layer not in layers or not 0 <= opening.head < heads:
        numbers = joined([str(layer + 1) for layer in layers])
        size = f"{plural(len(layers), 'layer')} ({numbers}) of {plural(heads, 'head')}"
        name = head_name(opening.layer, opening.head)
        raise InvalidTrace(f"There is no head {name}: the {kind} attention of {trace.model} has {size}.")
    for query in opening.followed:
        checked_place(query, blocks[0].query_tokens, "query")
    return kind


def page(
    data: Contents,
    opening: InitialView,
    show: Sequence[Part],
    *,
    choose_view: bool = True,
    theme: Theme = "auto",
) -> str:
    """Return the HTML page.

    Args:
        data: Contents of the page.
        opening: Initial state.
        show: "atlas", "head" or both.
        choose_view: True to let readers switch between lines and matrix.
        theme: Light, dark, or the reader's system setting. Printouts are always light.
    """
    facts = {
        "traces": data.traces,
        "min_kept": MIN_SHOWN_SHARE,
        "show": list(show),
        "theme": theme,
        "views": [["lines", "Lines"], ["matrix", "Matrix"]] if choose_view else [],
        "open": {  # converted, because JSON does not support NumPy numbers
            "text": 1,
            "kind": opening.kind,
            "layer": int(opening.layer) + 1,
            "heads": [int(opening.head) + 1],
            "query": None if opening.query is None else int(opening.query) + 1,
            "together": [int(query) + 1 for query in opening.together],
            "key": None,
            "view": opening.view,
            "hide": opening.hide_special,
        },
    }
    script = code.bundle("report")
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash(script)}",
            f"style-src {_hash(STYLE)}",
            "img-src blob: data:",  # for showing and saving pictures
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta name="color-scheme" content="{"light dark" if theme == "auto" else theme}">',
            '<meta name="generator" content="attnviz">',
            "<title>Attention</title>",
            f"<style>{STYLE}</style>",
            "<noscript>This page needs JavaScript to draw its pictures.</noscript>",
            '<main id="report"></main>',
            f'<script type="application/json" id="facts">{_inert(facts)}</script>',
            f'<script type="text/plain" id="numbers">{base64.b64encode(data.numbers).decode()}</script>',
            f"<script>{script}</script>",
            "</html>",
            "",
        ]
    )


def _inert(facts: object) -> str:
    """Return JSON that cannot close the surrounding HTML element, whatever the texts contain."""
    # JSON escapes lone surrogates, which UTF-8 cannot encode.
    return re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", json.dumps(facts, ensure_ascii=True))


def _hash(text: str) -> str:
    """Return the Content-Security-Policy hash that allows a script or style sheet."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
