"""How often one head is right, beside those who look at no weights."""

from __future__ import annotations

import streamlit as st

from attnviz.analysis.intervals import CONFIDENCE
from attnviz.app.heads.choosing import HeadSelection
from attnviz.app.heads.pronouns.figures import few, fine, interval, luck, share
from attnviz.app.heads.pronouns.headline import HARDLY
from attnviz.experiments import coreference
from attnviz.experiments.coreference import Looks, Verdicts
from attnviz.text import plural


def draw(chosen: HeadSelection, found: Verdicts, looks: Looks) -> None:
    """Say what the open head does with the pairs."""
    scores = found.scores(looks)
    place = chosen.layer, chosen.head
    total = scores.total
    pairs, sentences, wrong, leans = (
        int(counts[place]) for counts in (scores.pairs, scores.sentences, scores.wrong, scores.leans)
    )
    nearest, _, coin = coreference.baselines(found.pairs)
    turns = pairs + wrong
    st.markdown(
        f"Head {chosen.name} resolves {_of_pairs(pairs, total)} ({100 * CONFIDENCE:g} % interval "
        f"{interval(pairs, total)}). Always the nearest noun: {share(nearest.pairs, 1)}; a coin for each "
        f"sentence: {share(coin.pairs, 1)}. Sentence by sentence it is right in {sentences} of {2 * total}"
        f"{_share_of_many(sentences, total, 2)}; the nearest noun in "
        f"{share(nearest.sentences, 1)}, a coin in {share(coin.sentences, 1)}."
    )
    still = plural(total - turns, "pair") if total > turns else "no pair"
    stays = f"In {still} it prefers the same noun, whatever the sentence says."
    bold = "" if few(total) else "**"
    if turns:
        st.markdown(
            f"{stays} In {turns} it changes sides: {bold}{plural(pairs, 'time')} the right way{bold}, "
            f"{wrong or 'never'} the wrong way; blindly, that would be half and half. "
            f"{luck(scores, place)} It leans the right way in "
            f"{plural(leans, 'pair')}{_share_of_many(leans, total)}; moved at random, in half."
        )
    else:
        st.markdown(stays)
    given = float(scores.given[place])
    whose = "The pronoun gives both nouns together" if looks == "pronoun" else "Each noun gives the pronoun"
    hardly = "; **it hardly looks there at all**" if given < HARDLY else ""
    st.markdown(f"{whose} {fine(given)} of its weight in this head, on average{hardly}.")
    st.markdown(
        ":small[A weight says what was read, not why. Whether this head matters, *Intervene* tries out.]"
    )


def _of_pairs(right: int, total: int) -> str:
    """How many pairs, and their share; of few, no share and no bold letters."""
    if few(total):
        return f"{right} of only {plural(total, 'pair')}"
    return f"**{right} of {total} pairs, {share(right, total)}**"


def _share_of_many(right: int, pairs: int, each: int = 1) -> str:
    """The share of what each pair has so often, with its interval; of few pairs, nothing."""
    total = pairs * each
    return "" if few(pairs) else f", **{share(right, total)}** ({interval(right, total)})"
