"""A token of an indexed text, in its sentence: where it looks, and the way to it on Explore."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import streamlit as st

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.analysis.words import Span
from attnviz.app import markdown, traces
from attnviz.app.heads.behaviour import texts
from attnviz.app.heads.choosing import HeadSelection
from attnviz.app.heads.pronouns import onward
from attnviz.app.heads.pronouns.figures import marked
from attnviz.app.models import lookup
from attnviz.app.server.cache import cached, named
from attnviz.app.server.jobs import JOBS, Job
from attnviz.app.unfamiliar import unfamiliar
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.experiments import text_index
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.text_index import TextIndex
from attnviz.text import percent, plural
from attnviz.trace import Block

MOST_BYTES = 2**26
"""How much the index of a text takes at most, of the heads of one layer: 67 MB."""

_MOST_TOLD = 50  # lines that could not be read, of which it is said why
_LOOKED_THROUGH = 100  # lines, for words that the model hardly knows
_READ, _LOOKS = ":red-background[", ":blue-background["


def index_job(chosen: HeadSelection, corpus: Corpus) -> tuple[Job[TextIndex], tuple[str, ...]]:
    """The index of a text for all heads of the open layer, the same for all pages, and its key."""
    name, layer = chosen.entry.name, chosen.layer
    key = "find", name, lookup.fingerprint(name), corpus.key, str(layer)
    return JOBS.find(key, lambda: text_index.index(corpus, name, layers=[layer], most_bytes=MOST_BYTES)), key


def tell_lines(index: TextIndex) -> None:
    """Draw which lines could not be read, and whether the others are in a language that the model knows."""
    texts.tell_unread(len(index.skipped), [markdown.plain(each.why) for each in index.skipped[:_MOST_TOLD]])
    some = index.lines[:: -(-len(index.lines) // _LOOKED_THROUGH)]
    if note := _unfamiliar(index.key.model, some):
        st.warning(note, icon=":material/explore_off:")


@cached(named)
def _unfamiliar(model: str, lines: Sequence[str]) -> str:
    tokens = (DisplayTokens(loading.tokens(model, line), line).groups for line in lines)
    return unfamiliar(model, chain.from_iterable(tokens), f"in {plural(len(lines), 'line')} of this text")


def block(chosen: HeadSelection, index: TextIndex) -> Block:
    """The open layer's attention in the first line of the text."""
    return traces.trace(chosen.entry.name, ModelInput(index.lines[0])).block(chosen.kind, chosen.layer)


def draw(chosen: HeadSelection, index: TextIndex, token: int, told: str = "", *, key: bool = False) -> None:
    """Draw a token of the index in its sentence, with what it looks at most, and the way to Explore.

    Args:
        chosen: the head.
        index: has the head's layer.
        token: which of its tokens, from 0.
        told: what else is said of it, in Markdown.
        key: whether it is told of as one that is looked at.
    """
    at = index.layer(chosen.layer), chosen.head
    line, place = index.line_of(token)
    read, text = int(index.reads[at][token]), index.lines[line]
    tokens = loading.tokens(chosen.entry.name, text)
    groups = DisplayTokens(tokens, text).groups
    marks = {place: _READ} if key else {read: _READ, place: _LOOKS}
    spans = [(Span(tokens[of].start, tokens[of].end), sign) for of, sign in marks.items()]
    st.markdown(marked(text, [each for each in spans if each[0].start < each[0].end]))
    looks, looked_at = (markdown.token(of, groups) for of in (place, read))
    weight, to_special = (float(of[at][token]) for of in (index.weight, index.to_special))
    rest = f", {percent(to_special)} at special tokens" if to_special >= 0.005 else ""
    says = f"key of {looks}" if key else f"{looks} looks at {looked_at} **{percent(weight)}**{rest}"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":small[{says}{told}]")
        onward.explore_token(chosen, text, place, "Open on Explore")
