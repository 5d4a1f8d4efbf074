"""The page Find: the tokens with the most similar vectors in a head, as a list and as a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.app import controls, markdown, traces
from attnviz.app.heads import choosing, texts
from attnviz.app.heads.find import listed
from attnviz.app.job_view import progress_text, show_job
from attnviz.app.saving import file_name_of, with_sentence
from attnviz.app.state.choices import COUNT, SOURCE, VECTOR
from attnviz.capture.model import ModelInput
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.neighbours import MAX_REASONS, Neighbour, TextVectors, Vector, vector_of
from attnviz.experiments.sentences import self_attention
from attnviz.text import plural
from attnviz.trace import Floats

MAX_SENTENCES = 2_000
"""Maximum number of lines of a text; the library and the command line have no maximum."""

_COUNTS = (10, 20, 50)
_PLURAL: dict[Vector, str] = {"query": "queries", "key": "keys", "output": "outputs"}


@dataclass(frozen=True)
class TokenSelection(choosing.QueryInHead):
    """A token in a head, and the search settings.

    Attributes:
        vector: Kind of vector to compare.
        count: Number of tokens to list.
    """

    vector: Vector
    count: int

    @property
    def vector_plural(self) -> str:
        """Plural of the compared vector: "queries"."""
        return _PLURAL[self.vector]


def choose() -> tuple[TokenSelection, Corpus | None]:
    """Draw all controls; the corpus is None until the visitor enters a text.

    Raises:
        AttnvizError: the model cannot read the sentence, or has no vectors; or the text is too long.
    """
    text, entry, (numbers, beside) = choosing.sentence_and_model(4, 3)
    given, kind = ModelInput(text), self_attention(entry)
    traces.need_vectors(entry, given)
    queries, keys = choosing.groups(entry, given, kind)
    with numbers:
        layer, head = choosing.head(entry, kind)
    with beside:
        query = controls.token(queries, given, "Token")
    with st.container(horizontal=True, vertical_alignment="center"):
        with _one_line():
            st.markdown("Compared vector")
            vector = VECTOR.segments("Vector", get_args(Vector))
        with _one_line():
            st.markdown("Results")
            count = COUNT.segments("Number of results", _COUNTS)
        with _one_line():
            st.markdown("Sentences")
            source = SOURCE.segments("Sentences", (texts.BUNDLED, texts.PASTED))
        corpus = texts.corpus(source, max_lines=MAX_SENTENCES) if source == texts.BUNDLED else None
    if source == texts.PASTED:
        corpus = texts.corpus(source, max_lines=MAX_SENTENCES)
    return TokenSelection(entry, kind, layer, head, given, queries, keys, query, vector, count), corpus


def _one_line() -> DeltaGenerator:
    """Return a container that keeps a control and its label on one line."""
    return st.container(horizontal=True, vertical_alignment="center", width="content")


def show(chosen: TokenSelection, corpus: Corpus) -> None:
    """Draw the most similar tokens as a list, and as a map beside it, once the text is read."""
    job = listed.vectors_job(chosen, corpus)
    progress = show_job(job, progress_text("Reading the sentences", "lines"), key="find")
    if not progress or not progress.found:
        return
    text = progress.found
    texts.show_skipped(
        len(text.skipped), [markdown.plain(each.reason) for each in text.skipped[:MAX_REASONS]]
    )
    place = chosen.queries[chosen.query].positions[0]
    vector = vector_of(chosen.block, chosen.head, chosen.vector, place)
    results = text.nearest(chosen.head, chosen.vector, vector, chosen.count, chosen.given.text)
    if not results:
        st.info("The text has only the sentence above. Enter other sentences.", icon=":material/edit:")
        return
    left, right = st.columns([5, 7], gap="medium")
    with left:
        st.header(f"Most similar {chosen.vector_plural}", anchor=False)
        for _, found in results:
            with st.container(border=True, gap="xxsmall"):
                listed.draw(chosen, found, chosen.vector)
    with right:
        _map(chosen, text, results, vector)


def _map(
    chosen: TokenSelection, text: TextVectors, results: Sequence[tuple[int, Neighbour]], vector: Floats
) -> None:
    """Draw a map of the text's vectors, with their first two principal components as axes."""
    # Imported on demand: importing Plotly takes a second.
    from attnviz.export.heatmap import config
    from attnviz.export.vector_map import MapToken, vector_map

    tokens = [MapToken(sentence.labels[place], sentence.text) for sentence, place in text.tokens]
    found, similarities = zip(*((token, near.similarity) for token, near in results), strict=True)
    label = chosen.queries[chosen.query].label
    figure = vector_map(
        text.vectors(chosen.head, chosen.vector), tokens, found, similarities, vector, label, chosen.vector
    )
    first, second = (figure.layout[axis].title.text for axis in ("xaxis", "yaxis"))
    description = f"{len(tokens):,} {chosen.vector_plural} of head {chosen.name}"
    st.plotly_chart(
        figure,
        theme="streamlit",
        config=config(
            with_sentence(f"{file_name_of(chosen.entry.name)}-head{chosen.name}-{chosen.vector}-map")
        ),
        alt=f"Map of {description} by principal components: {first} across, {second} up.",
        key="map",
    )
    st.markdown(
        f"The {description} in {plural(len(text.sentences), 'sentence')}, projected onto their first two "
        "principal components (Pearson 1901). Similarity in the list is the cosine of the full vectors "
        "(Hoover et al. 2020), so tokens that are close on the map need not be similar. “Attends most to” "
        "excludes special tokens. Hover over a token to read its sentence."
    )
