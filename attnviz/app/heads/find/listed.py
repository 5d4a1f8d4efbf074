"""A found token in its sentence, with the token that it attends to most and a link to Explore."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.analysis.words import Span
from attnviz.app import markdown
from attnviz.app.heads.choosing import HeadSelection
from attnviz.app.server.jobs import JOBS, Job
from attnviz.app.state.choice import option
from attnviz.app.state.choices import HEAD, KIND, LAYER, MODEL, QUERY, TEXT
from attnviz.capture import loading
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.neighbours import Neighbour, TextVectors, Vector, read_corpus
from attnviz.text import decimal, percent

MAX_BYTES = 2**27
"""Maximum size of the vectors of one text in all heads of a layer: 134 MB."""

_MARKS: dict[Vector, str] = {
    "query": ":blue-background[",
    "key": ":red-background[",
    "output": ":green-background[",
}


def vectors_job(chosen: HeadSelection, corpus: Corpus) -> Job[TextVectors | None]:
    """Return the job that computes a text's vectors in all heads of the selected layer."""
    name, layer = chosen.entry.name, chosen.layer
    key = "vectors", chosen.entry, corpus.key, str(layer)
    return JOBS.find(key, lambda: read_corpus(corpus, name, layer, MAX_BYTES))


def draw(chosen: HeadSelection, found: Neighbour, vector: Vector) -> None:
    """Draw a token in its sentence, with its largest weight and a link to Explore.

    Args:
        chosen: The head.
        found: The token.
        vector: Kind of vector, which sets the token's colour. For a key, the token that `found` attends to
            is not marked.
    """
    tokens = loading.tokens(chosen.entry.name, found.sentence)
    groups = DisplayTokens(tokens, found.sentence).groups
    marks = {} if vector == "key" else {found.attends_to: _MARKS["key"]}
    marks[found.place] = _MARKS[vector]
    spans = [(Span(tokens[place].start, tokens[place].end), sign) for place, sign in marks.items()]
    st.markdown(_marked(found.sentence, [each for each in spans if each[0].start < each[0].end]))
    query, key = (markdown.token(place, groups) for place in (found.place, found.attends_to))
    parameters = {
        MODEL.name: chosen.entry.name,
        TEXT.name: found.sentence,
        **({KIND.name: chosen.kind} if len(chosen.entry.kinds) > 1 else {}),
        LAYER.name: str(chosen.layer + 1),
        HEAD.name: str(chosen.head + 1),
        QUERY.name: option(groups[found.place]),
    }
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f":small[{query} attends most to {key} (**{percent(found.weight)}**); similarity "
            f"**{decimal(found.similarity)}**]"
        )
        st.page_link(
            "pages/explore.py", label="Open in Explore", icon=":material/grid_view:", query_params=parameters
        )


def _marked(text: str, marks: Sequence[tuple[Span, str]]) -> str:
    """Return a sentence as Markdown, with marks such as "**" or the directive ":red[" around some words."""
    written, begin = "", 0
    for span, sign in sorted(marks):
        written += markdown.plain(text[begin : span.start])
        word = text[span.start : span.end].strip()
        written += f"{sign}{markdown.plain(word)}{']' if sign.endswith('[') else sign}" if word else ""
        begin = span.end
    return written + markdown.plain(text[begin:])
