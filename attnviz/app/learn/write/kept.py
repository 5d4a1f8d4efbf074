"""Why writing needs no mask, and what need not be computed again for each word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from attnviz.app import markdown
from attnviz.app.components.curves import Axis, Line, curves
from attnviz.app.learn.computed import storytold
from attnviz.app.learn.computed import write as compute
from attnviz.models import catalogue
from attnviz.text import in_bytes, percent, plural, rounded_count, scientific

if TYPE_CHECKING:
    from attnviz.app.learn.write.sections import Story

_read = storytold(compute.read)
_costs = storytold(compute.costs)

_ROWS = 8  # of a table
_BYTES = 4  # of a number in float32


def mask(story: Story) -> None:
    """Draw what is expected with a mask, without one word by word, and without one all at once."""
    ids = tuple(token.id for token in story.trace.blocks[0].query_tokens)
    found = _read(ids, model=story.model)
    at = min(story.row, len(ids) - 2)
    first = max(0, min(at - _ROWS // 2, len(ids) - 1 - _ROWS))
    shown = range(first, min(first + _ROWS, len(ids) - 1))
    told, drawn = st.columns([5, 7], gap="large")
    shares = [percent(float(each[at]), 1) for each in (found.at_once, found.unmasked)]
    told.markdown(
        "**Training** shows a whole story at once, and every place is to predict the word after it. The "
        "causal mask keeps it from reading its answer there.\n\n"
        "**Writing** has nothing to hide: later words are not there yet. So a word's row is the same with "
        f"and without them. Here weights differ by at most {scientific(found.weights_differ)} and "
        f"probabilities by at most {scientific(found.probabilities_differ)}, which is rounding.\n\n"
        f"**Without the mask and all at once**, {story.name(at)} also reads what follows, as it never did in "
        f"training: {story.name(at + 1)} goes from {shares[0]} to {shares[1]}."
    )
    ways = found.at_once, found.one_by_one, found.unmasked
    words = [markdown.code(label) for label in story.tokens.labels]
    rows = [
        f"| {words[place + 1]} | {' | '.join(percent(float(way[place]), 1) for way in ways)} |"
        for place in shown
    ]
    head = "| comes next | masked | word by word | no mask |"
    drawn.markdown("\n".join([head, "|:--|--:|--:|--:|", *rows]))
    st.page_link("pages/masks.py", label="Who may look at whom?", icon=":material/arrow_back:")


def cache(story: Story) -> None:
    """Draw how many rows are computed for each word, with and without kept keys and values."""
    entry, count = catalogue.entry(story.model), story.trace.written
    numbers = 2 * entry.decoder_layers * entry.d_model
    st.markdown(
        "What later rows read of a word is its :red[key] and its :green[value] in each layer: they are kept, "
        f"in the **key–value cache**, and need not be computed again. With {entry.decoder_layers} layers and "
        f"vectors of {entry.d_model} numbers, that is {numbers:,} numbers a token, and "
        f"{in_bytes(_BYTES * numbers * len(story.tokens))} for these {len(story.tokens)} tokens."
    )
    if not count:
        st.markdown("Write a word, and a chart counts what it took.")
        return
    end = story.begin + count
    rows = [sum(range(story.begin, end)), end - 1]
    nothing, kept = (np.array(products) for products in _costs(story.begin, count, model=story.model))
    told = (
        f"For {plural(count, 'word')}, with nothing kept: **{rows[0]:,} rows**, "
        f"{rounded_count(nothing.sum())} multiplications. With keys and values kept: **{rows[1]:,} rows**, "
        f"{rounded_count(kept.sum())} multiplications, {percent(kept.sum() / nothing.sum())} of it. "
        "In either way only the last row is counted as compared with all words: writing needs no other."
    )
    st.markdown(told)
    words = range(1, count + 1)
    curves(
        "key-value-cache",
        [
            Line("nothing kept", words, nothing / 1000, marker="ring", colour="muted", dash="dash"),
            Line("keys and values kept", words, kept / 1000, marker="circle"),
        ],
        title="What each word takes",
        across=Axis("word that is written", at="word {x}"),
        up=Axis("thousand multiplications", zero=True, digits=0),
        marked=story.word + 1 if story.word < count else None,
        alt=told.replace("*", ""),
    )
