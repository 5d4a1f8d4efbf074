"""Overview of all heads: a thumbnail for each head, and filters that find heads by behaviour."""

from __future__ import annotations

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.behaviour import Behaviour
from attnviz.app import markdown, traces
from attnviz.app.components.atlas import atlas
from attnviz.app.examples import Example
from attnviz.app.explore import linking, views
from attnviz.app.explore.choices import Heads, choose_heads, open_heads
from attnviz.app.explore.linking import Tokens
from attnviz.app.explore.one_head import explanation
from attnviz.app.explore.published import PublishedArrays
from attnviz.app.explore.views import View
from attnviz.app.state.choices import FILTER
from attnviz.text import head_name, layers_by_kind

_MAX_LISTED = 3  # maximum number of heads listed below a filter


def choose(view: View, example: Example | None) -> tuple[Heads, DeltaGenerator]:
    """Draw the title, the filters and the selects for heads; return the heads and the atlas placeholder."""
    names = [behaviour.name for behaviour in _behaviours(view)]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(
            f"All {len(view.model.numbers_of(view.kind)) * view.model.heads} heads",
            anchor=False,
            width="stretch",
            help="Each small picture shows one head’s attention: rows are query tokens, columns key tokens.",
        )
        if not names:
            FILTER.forget()  # the filter belongs to another kind of attention
        else:
            with st.popover("Filter"):
                FILTER.optional_pills("Attention pattern", names)
        chosen = choose_heads(view, lambda: linking.clearest(view, example))
    return chosen, st.container()


def draw(view: View, heads: Heads, tokens: Tokens, arrays: PublishedArrays) -> None:
    """Draw the rule of the chosen filter, and the atlas."""
    layers, heads_total = views.values(view).shape[:2]
    facts = views.facts(view)
    dimmed: list[int] = []
    behaviour = _selected_filter(view)
    if behaviour is not None:
        dimmed = np.flatnonzero(~behaviour.found.ravel()).tolist()
        facts = _with_scores(view, facts, behaviour)
        _explain(view, behaviour)
    atlas(
        "atlas",
        pixels=arrays.pixels,
        layers=layers,
        heads=heads_total,
        selected={"layer": heads.layer, "heads": heads.all},
        dim=dimmed,
        facts=facts,
        kind=views.drawn(view).kind,
        omitted=f"{view.stage}; {explanation(view)}",
        on_pick=lambda layer, head: open_heads(layer, [head]),
        on_tokens=tokens.choose,
    )
    if view.model.without_weights:
        others = layers_by_kind(dict(view.model.without_weights))
        st.markdown(f":small[No attention weights in {others}.]")


def _selected_filter(view: View) -> Behaviour | None:
    """Return the selected filter, or None."""
    for behaviour in _behaviours(view):
        if behaviour.name == FILTER.get(None):
            return behaviour
    return None


def _explain(view: View, behaviour: Behaviour) -> None:
    """Show the rule, the number of heads that follow it, and the heads with the highest scores."""
    heads, described = behaviour.score.shape[1], behaviour.formatted_scores()
    found = f"**{behaviour.found.sum()} of {len(view.model.numbers_of(view.kind)) * heads} heads.**"
    # The rule can contain special tokens, and these can contain Markdown characters.
    rule = markdown.plain(behaviour.sentence)
    order = np.argsort(-behaviour.score.ravel(), kind="stable").tolist()
    first = [f"**{head_name(*divmod(at, heads))}** {described[at]}" for at in order[:_MAX_LISTED]]
    st.markdown(f":small[{found} {rule} Highest: {'; '.join(first)}.{_note(view, behaviour)}]")


def _with_scores(view: View, facts: tuple[str, ...], behaviour: Behaviour) -> tuple[str, ...]:
    """Append each head's score to its fact: "on average attends to itself (61 %); broad: 9 %"."""
    where = "" if view.changed is None else " in the first sentence"
    return tuple(
        f"{fact}; {behaviour.name}: {described}{where}"
        for fact, described in zip(facts, behaviour.formatted_scores(), strict=True)
    )


def _note(view: View, behaviour: Behaviour) -> str:
    """Return notes on how to read the filter's result."""
    notes = []
    if view.changed is not None:
        notes.append("Scores are for the first sentence.")
    if not view.hide and behaviour.rule.words:
        notes.append("Turn on *Hide special tokens* to see the pattern clearly.")
    return " ".join(["", *notes])


def _behaviours(view: View) -> tuple[Behaviour, ...]:
    return traces.head_behaviours(view.model, view.given, view.kind, view.merge)
