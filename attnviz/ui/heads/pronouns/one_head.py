"""How often one head is right, beside those who look at no weights."""

from __future__ import annotations

import streamlit as st

from attnviz.analysis.intervals import CONFIDENCE
from attnviz.capture.catalogue import Trained
from attnviz.heads import pronouns
from attnviz.heads.pronouns import Looks, Verdicts
from attnviz.translation.variants import VARIANTS
from attnviz.ui.heads.pronouns.choices import Chosen
from attnviz.ui.heads.pronouns.figures import HARDLY, fine, interval, luck, share


def draw(chosen: Chosen, found: Verdicts, looks: Looks) -> None:
    """Say what the open head does with the pairs."""
    scores = found.scores(looks)
    place = chosen.layer, chosen.head
    total = scores.total
    pairs, sentences, wrong, leans = (
        int(counts[place]) for counts in (scores.pairs, scores.sentences, scores.wrong, scores.leans)
    )
    nearest, _, coin = pronouns.baselines(found.pairs)
    turns = pairs + wrong
    st.header(f"Head {chosen.name}", anchor=False)
    st.markdown(
        f"It resolves **{pairs} of {total} pairs, {share(pairs, total)}** ({100 * CONFIDENCE:g} % interval "
        f"{interval(pairs, total)}). Always the nearest noun: {share(nearest.pairs, 1)}; a coin for each "
        f"sentence: {share(coin.pairs, 1)}. Sentence by sentence it is right in {sentences} of {2 * total}, "
        f"**{share(sentences, 2 * total)}** ({interval(sentences, 2 * total)}); the nearest noun in "
        f"{share(nearest.sentences, 1)}, a coin in {share(coin.sentences, 1)}."
    )
    stays = f"In {total - turns} pairs it prefers the same noun, whatever the sentence says."
    if turns:
        st.markdown(
            f"{stays} In {turns} it changes sides: **{pairs} times the right way**, {wrong} times the wrong "
            f"way; blindly, that would be half and half. {luck(scores, place)} It leans the right way in "
            f"{leans} pairs, {share(leans, total)} ({interval(leans, total)}); moved at random, in half."
        )
    else:
        st.markdown(stays)
    given = float(scores.given[place])
    whose = "The pronoun gives both nouns together" if looks == "pronoun" else "Each noun gives the pronoun"
    hardly = "; **it hardly looks there at all**" if given < HARDLY else ""
    st.markdown(f"{whose} {fine(given)} of its weight in this head, on average{hardly}.")
    if isinstance(chosen.entry.origin, Trained):
        variant = VARIANTS[chosen.entry.origin.file.stem]
        st.markdown(f"This translator was trained here. *{variant.title}*: {variant.told}")
    st.markdown(
        ":small[A weight says what was read, not why. Whether this head matters, the next page tries out.]"
    )
    _onward(chosen, found)


def _onward(chosen: Chosen, found: Verdicts) -> None:
    """The way to what the model does without this head, on the first pair's first sentence."""
    st.page_link(
        "pages/intervene.py",
        label=f"Silence head {chosen.name} and see what changes",
        icon=":material/volume_off:",
        query_params={
            "model": chosen.entry.name,
            "text": found.pairs[0].readings[0].text,
            "layer": str(chosen.layer + 1),
            "head": str(chosen.head + 1),
            "edits": f"{chosen.kind} {chosen.name}",
        },
    )
