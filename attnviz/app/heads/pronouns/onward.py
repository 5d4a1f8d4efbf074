"""From a sentence to what a head does with it: to Explore, and to what the model does without that head."""

from __future__ import annotations

import streamlit as st

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.analysis.words import Span, positions
from attnviz.app.heads.choosing import HeadSelection
from attnviz.app.state.choice import option
from attnviz.app.state.choices import EDITS, HEAD, KIND, LAYER, MODEL, OTHER, QUERY, TEXT
from attnviz.capture import loading
from attnviz.experiments.pairs import Pair, SentenceOfPair


def pair(chosen: HeadSelection, opened: Pair, read: SentenceOfPair, label: str) -> None:
    """Draw the ways onward from a pair: to Explore, and to one of its sentences, read without the head."""
    first, second = opened.readings
    explore(chosen, first.text, first.pronoun, label, second.text)
    silence(chosen, read.text, read.pronoun, f"Silence head {chosen.name} here")


def explore(chosen: HeadSelection, text: str, looks: Span, label: str, other: str = "") -> None:
    """Draw the way to Explore, where the head is open and the word that looks is followed.

    `other` is the sentence that this one is compared with, if any.
    """
    _explore(label, {**_along(chosen, text, looks), **({OTHER.name: other} if other else {})})


def explore_token(chosen: HeadSelection, text: str, place: int, label: str) -> None:
    """Draw the way to Explore, where the head is open and the token at this place, from 0, is followed."""
    _explore(label, _at(chosen, text, place))


def silence(chosen: HeadSelection, text: str, looks: Span, label: str) -> None:
    """Draw the way to the same sentence, read without the head."""
    st.page_link(
        "pages/intervene.py",
        label=label,
        icon=":material/volume_off:",
        query_params={**_along(chosen, text, looks), EDITS.name: f"{chosen.kind} {chosen.name}"},
    )


def _along(chosen: HeadSelection, text: str, looks: Span) -> dict[str, str]:
    """The model, the sentence, the head and the word, as links write them; the word is "11 it"."""
    return _at(chosen, text, positions(loading.tokens(chosen.entry.name, text), looks)[0])


def _at(chosen: HeadSelection, text: str, place: int) -> dict[str, str]:
    """The same for the token at a place, from 0."""
    shown = DisplayTokens(loading.tokens(chosen.entry.name, text), text)
    index = shown.index_of(place)
    assert index is not None  # noqa: S101 - nothing is hidden; for the type checker
    return {
        MODEL.name: chosen.entry.name,
        TEXT.name: text,
        **({KIND.name: chosen.kind} if len(chosen.entry.kinds) > 1 else {}),
        LAYER.name: str(chosen.layer + 1),
        HEAD.name: str(chosen.head + 1),
        QUERY.name: option(shown.groups[index]),
    }


def _explore(label: str, along: dict[str, str]) -> None:
    st.page_link("pages/explore.py", label=label, icon=":material/grid_view:", query_params=along)
