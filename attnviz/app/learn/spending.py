"""Spend your own 100 %: a visitor's attention over the words, and then the head's beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import visible_text
from attnviz.analysis.distance import total_variation
from attnviz.analysis.sentence import names_of
from attnviz.app import markdown, traces
from attnviz.app.learn.choosing import HeadSelection
from attnviz.app.learn.computed import MODEL
from attnviz.app.models import lookup
from attnviz.app.state import link, memory
from attnviz.app.state.choices import SPENT
from attnviz.capture.model import ModelInput
from attnviz.text import percent
from attnviz.trace import Floats

MOST_WORDS = 30
WHOLE = 100
"""What there is to spend, in percent."""

_ABOUT = "the sentence and the token that were spent for"
_COMPARED = "what was spent, and what the head gave instead"


def draw(chosen: HeadSelection) -> None:
    """Draw a table in which each word is given a part; at 100 %, the head's own weights beside it."""
    model, given = lookup.entry(MODEL), ModelInput(chosen.text)
    (words, *_) = traces.shown(model, given, "encoder", True, False)
    groups, looker = words.groups, chosen.groups[chosen.query]
    at = next((place for place, group in enumerate(groups) if group.number == looker.number), None)
    if at is None or len(groups) > MOST_WORDS:
        st.info(
            "Choose a word that looks: [CLS] and [SEP] are left out here."
            if at is None
            else f"This sentence has {len(groups)} tokens. Shorten it to {MOST_WORDS}: each has a row."
        )
        return
    row = traces.weights(model, given, "encoder", True, False)[chosen.layer, chosen.head, at]
    spent = _spent((chosen.text, chosen.query), len(row))
    done = sum(spent) == WHOLE
    st.markdown(
        f"You are {chosen.name}. You have 100 %: give more to the words that matter more to you. "
        f"Then see what head {chosen.head_name} gives. ([CLS] and [SEP] are left out, the rest is rescaled.)"
    )
    head = f"head {chosen.head_name}, %"
    columns: dict[str, list[Any]] = {"token": [*map(visible_text, names_of(groups))], "you, %": spent}
    table = st.data_editor(
        columns | ({head: [100 * float(weight) for weight in row]} if done else {}),
        column_config={
            "you, %": st.column_config.NumberColumn(min_value=0, max_value=WHOLE, step=1, required=True),
            head: st.column_config.ProgressColumn(format="%.0f", min_value=0, max_value=WHOLE),
        },
        disabled=["token", head],
        hide_index=True,
        width="stretch",
        key="spend",
    )
    given_now = [int(share) for share in table["you, %"]]
    if sum(given_now) > WHOLE:
        st.warning(f"That is {sum(given_now)} % in all: {sum(given_now) - WHOLE} too many.")
    elif given_now != spent:
        _spend(given_now)
        st.rerun()
    if not done:
        st.markdown(f"{WHOLE - sum(spent)} % left; then the head's own weights come beside yours.")
    if done:
        mine = np.array(spent, np.float32) / np.float32(WHOLE)
        _compare((chosen.text, chosen.layer, chosen.head, chosen.query), mine, row)
        strongest = int(row.argmax())
        even = overlap(np.full_like(row, 1 / len(row)), row)
        st.markdown(
            f"**You and the head agree on {percent(overlap(mine, row))}** of the 100 %; "
            f"whoever gives every word the same agrees on {percent(even)}. The head gives most to "
            f"{markdown.token(strongest, groups)}, {percent(row[strongest])}.{_so_far()}"
        )


def overlap(one: Floats, other: Floats) -> float:
    """How much of two rows of shares is the same, Σ min(a, b): what their total variation leaves of 1.

    Args:
        one, other: [key], each sums to 1.
    """
    return 1 - float(total_variation(one, other))


def _so_far() -> str:
    """The mean over all sentences and heads of the visit, if there are several."""
    compared: dict[object, tuple[float, float]] = memory.get(_COMPARED, {})
    if len(compared) < 2:
        return ""
    yours, even = np.mean(list(compared.values()), axis=0)
    return (
        f" Over your {len(compared)} first tries so far, that is {percent(yours)} on average, "
        f"against {percent(even)}."
    )


def _compare(about: object, spent: Floats, row: Floats) -> None:
    """Remember the first try of each row: after that one has seen the answer."""
    even = np.full(len(row), 1 / len(row))
    memory.put(_COMPARED, {about: (overlap(spent, row), overlap(even, row)), **memory.get(_COMPARED, {})})


def _spent(about: object, words: int) -> list[int]:
    """What was given to each word, in percent; of another sentence or token, nothing."""
    if memory.get(_ABOUT, about) != about:
        _spend([0] * words)
    memory.put(_ABOUT, about)
    said = link.said(SPENT)
    try:
        spent = [int(share) for share in said.split("-")]
    except ValueError:
        spent = []
    if len(spent) != words or min(spent) < 0 or sum(spent) > WHOLE:
        if said:
            _spend([0] * words)
        return [0] * words
    return spent


def _spend(spent: list[int]) -> None:
    link.choose(SPENT, "-".join(map(str, spent)))
