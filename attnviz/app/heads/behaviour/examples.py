"""The tokens of many sentences at which the open head does most, each on its way to Explore."""

from __future__ import annotations

import streamlit as st

from attnviz.app.heads.behaviour.choices import RuledHead
from attnviz.app.heads.find import listed
from attnviz.app.heads.pronouns import listing
from attnviz.app.job_view import counted, show_job
from attnviz.app.state.choices import STRONGEST
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.strongest import strongest
from attnviz.text import decimal, percent, plural

_SHARPEST, _LONGEST = "Sharpest attention", "Strongest contribution"


def draw(chosen: RuledHead, corpus: Corpus) -> None:
    """Draw the examples, once the text has been read for them."""
    by_weight = STRONGEST.segments("Examples by", (_SHARPEST, _LONGEST)) == _SHARPEST
    job, _ = listed.index_job(chosen, corpus)
    start = f"Look through {plural(corpus.lines, 'sentence')}"
    progress = show_job(job, counted("Reading the sentences", "lines"), key="strongest", start=start)
    if not progress or not progress.done:
        return
    index = progress.found
    projection = None if by_weight else listed.block(chosen, index).projection
    if projection is None and not by_weight:
        st.info("How this model's heads write into its vectors is not known.", icon=":material/info:")
        return
    found = strongest(
        index, chosen.layer, chosen.head, None if projection is None else projection[chosen.head]
    )
    if by_weight:
        st.markdown(
            f"The tokens that give one token, but no special one, the largest weight in head {chosen.name}; "
            "one of each sentence. Half of all tokens give no such token more than "
            f"**{percent(found.median)}**."
        )
    else:
        st.markdown(
            f"The tokens to whose vector head {chosen.name} adds the longest one, one of each sentence "
            f"(Kobayashi et al. 2020). The median length is **{decimal(found.median)}**."
        )

    def draw_one(place: int) -> None:
        told = "" if by_weight else f"; it adds a vector of length **{decimal(found.values[place])}**"
        listed.draw(chosen, index, found.tokens[place], told)

    listing.draw("strongest", range(len(found.tokens)), draw_one)
    st.markdown(":small[Extreme examples show where a head acts; they do not prove what it is for.]")
