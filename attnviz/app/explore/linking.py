"""Ranking of all heads by the weight between two tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import MIN_SHOWN_SHARE, DisplayToken, faint
from attnviz.analysis.linking import Link, LinkChange, rank_changes, rank_links
from attnviz.app import markdown, traces
from attnviz.app.controls import PRONOUNS, buttons
from attnviz.app.examples import Example, introduction
from attnviz.app.explore import views
from attnviz.app.explore.choices import Heads, open_heads
from attnviz.app.explore.views import SENTENCES, View
from attnviz.app.models import lookup
from attnviz.app.state.choice import option
from attnviz.app.state.choices import KEY, QUERY, TEXT
from attnviz.text import head_name, percent, signed_percent
from attnviz.trace import Floats

STRONGEST = "largest weight"
EVERY = "every token"

_MAX_SHOWN = 8
_FAINT = " *"
_FRENCH_PRONOUNS = ("il", "elle")


@dataclass(frozen=True)
class Pair:
    """A query token and a key token, as indices into the shown tokens.

    Unless `key_is_chosen`, the key is the token with the largest weight (in a comparison, the largest
    change) in the open head.
    """

    query: int
    key: int
    key_is_chosen: bool


@dataclass(frozen=True)
class Tokens:
    """Options of the two menus, such as "11 it", and the selected pair.

    `pair` is None if every query token is selected.
    """

    queries: tuple[str, ...]
    keys: tuple[str, ...]
    pair: Pair | None

    def choose(self, query: int | None, key: int | None) -> None:
        """Select tokens clicked in a picture; None means every query, or the strongest key."""
        QUERY.set(EVERY if query is None else self.queries[query])
        KEY.set(STRONGEST if key is None else self.keys[key])

    def name(self, pair: Pair) -> str:
        """Return both tokens as Markdown code."""
        options = self.queries[pair.query], self.keys[pair.key]
        return " → ".join(markdown.code(option.split(" ", 1)[1]) for option in options)


def clearest(view: View, example: Example | None) -> tuple[int, int]:
    """Return the layer and head, from 1, with the strongest link from the initial query token.

    Links to the query itself, special tokens and the first token are ignored: every model has heads
    with most of their weight on these tokens.
    """
    groups = views.groups(view)
    query = _initial_query(view, groups[0], example)
    links = faint(*_row(view, query))[:, :, 0].copy()
    ignored = [key for key, group in enumerate(groups[1]) if group.special or key in (0, query)]
    if len(ignored) < len(groups[1]):
        links[..., ignored] = 0
    layer, head = np.unravel_index(links.max(axis=-1).argmax(), links.shape[:2])
    return int(layer) + 1, int(head) + 1


def choose(view: View, heads: Heads, example: Example | None) -> Tokens:
    """Draw the menus for the query and the key; return the selection."""
    st.header("Which head links two tokens?", anchor=False)
    groups = views.groups(view)
    queries, keys = (tuple(option(group) for group in side) for side in groups)
    default = queries[_initial_query(view, groups[0], example)]
    # Reset the selection when the text or the model changes: token numbers depend on both.
    first = introduction(view.model)
    typed = TEXT.get(""), view.given.second, view.given.target
    source = (*typed, view.model if first.head is None else first)
    query_column, key_column = st.columns(2)
    with query_column:
        scope = (*source, view.kind == "encoder")
        query = QUERY.draw("From (query)", (EVERY, *queries), default, scope)
    with key_column:
        scope = (*source, view.kind != "decoder")
        key = KEY.draw("To (key)", (STRONGEST, *keys), STRONGEST, scope)
    if query == EVERY:
        return Tokens(queries, keys, None)
    row = views.head_numbers(view, heads.layer, [heads.head])[0, queries.index(query)]
    size = np.abs(row) if view.changed else row
    strongest = int(np.argmax(np.where(np.isfinite(row), size, -np.inf)))
    chosen = key != STRONGEST
    pair = Pair(queries.index(query), keys.index(key) if chosen else strongest, chosen)
    return Tokens(queries, keys, pair)


def draw(view: View, heads: Heads, tokens: Tokens) -> None:
    """Draw the ranking of all heads; a click opens a head."""
    if tokens.pair is None:
        st.markdown("Choose a query token to see which heads link it to another token.")
        return
    query, key = tokens.pair.query, tokens.pair.key
    pair = tokens.name(tokens.pair)
    if None in _in_both(view, query, key):
        st.markdown(f"{pair}: a token is in only one of the two sentences, so there is no weight to compare.")
        return
    if not views.allowed(view)[:, query, key].any():
        st.markdown(f"{pair} is masked in every head: {_why_masked(view, tokens.pair)}.")
        return
    ranked = _ranked(view, query, key)
    if view.changed is None:
        starred = any(number.endswith(_FAINT) for _, number in ranked)
        note = (
            f" (\\* more than {percent(1 - MIN_SHOWN_SHARE)} of the row’s weight is on hidden tokens; "
            "ranked by the weight before rescaling)"
        )
        st.markdown(f"Heads with the largest weight for {pair}{note if starred else ''}:")
    else:
        st.markdown(f"Heads with the **largest change** in the weight for {pair} between the sentences:")
    names = {f"{name} · {number}": name for name, number in ranked[:_MAX_SHOWN]}
    buttons("Open a head", names, "ranking", _open, label_visibility="collapsed")
    place = [name for name, _ in ranked].index(heads.name) + 1
    st.markdown(
        f":small[The selected head, {heads.name}, has rank {place} of {len(ranked)}: {ranked[place - 1][1]}.]"
    )


def _why_masked(view: View, pair: Pair) -> str:
    queries, keys = views.groups(view)
    ahead = keys[pair.key].positions[0] > queries[pair.query].positions[-1]
    causal = view.kind == "decoder"
    return (
        "no token attends to later tokens"
        if ahead and causal
        else "the key is outside the query’s attention window"
    )


def _ranked(view: View, query: int, key: int) -> list[tuple[str, str]]:
    """Return each head's name and value in rank order; * marks rows that are drawn faintly."""
    if view.changed is None:
        weights, shares = _row(view, query)
        links = rank_links(faint(weights, shares), 0, key)
        rows = [(link.layer, link.head, 0) for link in links]
        numbers = [
            percent(float(weights[(*at, key)])) + _FAINT * bool(shares[at] < MIN_SHOWN_SHARE) for at in rows
        ]
        return list(zip(map(_name, links), numbers, strict=True))
    places = [place or 0 for place in _in_both(view, query, key)]
    before, after = (
        views.weights(view, given)[:, :, at : at + 1, to : to + 1]
        for given, (at, to) in ((view.given, places[:2]), (view.changed, places[2:]))
    )
    return _ranked_changes(before, after, 0, 0)


def _row(view: View, query: int) -> tuple[Floats, Floats]:
    """Return one query's weights, [layer, head, 1, key], and its `shown_shares`, [layer, head, 1]."""
    row = slice(query, query + 1)
    return views.weights(view, view.given)[:, :, row], views.shown_shares(view)[:, :, row]


def _in_both(view: View, query: int, key: int) -> list[int | None]:
    """Return the indices of the query and key in each compared text; None for a missing token."""
    return [
        place
        for given in (view.given, view.changed or view.given)
        for place in (
            views.index_in(view, given, query, "query"),
            views.index_in(view, given, key, "key"),
        )
    ]


def _ranked_changes(before: Floats, after: Floats, query: int, key: int) -> list[tuple[str, str]]:
    """Return each head's name and change, largest first."""
    return [(_name(move), signed_percent(move.change)) for move in rank_changes(before, after, query, key)]


def _name(link: Link | LinkChange) -> str:
    return head_name(link.layer, link.head)


def _open(name: str) -> None:
    layer, head = name.split("-")
    open_heads(int(layer), [int(head)])


def _initial_query(view: View, groups: Sequence[DisplayToken], example: Example | None) -> int:
    """Return the index of the initial query token."""
    if view.kind == "encoder":
        return _initial_encoder_query(groups, example, lookup.mask_token(view.model))
    if traces.trace(view.model, view.given).target is None:
        return _last_prompt_token(view, groups)
    return _before_pronoun(groups)


def _last_prompt_token(view: View, groups: Sequence[DisplayToken]) -> int:
    """Return the index of the last prompt token; its output predicts the first generated token."""
    trace = traces.trace(view.model, view.given)
    last = len(trace.of_kind(view.kind)[0].query_tokens) - 1 - trace.written
    return max((place for place, group in enumerate(groups) if group.positions[0] <= last), default=0)


def _initial_encoder_query(groups: Sequence[DisplayToken], example: Example | None, mask: str | None) -> int:
    """Return the index of the mask token, else the example's word, else a pronoun, else the last word."""
    # In a comparison, changed tokens have labels such as "are → is"; in a sentence pair, labels end with the
    # sentence's mark.
    labels = [group.label.split(" → ")[0] for group in groups]
    for sign in SENTENCES:
        labels = [label.removesuffix(sign) for label in labels]
    for label in (mask, example.query if example else None, *PRONOUNS):
        if label in labels:
            return labels.index(label)
    words = [index for index, group in enumerate(groups) if not group.special and labels[index].isalnum()]
    return words[-1] if words else len(groups) - 1


def _before_pronoun(groups: Sequence[DisplayToken]) -> int:
    """Return the index of the token before the last "il" or "elle"; 0 if there is none."""
    following = [group.label.split(" → ")[0] for group in groups[1:]]
    return max((place for place, label in enumerate(following) if label in _FRENCH_PRONOUNS), default=0)
