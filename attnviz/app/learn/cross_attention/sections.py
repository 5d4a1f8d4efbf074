"""The page on cross-attention: the tokens of one text read those of another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from attnviz.analysis.arithmetic import why
from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.analysis.sentence import looks, names_of, to_guess_from
from attnviz.app import controls, markdown
from attnviz.app.components.arithmetic import arithmetic
from attnviz.app.explore.why import message
from attnviz.app.learn import choosing
from attnviz.app.learn.computed import MODEL, computed
from attnviz.app.learn.computed import cross_attention as compute
from attnviz.app.learn.lesson import guess
from attnviz.app.state.choices import CROSS_KEY, CROSS_QUERY, CROSS_READS, CROSS_VECTORS, CROSS_VIEW, READER
from attnviz.app.weights_picture import shown_tokens, weights_picture
from attnviz.models import catalogue
from attnviz.text import isolated, percent
from attnviz.trace import Block, Floats

_cross = computed(compute.cross)

OPENING_READER = "A hound was too tired to walk over the street."
LAYERS = catalogue.entry(MODEL).layers
ACROSS, ITSELF = "reads the other text", "reads itself"
MATRIX, LINES = "Matrix", "Lines"
_LISTED = 3  # tokens named in a sentence, and terms of a sum that are written out


@dataclass(frozen=True, eq=False)
class CrossSelection:
    """One text reading another, and the reader token that is pointed at.

    Attributes:
        reader, source: the text whose tokens look, and the one that is looked at.
        layer: after how many layers of the model the vectors are taken.
        block: the numbers, as those of one head.
        readers, sources: the tokens as they are shown.
        at: the chosen reader token, from 0.
    """

    reader: str
    source: str
    layer: int
    block: Block
    readers: DisplayTokens
    sources: DisplayTokens
    at: int

    @property
    def name(self) -> str:
        """The chosen reader token, as Markdown."""
        return markdown.token(self.at, self.readers.groups)

    def source_name(self, place: int) -> str:
        """A source token (from 0), as Markdown."""
        return markdown.token(place, self.sources.groups)

    @property
    def weights(self) -> Floats:
        """[reader, source]."""
        weights: Floats = self.block.weights[0]
        return weights

    @property
    def order(self) -> list[int]:
        """The source tokens, from 0: the most read by the chosen token first."""
        return [int(place) for place in np.argsort(-self.weights[self.at], kind="stable")]

    @property
    def sizes(self) -> tuple[int, int]:
        """How many readers, how many sources: N and M."""
        readers, sources = self.weights.shape
        return readers, sources


def choose_texts() -> tuple[str, str, int]:
    """Draw the boxes for two texts and the choice of the token that reads.

    Returns:
        The text that reads, the one that is offered to be read, and the token's place, from 0.
    """
    left, middle, right = st.columns([5, 5, 3])
    with left:
        source = choosing.sentence()
    with middle:
        reader = choosing.sentence("Reader", READER, OPENING_READER)
    with right:
        begin = controls.place_of("hound", choosing.tokens(reader))
        return reader, source, choosing.token(reader, "Query (reads)", CROSS_QUERY, begin)


def choose(reader: str, other: str, at: int) -> CrossSelection:
    """Draw the choice of the vectors, and of which of the texts is read; return the numbers."""
    left, right = st.columns(2, gap="medium", vertical_alignment="bottom")
    with left:
        across = CROSS_READS.segments("Who is read", (ACROSS, ITSELF)) == ACROSS
    with right:
        layer = CROSS_VECTORS.slide(
            "Vectors after how many layers of BERT",
            range(LAYERS + 1),
            LAYERS,
            help="0: the words and their positions, before the first layer.",
        )
    source = other if across else reader
    block = _cross(reader, source, layer)
    readers, sources = DisplayTokens(block.query_tokens, reader), DisplayTokens(block.key_tokens, source)
    return CrossSelection(reader, source, layer, block, readers, sources, at)


def question(reading: CrossSelection) -> None:
    """Ask what the chosen token reads most."""
    row, groups = reading.weights[reading.at], reading.sources.groups
    options = to_guess_from(row, groups)
    names = names_of(groups)
    shares = [(names[place], float(row[place])) for place in reading.order if place in options]
    guess(
        "BERT has seen each text by itself, and no matrix is trained for reading across. "
        f"Which token will {reading.name} read most?",
        [names[place] for place in options],
        right=shares[0][0],
        because=f"{reading.name} reads {markdown.shares(shares)}. Of all tokens, the vector of "
        f"{reading.source_name(reading.order[0])} gives the largest dot product.",
    )


def picture(reading: CrossSelection) -> None:
    """Draw the weights, and the chosen token's row in words."""
    n, m = reading.sizes
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.header(f"{n} readers × {m} sources", anchor=False, width="content")
        with st.container(width="content"):
            view = CROSS_VIEW.segments("Picture", (MATRIX, LINES))

    def pick(query: int | None, key: int | None) -> None:
        if query is None:
            return
        most_read = int(reading.weights[query].argmax())
        CROSS_QUERY.pick(reading.readers.groups[query])
        CROSS_KEY.pick(reading.sources.groups[most_read if key is None else key])

    weights_picture(
        "cross weights",
        reading.weights[None],
        shown_tokens(reading.block.query_tokens, reading.reader),
        shown_tokens(reading.block.key_tokens, reading.source),
        view="matrix" if view == MATRIX else "lines",
        query=reading.at,
        note="rows: tokens that read; columns: tokens that are read; every row sums to 100 %",
        caption=f"“{isolated(reading.reader)}” reads “{isolated(reading.source)}” · "
        f"vectors after layer {reading.layer} of BERT",
        filename=f"attnviz-cross-attention-layer{reading.layer}",
        on_pick=pick,
    )
    row = looks(reading.weights, reading.at, reading.readers.groups, reading.sources.groups, _LISTED)
    listed = markdown.shares(row.keys)
    rest = 1 - sum(weight for _, weight in row.keys)
    others = m - len(row.keys)
    left = f" The other {others} tokens share {percent(max(rest, 0.0))}." if others else ""
    st.markdown(f"{reading.name} reads {listed}.{left}")


def text(reading: CrossSelection) -> None:
    """Say what makes attention cross-attention, with the sizes of the picture."""
    n, m = reading.sizes
    width = reading.block.value.shape[-1]
    totals = reading.weights.sum(axis=0)
    most, least = int(totals.argmax()), int(totals.argmin())
    st.markdown(
        "In **self-attention**, queries, keys and values all come from one text. In **cross-attention**, "
        "the :blue[queries] come from one text, the *reader*; the :red[keys] and :green[values] come "
        "from another, the *source*:"
    )
    st.latex(
        rf"\underbrace{{\textcolor{{violet}}{{A}}}}_{{{n}\times {m}}}=\operatorname{{softmax}}\!\Bigl("
        rf"\underbrace{{\textcolor{{blue}}{{Q}}}}_{{{n}\times {width}}}"
        rf"\underbrace{{\textcolor{{red}}{{K}}^\top}}_{{{width}\times {m}}}/\sqrt{{{width}}}\Bigr)"
    )
    shape = "square" if n == m else "no longer square"
    st.markdown(
        f"- The :violet[weights] are {n} × {m}, a row for each reader, a column for each source: {shape}.\n"
        "- Every **row** sums to 100 %: a reader shares itself out over the sources.\n"
        f"- **Columns** need not: {reading.source_name(most)} gets {percent(float(totals[most]))} in all, "
        f"{reading.source_name(least)} {percent(float(totals[least]))}.\n"
        f"- The **output** has {n} rows, one for each reader, made of the source's values.\n\n"
        "The vectors are BERT's, and nothing was trained for this: a token reads most what its own vector is "
        "like."
    )


def one_weight(reading: CrossSelection) -> None:
    """Work out one weight."""
    read = choosing.token(reading.source, "Token that is read (key)", CROSS_KEY, reading.order[0])
    worked = why(reading.block, 0, reading.at, read, reading.readers, reading.sources)

    def pick(position: int) -> None:
        CROSS_KEY.pick(reading.sources.groups[position])

    words = {"query_word": reading.readers.labels[reading.at], "key_word": reading.sources.labels[read]}
    with st.container(border=True):
        arithmetic("why cross", message(worked, reading.block, reading.sources) | words, on_pick=pick)


def one_output(reading: CrossSelection) -> None:
    """Work out one number of the output."""
    weights = reading.weights[reading.at]
    values, output = reading.block.value[0], reading.block.output[0]
    first, others = reading.order[:_LISTED], reading.order[_LISTED:]
    terms = [
        rf"\textcolor{{violet}}{{{weights[key]:.3f}}}\cdot\textcolor{{green}}{{{_term(values[key, 0])}}}"
        for key in first
    ]
    told = f"The first of these numbers, with {', '.join(map(reading.source_name, first))} written out"
    if others:
        terms.append(_term(float(weights[others] @ values[others, 0])))
        told += f" and the other {len(others)} together at the end"
    st.markdown(
        f"The output for {reading.name} is a vector of {values.shape[1]} numbers: every source's "
        f":green[value], times its :violet[weight], added up. {told}:"
    )
    # One term a line: that fits a phone.
    lines = r"\\ &+".join(terms)
    st.latex(rf"\begin{{aligned}}o_1=&\;{lines}\\ =&\;{output[reading.at, 0]:.3f}\end{{aligned}}\;")


def _term(number: float) -> str:
    """As it stands in a sum: a negative number in brackets."""
    return f"({number:.3f})" if number < 0 else f"{number:.3f}"


CODE = (
    ("attnviz.app.learn.cross_attention.compute", "cross", "read"),
    ("attnviz.transformer.attention", "scaled_dot_product_attention"),
)

LIMITS = """
- **A trained cross-attention**: vectors are compared as they are. A translator learns matrices $W_Q$, $W_K$
  and $W_V$ (Vaswani et al. 2017, section 3.2.3), which can ask for what comes *next*, not only for what is
  *alike*.
- **A reader that is still writing.** A translator's reader knows only the words it has written so far.
- **That something was found.** Rows sum to 100 % even if the texts have nothing in common: something is read
  anyway.
- **Why a model decides.** A weight says what was read (Jain & Wallace 2019, Serrano & Smith 2019; against:
  Wiegreffe & Pinter 2019), and after several layers the vector at a word holds a mixture of its whole
  sentence (Abnar & Zuidema 2020).
- **A rule.** Two sentences are an anecdote. Try pairs of your own.
"""
