"""Two tokens, and which of all heads links them most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import MIN_KEPT, DisplayToken, faint
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

STRONGEST = "the strongest"
EVERY = "every token"

_SHOWN = 8
_FAINT = " *"
_FRENCH_PRONOUNS = ("il", "elle")


@dataclass(frozen=True)
class Pair:
    """Which tokens attend to which, as numbers among the shown tokens, from 0.

    Unless `key_is_chosen`, the key is just the one that the query attends to most.
    """

    query: int
    key: int
    key_is_chosen: bool


@dataclass(frozen=True)
class Tokens:
    """What the visitor can choose from, each as "11 it", and what was chosen.

    `pair` is None while the lines of every token are drawn.
    """

    queries: tuple[str, ...]
    keys: tuple[str, ...]
    pair: Pair | None

    def choose(self, query: int | None, key: int | None) -> None:
        """Select tokens clicked in a picture; None means every query, or the strongest key."""
        QUERY.set(EVERY if query is None else self.queries[query])
        KEY.set(STRONGEST if key is None else self.keys[key])

    def name(self, pair: Pair) -> str:
        """The two tokens as Markdown that shows them as typed."""
        options = self.queries[pair.query], self.keys[pair.key]
        return " → ".join(markdown.code(option.split(" ", 1)[1]) for option in options)


def clearest(view: View, example: Example | None) -> tuple[int, int]:
    """The layer and the head, from 1, with the strongest link from the token that is asked about first.

    Links to itself, to special tokens and to the very first token are ignored: every model has heads that
    put most of their weight there.
    """
    groups = views.groups(view)
    query = _begin(view, groups[0], example)
    links = faint(*_row(view, query))[:, :, 0].copy()
    rests = [key for key, group in enumerate(groups[1]) if group.special or key in (0, query)]
    if len(rests) < len(groups[1]):
        links[..., rests] = 0
    layer, head = np.unravel_index(links.max(axis=-1).argmax(), links.shape[:2])
    return int(layer) + 1, int(head) + 1


def choose(view: View, heads: Heads, example: Example | None) -> Tokens:
    """Draw the choice of two tokens."""
    st.header("Which head links two tokens?", anchor=False)
    groups = views.groups(view)
    queries, keys = (tuple(option(group) for group in side) for side in groups)
    begin = queries[_begin(view, groups[0], example)]
    # The model and the text of the tokens: numbers of tokens depend on the text and the tokenizer.
    first = introduction(view.model)
    typed = TEXT.get(""), view.given.second, view.given.target
    source = (*typed, view.model if first.head is None else first)
    query_column, key_column = st.columns(2)
    with query_column:
        of = (*source, view.kind == "encoder")
        query = QUERY.draw("From (query)", (EVERY, *queries), begin, of)
    with key_column:
        of = (*source, view.kind != "decoder")
        key = KEY.draw("To (key)", (STRONGEST, *keys), STRONGEST, of)
    if query == EVERY:
        return Tokens(queries, keys, None)
    row = views.readable(view, heads.layer, [heads.head])[0, queries.index(query)]
    size = np.abs(row) if view.changed else row
    strongest = int(np.argmax(np.where(np.isfinite(row), size, -np.inf)))
    chosen = key != STRONGEST
    pair = Pair(queries.index(query), keys.index(key) if chosen else strongest, chosen)
    return Tokens(queries, keys, pair)


def draw(view: View, heads: Heads, tokens: Tokens) -> None:
    """Draw the ranking of all heads; a click opens a head."""
    if tokens.pair is None:
        st.markdown("Choose a query token to see which heads link it to another.")
        return
    query, key = tokens.pair.query, tokens.pair.key
    pair = tokens.name(tokens.pair)
    if None in _in_both(view, query, key):
        st.markdown(f"Only one of the two sentences has {pair}: there is nothing to compare.")
        return
    if not views.allowed(view)[:, query, key].any():
        st.markdown(f"The mask forbids {pair} in every head: {_why_forbidden(view, tokens.pair)}.")
        return
    ranked = _ranked(view, query, key)
    if view.changed is None:
        starred = any(number.endswith(_FAINT) for _, number in ranked)
        counts = "; rows with * are ranked by their weight before rescaling" if starred else ""
        st.markdown(f"Heads with the largest weight {pair}{counts}:")
    else:
        st.markdown(f"Heads whose weight {pair} **changes most** from the first sentence to the second:")
    names = {f"{name} · {number}": name for name, number in ranked[:_SHOWN]}
    buttons("Open a head", names, "ranking", _open, label_visibility="collapsed")
    place = [name for name, _ in ranked].index(heads.name) + 1
    st.markdown(
        f":small[The open head, {heads.name}, is number {place} of {len(ranked)}: {ranked[place - 1][1]}.]"
    )


def _why_forbidden(view: View, pair: Pair) -> str:
    queries, keys = views.groups(view)
    ahead = keys[pair.key].positions[0] > queries[pair.query].positions[-1]
    causal = view.kind == "decoder"
    return "no token attends to later ones" if ahead and causal else "the key is too far from the query"


def _ranked(view: View, query: int, key: int) -> list[tuple[str, str]]:
    """Every head's name and number, strongest first as pictures draw them; with * where the row is faint."""
    if view.changed is None:
        weights, left = _row(view, query)
        links = rank_links(faint(weights, left), 0, key)
        rows = [(link.layer, link.head, 0) for link in links]
        numbers = [percent(float(weights[(*row, key)])) + _FAINT * bool(left[row] < MIN_KEPT) for row in rows]
        return list(zip(map(_name, links), numbers, strict=True))
    places = [place or 0 for place in _in_both(view, query, key)]
    before, after = (
        views.shares(view, given)[:, :, at : at + 1, to : to + 1]
        for given, (at, to) in ((view.given, places[:2]), (view.changed, places[2:]))
    )
    return _moves(before, after, 0, 0)


def _row(view: View, query: int) -> tuple[Floats, Floats]:
    """One query's weights in all heads, [layer, head, 1, key], and what is left of them, [layer, head, 1]."""
    row = slice(query, query + 1)
    return views.shares(view, view.given)[:, :, row], views.left(view)[:, :, row]


def _in_both(view: View, query: int, key: int) -> list[int | None]:
    """The query and the key among the tokens of each of the view's readings; None where it has none."""
    return [
        place
        for given in (view.given, view.changed or view.given)
        for place in (
            views.own_place(view, given, query, "query"),
            views.own_place(view, given, key, "key"),
        )
    ]


def _moves(before: Floats, after: Floats, query: int, key: int) -> list[tuple[str, str]]:
    """Every head's name and change, largest first."""
    return [(_name(move), signed_percent(move.change)) for move in rank_changes(before, after, query, key)]


def _name(link: Link | LinkChange) -> str:
    return head_name(link.layer, link.head)


def _open(name: str) -> None:
    layer, head = name.split("-")
    open_heads(int(layer), [int(head)])


def _begin(view: View, groups: Sequence[DisplayToken], example: Example | None) -> int:
    """The token to begin with."""
    if view.kind == "encoder":
        return _token_in_question(groups, example, lookup.mask_token(view.model))
    if traces.trace(view.model, view.given).target is None:
        return _last_typed(view, groups)
    return _chooses_pronoun(groups)


def _last_typed(view: View, groups: Sequence[DisplayToken]) -> int:
    """The last token that the visitor typed: with what it has read, the model begins to write."""
    read = traces.trace(view.model, view.given)
    last = len(read.of_kind(view.kind)[0].query_tokens) - 1 - read.written
    return max((place for place, group in enumerate(groups) if group.positions[0] <= last), default=0)


def _token_in_question(groups: Sequence[DisplayToken], example: Example | None, mask: str | None) -> int:
    """What is masked, or the example's word, or a pronoun, or the last token that is a word."""
    # In a change a token that differs is called "are → is"; in a pair, its sentence is named.
    labels = [group.label.split(" → ")[0] for group in groups]
    for sign in SENTENCES:
        labels = [label.removesuffix(sign) for label in labels]
    for wanted in (mask, example.query if example else None, *PRONOUNS):
        if wanted in labels:
            return labels.index(wanted)
    words = [index for index, group in enumerate(groups) if not group.special and labels[index].isalnum()]
    return words[-1] if words else len(groups) - 1


def _chooses_pronoun(groups: Sequence[DisplayToken]) -> int:
    """The last French token after which "il" or "elle" was chosen; the first token if there is none."""
    following = [group.label.split(" → ")[0] for group in groups[1:]]
    return max((place for place, label in enumerate(following) if label in _FRENCH_PRONOUNS), default=0)
