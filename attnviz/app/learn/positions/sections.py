"""How does attention know the order? By itself it does not, and a shuffle shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import streamlit as st

from attnviz.analysis.picture import of_vectors
from attnviz.app import markdown
from attnviz.app.components.component import widget
from attnviz.app.learn import choosing
from attnviz.app.learn.choosing import TokenSelection
from attnviz.app.learn.computed import computed
from attnviz.app.learn.computed import positions as compute
from attnviz.app.learn.lesson import guess, the_code
from attnviz.app.learn.positions import position_kinds
from attnviz.app.state.choices import ORDER, QUERY
from attnviz.text import decimal

_experiment = computed(compute.set_experiment)

_ROUNDING = 1e-4  # what is not rounding differs by a thousand times as much
_SHUFFLED = 4  # tokens, [CLS] and [SEP] among them: one word alone has no order
_SHOWN_TOKENS = 32
_SHOWN_NUMBERS = 24
_SAME, _OTHER, _MEAN = "the same as before", "another one in every order", "the mean of all words"


@dataclass(frozen=True)
class TwoOrders:
    """The sentence, read in its own order and in the other one of a number; 0 is the original."""

    chosen: TokenSelection
    order: int
    found: compute.SetExperiment

    @property
    def row(self) -> int:
        """Where the followed token stands now, from 0."""
        return self.found.order.index(self.chosen.query)


def choose() -> TokenSelection:
    """Draw the sentence and the word to follow."""
    sentence_column, word_column = st.columns([3, 1])
    with sentence_column:
        text = choosing.sentence()
    with word_column:
        word = choosing.token(text, "Follow")
    return TokenSelection(text, word)


def question(chosen: TokenSelection) -> None:
    """Ask what becomes of the followed word, where there is an order to change."""
    found = _experiment(chosen.text, 1)
    row = found.order.index(chosen.query)
    same = bool(found.without.differences[row] < _ROUNDING)
    guess(
        "Shuffle the words, and leave out the vectors that tell BERT where each token stands, its "
        f"**positions**: what will {chosen.name} come out as (its vector after the last layer)?",
        [_OTHER, _SAME, _MEAN] if len(chosen.groups) >= _SHUFFLED else [],
        right=_SAME if same else _OTHER,
        because=f"Without positions, its {found.without.after.shape[1]} numbers before and after the shuffle "
        f"differ by at most **{written(found.without.differences[row])}**, which is rounding. "
        f"With positions, by up to **{written(found.with_positions.differences[row])}**.",
    )


def picture(chosen: TokenSelection) -> TwoOrders:
    """Draw the shuffle, and what becomes of every token's output."""
    st.header("The same words in another order", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        order = ORDER.draw("Order (0 is the original one)", width=220)
        st.button("Shuffle", icon=":material/shuffle:", on_click=_shuffle)
        st.button("Original order", on_click=ORDER.set, args=(0,))
    read = TwoOrders(chosen, order, _experiment(chosen.text, order))
    tokens, note = _shown(read)
    shuffle(
        "shuffle",
        tokens=tokens,
        columns=("Output without positions", "Output with positions"),
        chosen=chosen.query + 1,
        note=note,
        on_pick=lambda number: QUERY.pick(chosen.groups[number - 1]),
    )
    st.markdown(in_words(read))
    return read


def in_words(read: TwoOrders) -> str:
    """The picture's sentence, in Markdown."""
    bare, placed = read.found.without, read.found.with_positions
    name, row = read.chosen.name, read.row
    cosine = decimal(placed.cosines[row])
    moved = (
        f"token {read.chosen.query + 1}, now token {row + 1}"
        if row != read.chosen.query
        else "stays in place"
    )
    if read.order == 0:
        return f"This is the original order: {name} comes out the same on both sides. Now shuffle."
    if len(read.chosen.groups) < _SHUFFLED:
        return "One token alone cannot be shuffled. Write a longer sentence."
    return (
        f"Without positions, {name} ({moved}) comes out **the same**: its {bare.after.shape[1]} numbers "
        f"differ by at most **{written(bare.differences[row])}** (cosine {bare.cosines[row]:.6f}). With "
        "positions, they differ by up to "
        f"**{written(placed.differences[row])}** (cosine **{cosine}**)."
    )


def text(read: TwoOrders) -> None:
    """Say why, beside the picture."""
    bare, placed = read.found.without, read.found.with_positions
    st.markdown(
        "A token's output is a sum over all tokens, weight times value, and **a sum does not ask in which "
        "order its terms are added**. So attention $F$ sees a set, not a sequence: put the rows in another "
        "order, $P$, and the same outputs come in that order."
    )
    st.latex(
        r"F(P\textcolor{blue}{Q}, P\textcolor{red}{K}, P\textcolor{green}{V})"
        r" = P F(\textcolor{blue}{Q}, \textcolor{red}{K}, \textcolor{green}{V})"
    )
    st.markdown(
        "To such a model, *the dog bit the man* and *the man bit the dog* are one sentence. So BERT adds to "
        "each token's vector another one, for its place. The picture has both: BERT as it is, and without "
        "these vectors. Over **all tokens**, the outputs in the two orders differ\n\n"
        f"- without positions by at most **{written(bare.differences.max())}**,\n"
        f"- with positions by up to **{written(placed.differences.max())}**."
    )


def compared(read: TwoOrders) -> None:
    """Say what is left out, what stays, and why the differences are not exactly 0."""
    st.markdown(
        "Without positions, one term is missing in BERT's input, "
        "$\\operatorname{LayerNorm}(\\text{word} + \\text{segment} + \\text{position})$. All its layers stay "
        "as they are; [CLS] and [SEP] keep their places at the ends."
    )
    if twins := read.found.twins:
        groups = read.chosen.groups
        st.markdown(
            f"Then even two {markdown.code(groups[twins.first].label)} of this sentence (tokens "
            f"{twins.first + 1} and {twins.second + 1}) are the same to the model: their outputs differ by "
            f"at most **{written(twins.without)}**; with positions, by **{written(twins.with_positions)}**."
        )
    if read.found.without.differences.any():
        st.markdown(
            "**Why not exactly 0?** A computer keeps some 7 digits of each number (float32), and rounds "
            "after every addition. In another order the same terms are rounded otherwise."
        )


def code() -> None:
    """Show the functions that computed the page."""
    the_code(
        ("attnviz.app.learn.positions.compute", "shuffled", "encode", "compare"),
        *position_kinds.code(),
    )


LIMITS = (
    "- **A model trained without positions.** This BERT was trained with its table and had it taken "
    "away. A decoder trained without positions can still learn about order, probably because its causal "
    "mask shows each token another number of tokens (Haviv et al. 2022).\n"
    "- **Which way is best.** That takes models trained with each of them. This BERT knows its own table "
    "only: the sines, the rotary scores and the biases here show how the rules work, not what such a "
    "model would do.\n"
    "- **Everything in an output.** The strips show the beginning of each vector; "
    "the numbers beside them are computed from all of it.\n"
    "- **What the words mean in the new order.** That the outputs differ says that the order counts, "
    "not that it was understood."
)


def written(number: float) -> str:
    """0.8164 → "0.82", 0.0000008 → "0.0000008": as many decimals as it takes to see more than zeros."""
    if number == 0:
        return "0"
    if number >= 0.01:
        return f"{number:.2f}"
    return f"{number:.7f}" if number >= 1e-7 else "less than 0.0000001"


def _shown(read: TwoOrders) -> tuple[list[ShuffledToken], str]:
    """The tokens as the widget takes them, and what its colours mean."""
    found, groups = read.found, read.chosen.groups
    places = [*range(min(len(groups), _SHOWN_TOKENS))]
    if read.row not in places:
        places[-1] = read.row
    strips = np.stack(
        [
            outputs[places, :_SHOWN_NUMBERS]
            for compared in (found.without, found.with_positions)
            for outputs in (compared.before, compared.after)
        ]
    )
    high = float(np.abs(strips).max())
    levels = of_vectors(strips, high)
    tokens: list[ShuffledToken] = [
        {
            "label": groups[found.order[place]].label,
            "special": groups[found.order[place]].special,
            "place": place + 1,
            "came_from": found.order[place] + 1,
            "outcomes": [
                _outcome(compared, place, levels[2 * number : 2 * number + 2, row].tolist())
                for number, compared in enumerate((found.without, found.with_positions))
            ],
        }
        for row, place in enumerate(places)
    ]
    left_out = len(groups) - len(places)
    more = f" {len(places)} of {len(groups)} tokens are shown; all were computed." if left_out else ""
    return tokens, (
        f"Each pair of strips: the first {_SHOWN_NUMBERS} of a token's {found.without.after.shape[1]} "
        "numbers, above in the original order, below shuffled; blue is negative, orange positive, strongest "
        f"at ±{high:.1f}. cos: the cosine between the two vectors, 1 where they point the same way.{more}"
    )


def _outcome(compared: compute.Comparison, place: int, levels: list[list[int]]) -> Outcome:
    difference, cosine = float(compared.differences[place]), float(compared.cosines[place])
    same = difference < _ROUNDING
    return {
        "before": levels[0],
        "after": levels[1],
        "same": same,
        "verdict": "= same" if same else f"≠ cos {decimal(cosine)}",
        "exact": (difference, cosine),
        "title": f"largest difference {written(difference)}, cosine {cosine:.6f}",
    }


def _shuffle() -> None:
    ORDER.set(ORDER.get(0) % ORDER.most + 1)


class Outcome(TypedDict):
    """What became of one token's output.

    Attributes:
        before, after: the beginning of the two vectors, as levels 0 to 254; 127 is zero.
        same: whether they are equal but for rounding.
        verdict: what is written beside them: "same", "cos 0.79".
        exact: the largest difference and the cosine, unrounded.
        title: the same in words, for a pointer and for a screen reader.
    """

    before: Sequence[int]
    after: Sequence[int]
    same: bool
    verdict: str
    exact: tuple[float, float]
    title: str


class ShuffledToken(TypedDict):
    """A token at its new place, with one outcome for each column.

    Its numbers in the new and in the original order count from 1; `special`: the tokenizer added it ([CLS],
    [SEP]).
    """

    label: str
    special: bool
    place: int
    came_from: int
    outcomes: Sequence[Outcome]


@widget
def shuffle(
    name: str,
    /,
    *,
    tokens: Sequence[ShuffledToken],
    columns: Sequence[str],
    chosen: int,
    note: str,
    on_pick: Callable[[int], None],
) -> None:
    """Draws both orders, joined by lines, and beside them each token's two outputs in every column.

    Args:
        tokens: in the new order.
        chosen: the number, from 1, that the highlighted token had in the original order.
        note: what the colours mean.
        on_pick: called with the number that a token had in the original order.
    """
