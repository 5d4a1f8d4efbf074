"""The tokens of many sentences at which the open head does most, each on its way to Explore."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from attnviz.app.heads.behaviour.choices import RuledHead
from attnviz.app.heads.find import listed
from attnviz.app.heads.intervene.written import angle
from attnviz.app.heads.pronouns import listing
from attnviz.app.job_view import counted, show_job
from attnviz.app.models import lookup
from attnviz.app.references import cited_markdown
from attnviz.app.server.jobs import JOBS
from attnviz.app.state.choices import STRONGEST
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.progress import Progress
from attnviz.experiments.strongest import change, contribution, sharpness, strongest
from attnviz.experiments.text_index import TextIndex
from attnviz.interventions.edit import Edit
from attnviz.text import decimal, percent, plural
from attnviz.trace import Floats

_SHARPEST, _LONGEST, _TURNED = "Sharpest attention", "Strongest contribution", "Largest change when silenced"
_BESIDE = {
    _SHARPEST: "",
    _LONGEST: "; it adds a vector of length **{}**",
    _TURNED: "; without the head, the output turns by **{}**",
}


def draw(chosen: RuledHead, corpus: Corpus) -> None:
    """Draw the examples, once the text has been read for them."""
    by = STRONGEST.segments("Examples by", tuple(_BESIDE))
    job, _ = listed.index_job(chosen, corpus)
    start = f"Look through {plural(corpus.lines, 'sentence')}"
    progress = show_job(job, counted("Reading the sentences", "lines"), key="strongest", start=start)
    if not progress or not progress.done:
        return
    index, where = progress.found, (chosen.layer, chosen.head)
    written: Callable[[float], str]
    if by == _SHARPEST:
        values, written = sharpness(index, *where), percent
        told = f"give one token, but no special one, the largest weight in head {chosen.name}"
    elif by == _LONGEST:
        projection = listed.block(chosen, index).projection
        if projection is None:
            st.info("How this model's heads write into its vectors is not known.", icon=":material/info:")
            return
        values, written = contribution(index, *where, projection[chosen.head]), decimal
        told = f"get the longest vector from head {chosen.name} (Kobayashi et al. 2020)"
    else:
        silenced = _silenced(chosen, corpus, index)
        if not silenced or not silenced.done:
            return
        values, written = silenced.found, angle
        told = f"have the output of the model that turns furthest if head {chosen.name} is silent"
        if silenced.done < index.done:
            told += f", in the first {plural(silenced.done, 'line')}"
    found = strongest(index, values)
    cited_markdown(
        f"The tokens that {told}; one of each sentence. The median of all tokens is "
        f"**{written(found.median)}**."
    )

    def draw_one(place: int) -> None:
        listed.draw(chosen, index, found.tokens[place], _BESIDE[by].format(written(found.values[place])))

    listing.draw("strongest", range(len(found.tokens)), draw_one)
    st.markdown(":small[Extreme examples show where a head acts; they do not prove what it is for.]")


def _silenced(chosen: RuledHead, corpus: Corpus, index: TextIndex) -> Progress[Floats] | None:
    """Draw how far the text has been read without the head; None while it is being read."""
    edit = Edit(chosen.kind, chosen.layer, chosen.head)
    name = chosen.entry.name
    key = "silenced", name, lookup.fingerprint(name), corpus.key, str(edit), index.done
    job = JOBS.find(key, lambda: change(index, edit))
    return show_job(job, counted(f"Silencing head {chosen.name}", "lines"), key="silenced")
