"""The open heads for a long text: a zoomable matrix of blocks, or lines around the selected token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from attnviz.analysis.display_tokens import MIN_SHOWN_SHARE, DisplayToken, faint
from attnviz.analysis.picture import diverging, sequential
from attnviz.analysis.window import (
    NUM_TOP_KEYS,
    THRESHOLDS,
    TILE,
    Window,
    blocks,
    find_token,
    hidden_shares,
    line_places,
    next_match,
    strongest_values,
    whole_window,
)
from attnviz.app.components import store
from attnviz.app.components.head_view import Part, head_view
from attnviz.app.explore import views
from attnviz.app.explore.choices import Heads, open_heads
from attnviz.app.explore.views import Unit, View
from attnviz.app.state import memory
from attnviz.text import isolated, percent
from attnviz.trace import Floats
from attnviz.widgets.tokens import shown_tokens

_PART, _SEARCH, _MIN_WEIGHT = "the part of the text", "what is searched", "hidden below"
_MAX_SEARCH = 100  # characters

OnPick = Callable[[int | None, int | None], None]


@dataclass(frozen=True)
class Source:
    """The numbers of a layer's heads.

    Attributes:
        key: Identifies the numbers; the displayed part is kept while the key stays the same.
        queries, keys: Tokens of the rows and columns.
        kind, unit: As in `head_view`.
        hidden: Names of the hidden tokens.
        rows: Returns rows of a head (from 1) for some queries: [query, key], NaN where masked.
        shown_shares: Returns the fraction of these rows' weight on shown tokens: [query].
        high: Returns the number with the strongest colour in a head.
        hidden_shares: Returns the fraction of a head's weight below each of `THRESHOLDS`.
        overview: Returns the largest number of each block of the whole text; None to compute it from `rows`.
    """

    key: object
    queries: Sequence[DisplayToken]
    keys: Sequence[DisplayToken]
    kind: Literal["sequential", "diverging"]
    unit: Unit
    hidden: str
    rows: Callable[[int, Sequence[int]], Floats]
    shown_shares: Callable[[int, Sequence[int]], Floats]
    high: Callable[[int], float]
    hidden_shares: Callable[[int], Floats]
    overview: Callable[[int], Floats] | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Number of queries and keys."""
        return len(self.queries), len(self.keys)


def from_view(view: View, layer: int) -> Source:
    """Return the source for a layer of a view."""
    queries, keys = views.groups(view)
    drawn = views.drawn(view)
    return Source(
        key=view,
        queries=queries,
        keys=keys,
        kind=drawn.kind,
        unit=view.unit,
        hidden=views.hidden_names(view),
        rows=lambda head, places: views.head_numbers(view, layer, [head])[0][[*places]],
        shown_shares=lambda head, places: views.shown_shares(view)[layer - 1, head - 1, [*places]],
        high=lambda head: float(drawn.high[layer - 1, head - 1]),
        hidden_shares=lambda head: hidden_shares(views.head_numbers(view, layer, [head])[0]),
    )


def from_matrix(source: Source, values: Floats, high: float) -> Source:
    """Return the source with one matrix, [query, key], in place of its heads."""
    return replace(
        source,
        rows=lambda _head, places: values[[*places]],
        shown_shares=lambda _head, places: np.ones(len(places), np.float32),
        high=lambda _head: high,
        hidden_shares=lambda _head: hidden_shares(values),
    )


def draw(
    source: Source,
    heads: Heads,
    heads_total: int,
    style: Literal["lines", "matrix"],
    query: int | None,
    key: int | None,
    on_pick: OnPick,
    together: Sequence[int] = (),
    **texts: Any,
) -> None:
    """Draw the open heads.

    Args:
        query, key: Indices of the selected tokens; None for no token.
        together: Rows to add up while no query is selected.
        on_pick: Called with the clicked or found query and key.
        texts: `note`, `caption` and `filename` of `head_view`.
    """
    window, size = _window(source, query), source.size
    if style == "lines":
        middle = together[0] if together else min(window.row + window.span // 2, size[0] - 1)
        row = middle if query is None else query
        top = {int(at) for head in heads.all for at in _largest(source.rows(head, [row])[0])}
        rows, columns = line_places(row, top, *size)
        queries, keys = (
            [side[at] for at in places] for side, places in ((source.queries, rows), (source.keys, columns))
        )
        step = 1
    else:
        row_range, column_range = window.ranges(*size)
        step = window.block
        queries, keys = blocks(source.queries, row_range, step), blocks(source.keys, column_range, step)
        rows, columns = list(row_range[::step]), list(column_range[::step])
    below = memory.get(_MIN_WEIGHT, 0.0) if source.unit == "percent" else 0.0
    pixels, exact = _send(source, heads, rows, columns, window if step > 1 else None, below)

    def shown(place: int | None, first: Sequence[int]) -> int | None:
        inside = place is not None and first[0] <= place < first[-1] + step
        at = int(np.searchsorted(first, place, "right")) - 1 if inside and place is not None else None
        return at if at is None or step > 1 or first[at] == place else None

    at_query = shown(query, rows)
    head_view(
        "one head",
        pixels=pixels,
        exact=exact,
        view=style,
        layer=heads.layer,
        heads=heads.all,
        heads_total=heads_total,
        query_tokens=shown_tokens(queries),
        key_tokens=shown_tokens(keys),
        query=at_query,
        key=None if at_query is None else shown(key, columns),
        together=[at for at in (shown(each, rows) for each in together) if at is not None and step == 1],
        kind=source.kind,
        unit=source.unit,
        part=Part(
            window.row,
            window.column,
            window.span,
            size,
            _matches(source, query),
            below,
            _hidden_weight(source, heads, below),
        ),
        on_pick=lambda at, to: on_pick(None if at is None else rows[at], None if to is None else columns[to]),
        on_heads=open_heads,
        on_window=lambda row, column, span: _move(source, Window(row, column, span), query),
        on_find=lambda text, direction: _find(source, text, direction, query, on_pick),
        on_hide=lambda minimum: memory.put(_MIN_WEIGHT, minimum if minimum in THRESHOLDS else 0.0),
        **texts,
    )


def _window(source: Source, query: int | None) -> Window:
    """Return the displayed part, moved if a newly selected query is outside it."""
    size = source.size
    window, previous = whole_window(*size), query
    if memory.has(_PART) and memory.get(_PART)[0] == source.key:
        _, window, previous = memory.get(_PART)
    if query is not None and query != previous and not window.row <= query < window.row + window.span:
        window = window.centred(query, query if size[0] == size[1] else window.column).fitted(*size)
    memory.put(_PART, (source.key, window, query))
    return window


def _move(source: Source, window: Window, query: int | None) -> None:
    memory.put(_PART, (source.key, window.fitted(*source.size), query))


def _find(source: Source, text: str, step: int, query: int | None, on_pick: OnPick) -> None:
    """Select the next or the previous token that contains this text."""
    search = text[:_MAX_SEARCH]
    memory.put(_SEARCH, search)
    at = next_match(find_token(source.queries, search), -1 if query is None else query, 1 if step > 0 else -1)
    if at is not None:
        on_pick(at, None)


def _matches(source: Source, query: int | None) -> str:
    """Return the search result in words."""
    if not (search := memory.get(_SEARCH, "")):
        return ""
    places = find_token(source.queries, search)
    if not places:
        return "not found"
    if query is None or query not in places:
        return f"{len(places)} found"
    token = source.queries[query]
    return f"{places.index(query) + 1} of {len(places)}: {token.number} {isolated(token.label)}"


def _hidden_weight(source: Source, heads: Heads, below: float) -> str:
    """Return a note on the fraction of each head's weight that is not drawn."""
    if not below:
        return ""
    shares = [source.hidden_shares(head)[THRESHOLDS.index(below)] for head in heads.all]
    listed = ", ".join(
        f"{f'head {head}: ' if heads.also else ''}{percent(float(share), 1)}"
        for head, share in zip(heads.all, shares, strict=True)
    )
    return f"not drawn: {listed} of the head’s weight"


def _largest(row: Floats) -> Sequence[int]:
    size = np.where(np.isfinite(row), np.abs(row), -1)
    at = np.argpartition(size, -min(NUM_TOP_KEYS, len(size)))[-NUM_TOP_KEYS:]
    return [int(each) for each in at if size[each] > 0]


def _send(
    source: Source,
    heads: Heads,
    rows: Sequence[int],
    columns: Sequence[int],
    window: Window | None,
    below: float,
) -> tuple[str, str]:
    """Send the numbers of the open heads, in blocks if there is a `window`; return the arrays' store ids."""
    numbers, pixels, shares = [], [], []
    for head in heads.all:
        if window is None:
            exact = source.rows(head, rows)[:, columns]
            drawn = faint(exact, source.shown_shares(head, rows))
            shares.append(source.shown_shares(head, rows))
        else:
            exact, drawn = _blocks(source, head, window)
        high = source.high(head)
        small = np.abs(drawn) < below
        strength = np.where(small, 0, drawn / high)
        mask = np.isfinite(exact)
        cells = np.where(mask, strength, 0).astype(np.float32)
        picture = (
            sequential(cells, mask=mask)
            if source.kind == "sequential"
            else diverging(cells, mask=mask, end=1.0)
        )
        pixels.append(picture.levels)
        numbers.append(exact)
    names = [[heads.layer, head] for head in heads.all]
    facts: dict[str, Any] = {"heads": names, "hidden": source.hidden, "min_kept": MIN_SHOWN_SHARE}
    arrays = {"values": np.stack(numbers), **({"left": np.stack(shares)} if shares else {})}
    return (
        store.publish(
            "part pixels", {"pixels": np.stack(pixels)}, heads=names, high=[source.high(h) for h in heads.all]
        ),
        store.publish("part exact", arrays, **facts),
    )


def _blocks(source: Source, head: int, window: Window) -> tuple[Floats, Floats]:
    """Return the number with the largest absolute value in each block, before and after `faint`."""
    rows, columns = window.ranges(*source.size)
    if source.overview and window == whole_window(*source.size):
        return (source.overview(head),) * 2
    step = window.block * max(1, TILE // (window.block * len(source.keys)))
    exact, drawn = [], []
    for start in range(rows.start, rows.stop, step):
        places = range(start, min(start + step, rows.stop))
        numbers = source.rows(head, places)[:, columns.start : columns.stop]
        exact.append(strongest_values(numbers, window.block))
        drawn.append(strongest_values(faint(numbers, source.shown_shares(head, places)), window.block))
    return np.concatenate(exact), np.concatenate(drawn)
