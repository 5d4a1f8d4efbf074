"""How does attention know the order? By itself it does not, and a shuffle shows it."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from attnviz.app import markdown
from attnviz.app.components.share_table import share_table
from attnviz.app.learn import choosing
from attnviz.app.learn.choosing import TokenSelection
from attnviz.app.learn.computed import computed
from attnviz.app.learn.computed import positions as compute
from attnviz.app.learn.lesson import guess, the_code
from attnviz.app.learn.positions import position_kinds
from attnviz.app.state.choices import ORDER
from attnviz.text import decimal

_experiment = computed(compute.set_experiment)

_ROUNDING = 1e-4  # what is not rounding differs by a thousand times as much
_SHUFFLED = 4  # tokens, [CLS] and [SEP] among them: one word alone has no order
_SHOWN_TOKENS = 32
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
    _outputs(read)
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


def _outputs(read: TwoOrders) -> None:
    """Draw the tokens in the new order, with the cosine of each output in the two orders."""
    found, groups = read.found, read.chosen.groups
    places = [*range(min(len(groups), _SHOWN_TOKENS))]
    if read.row not in places:
        places[-1] = read.row
    compared = found.without, found.with_positions
    share_table(
        "shuffle",
        title="Outputs in the new and in the original order",
        columns=["Output without positions", "Output with positions"],
        rows=[
            {
                "label": groups[found.order[place]].label,
                "place": str(found.order[place] + 1),
                "shares": [float(each.cosines[place]) for each in compared],
                "written": [_verdict(each, place) for each in compared],
                "marked": place == read.row,
                "hint": f"token {place + 1}, was token {found.order[place] + 1}",
            }
            for place in places
        ],
    )
    shown = f" {len(places)} of {len(groups)} tokens are shown." if len(groups) > len(places) else ""
    st.markdown(
        ":small[The tokens in the new order, with their numbers in the original one. Bars: the cosine of a "
        f"token's outputs in the two orders.{shown}]"
    )


def _verdict(compared: compute.Comparison, place: int) -> str:
    """Whether an output is equal but for rounding, and else its cosine."""
    same = compared.differences[place] < _ROUNDING
    return "= same" if same else f"cos {decimal(float(compared.cosines[place]))}"


def _shuffle() -> None:
    ORDER.set(ORDER.get(0) % ORDER.most + 1)
