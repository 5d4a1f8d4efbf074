"""The sections of “Where else does a head do this?”: a token, a text, and the nearest tokens of it."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from attnviz.app import controls, traces
from attnviz.app.folded import folded, section
from attnviz.app.heads import choosing
from attnviz.app.heads.behaviour import texts
from attnviz.app.heads.find import indexes, listed, words
from attnviz.app.heads.pronouns import listing
from attnviz.app.job_view import counted, show_job
from attnviz.app.server.cache import cached, named
from attnviz.app.state.choices import ALSO, FOUND_BY, INDEX, SOURCE
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.experiments import text_index
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.neighbours import Neighbour, Search
from attnviz.experiments.progress import Progress
from attnviz.experiments.sentences import self_attention
from attnviz.experiments.text_index import TextIndex
from attnviz.text import plural
from attnviz.trace import Block, Floats

_STATE = "Hidden state"
_BY = {"Query": "query", "Key": "key", "Head output": "output", "Pattern": "pattern", _STATE: "state"}
_INDEXED = "Index"
_SOURCES = (texts.BUNDLED, texts.PASTED, texts.UPLOADED)


@dataclass(frozen=True)
class TokenSelection(choosing.QueryInHead):
    """A token in a head and perhaps others of its layer, and by what others are found.

    Attributes:
        heads: from 0, the open one first.
        by: one of `neighbours.BY`.
    """

    heads: tuple[int, ...]
    by: str


def choose() -> tuple[TokenSelection, Corpus | TextIndex | None]:
    """Draw all choices; the text that is searched is None as long as the visitor has given none.

    Raises:
        AttnvizError: the model cannot read what stands in the box, or gives its weights alone; or the text is
            none, or too long, or an index that cannot be searched with it.
    """
    text, entry, (numbers, beside) = choosing.sentence_and_model(4, 3)
    given, kind = ModelInput(text), self_attention(entry)
    traces.need_vectors(traces.trace(entry.name, given))
    queries, keys = choosing.groups(entry, given, kind)
    with numbers:
        layer, head = choosing.head(entry, kind)
    with beside:
        query = controls.token(queries, given, "Token")
    others = [each for each in range(1, entry.heads + 1) if each != head + 1]  # of the same layer
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("Together with heads")
        also = ALSO.draw(
            "Together with heads", others, placeholder="none", label_visibility="collapsed", width=160
        )
        st.markdown("Alike by")
        tells_states = loading.load(entry.name).tells_states
        by = _BY[FOUND_BY.segments("Alike by", [way for way in _BY if way != _STATE or tells_states])]
        st.markdown("in the sentences")
        made = indexes.names()
        source = SOURCE.segments("Sentences", (*_SOURCES, _INDEXED) if made else _SOURCES)
        within: Corpus | TextIndex | None = None
        if source == _INDEXED:
            within = indexes.opened(INDEX.select("Index", made, label_visibility="collapsed"))
            text_index.check_model(within, entry)
        elif source == texts.BUNDLED:
            within = texts.corpus(source)
    heads = (head, *(each - 1 for each in sorted(also)))
    chosen = TokenSelection(entry, kind, layer, head, given, queries, keys, query, heads, by)
    return chosen, within or texts.corpus(source)


def find(chosen: TokenSelection, within: Corpus | TextIndex) -> None:
    """Draw the nearest tokens of the text, as far as it has been read."""
    if isinstance(within, TextIndex):
        _found(chosen, Progress(within.done, len(within.lines), within))
        return
    job, _ = listed.index_job(chosen, within)

    def draw(progress: Progress[TextIndex]) -> None:
        _found(chosen, progress)

    show_job(job, counted("Reading the sentences", "lines"), draw, key="find")


@cached(named)
def _with_states(name: str, text: str, layer: int) -> tuple[Block, Floats]:
    return text_index.block_of(name, text, layer)


def _found(chosen: TokenSelection, progress: Progress[TextIndex]) -> None:
    index = progress.found
    listed.tell_lines(index)
    place = chosen.queries[chosen.query].positions[0]
    given = chosen.given.text
    seen = (
        _with_states(chosen.entry.name, given, chosen.layer) if chosen.by == "state" else (chosen.block, None)
    )
    search = Search.of(index, seen, chosen.heads, place, chosen.by, given)
    neighbours = search.neighbours()
    if not neighbours:
        st.markdown("No other sentence has been read yet.")
        return
    if not progress.finished:
        st.markdown(f":small[These are of the {plural(index.done, 'line')} that have been read.]")
    common = search.common()
    st.markdown(words.summary(chosen, search, common, len(neighbours)))
    st.header(f"The {plural(len(neighbours), 'nearest token')}", anchor=False)

    def draw_one(neighbour: Neighbour) -> None:
        token = int(index.starts[neighbour.line]) + neighbour.place
        listed.draw(chosen, index, token, words.beside(neighbour, search))

    listing.draw("neighbours", neighbours, draw_one)
    folded(
        *([section("All that was asked of them", words.table, chosen, common)] if common else []),
        section("How they are found", words.method, search),
    )
