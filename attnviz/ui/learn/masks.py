"""The sections of "Who may look at whom?": a mask to draw, and one word to change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.sentence import looks, name_of, percent
from attnviz.analysis.shown import Group, Shown
from attnviz.capture import catalogue, loading
from attnviz.errors import AttnvizError, InvalidTrace
from attnviz.trace import Floats, Mask
from attnviz.ui import markdown
from attnviz.ui.components.mask_editor import MOST_TOKENS, Shows, mask_editor
from attnviz.ui.components.moved_outputs import Output, moved_outputs
from attnviz.ui.controls import one_of
from attnviz.ui.learn.computed import MODEL, computed
from attnviz.ui.learn.lesson import formula, guess, not_shown, the_code
from attnviz.ui.learn.sentence import choose_head, choose_word, sentence
from attnviz.ui.learn.weights_picture import shown_tokens, weights_picture

if TYPE_CHECKING:
    from attnviz.lessons.masks import Moved, Reach

PARAMETERS = (
    *("text", "query", "layer", "head"),
    *("mask", "mask_size", "mask_after", "cells", "mask_shows"),
    *("edited", "replacement"),
)

_BY_HAND = "by hand"
_KINDS = ("none", "causal", "padding", "prefix", "window", _BY_HAND)
_SHOWS: tuple[Shows, ...] = ("with mask", "without mask", "change")
_MOST_OUTPUTS = 60

# As tall with sizes to choose as without: the first stroke over a window must not move the cells.
_STYLE = """
<style>
@media (min-width: 641px) { .st-key-mask-sizes { min-height: 70px; justify-content: flex-end; } }
</style>
"""


@dataclass(frozen=True)
class Chosen:
    """What the page is about.

    Attributes:
        text: the sentence.
        query: the token whose looks are told in words, from 0.
        layer, head: whose weights are shown, from 0.
    """

    text: str
    query: int
    layer: int
    head: int

    @property
    def groups(self) -> tuple[Group, ...]:
        """The tokens, with what they are called."""
        return Shown(loading.tokens(MODEL, self.text), self.text).groups

    @property
    def name(self) -> str:
        """What the query is called, in Markdown."""
        return markdown.code(name_of(self.query, self.groups))

    @property
    def head_name(self) -> str:
        """The head's name as in Clark et al. 2019: "4-2"."""
        return f"{self.layer + 1}-{self.head + 1}"

    @property
    def unmasked(self) -> Floats:
        """The head's weights with no mask, [query, key]."""
        return _weights(self.text, "none", 0, 0, "", self.layer, self.head)

    @property
    def causal(self) -> Floats:
        """The head's weights with a causal mask, [query, key]."""
        return _weights(self.text, "causal", 0, 0, "", self.layer, self.head)

    def looks(self, weights: Floats) -> str:
        """What the query looks at, in Markdown: "`dog` **66 %**, `road` **12 %**"."""
        keys = looks(weights, self.query, self.groups).keys
        return ", ".join(f"{markdown.code(name)} **{percent(weight)}**" for name, weight in keys)


@dataclass(frozen=True)
class _Chosen:
    """A mask: its kind, its sizes, and its cells if they were drawn by hand."""

    kind: str
    size: int
    after: int
    drawn: str


def choose() -> Chosen:
    """Draw the sentence, the word and the head that the page is about."""
    text = sentence()
    word, head_columns = st.columns([1, 2])
    with word:
        query = choose_word("query", "Token that looks (query)", text)
    with head_columns:
        layer, head = choose_head()
    return Chosen(text, query, layer, head)


def question(chosen: Chosen) -> None:
    """Ask what a causal mask does to the query's looks."""
    groups = chosen.groups
    strongest = int(chosen.causal[chosen.query].argmax())
    ahead = len(groups) - 2
    places = {strongest, int(chosen.unmasked[chosen.query].argmax()), chosen.query, ahead, 0}
    guess(
        f"What will {chosen.name} look at most if nobody may look ahead?",
        [markdown.plain(name_of(place, groups)) for place in sorted(places)],
        right=markdown.plain(name_of(strongest, groups)),
        because=_causal_in_words(chosen),
        key="guess_masks",
    )


def picture(chosen: Chosen, drawn_as_text: DeltaGenerator) -> None:
    """Draw the mask to edit, and the weights of the model that was run with it.

    Args:
        chosen: what the page is about.
        drawn_as_text: where a mask drawn by hand stands as text. Not in the picture: it comes with the
            first stroke, and must not move the cells away from under the pointer.
    """
    groups = chosen.groups
    st.html(_STYLE)
    st.header(f"The mask, and what head {chosen.head_name} does with it", anchor=False)
    kind = one_of("Mask", _KINDS, "causal", "mask")
    with st.container(key="mask-sizes"):
        numbers, sizes = st.columns([5, 6], vertical_alignment="bottom")
    shows = cast("Shows", one_of("Numbers", _SHOWS, _SHOWS[0], "mask_shows", numbers))
    with sizes:
        mask = _choose_mask(kind, len(groups), drawn_as_text)
    st.markdown(f":small[{_EXPLAINED[kind]}]")
    cells, mask = _cells(mask, len(groups))
    if kind != _BY_HAND:
        # Who chooses "by hand" next starts from here. A long mask is left out: it would fill the link.
        st.session_state["cells"] = _written(cells) if len(groups) <= MOST_TOKENS else ""
    masked = _weights_or_refusal(chosen, mask)
    if len(groups) <= MOST_TOKENS:
        mask_editor(
            "mask editor",
            tokens=shown_tokens(loading.tokens(MODEL, chosen.text), chosen.text),
            mask=_written(cells),
            without=chosen.unmasked,
            with_mask=None if isinstance(masked, InvalidTrace) else masked,
            shows=shows,
            query=chosen.query,
            on_draw=_draw,
        )
    elif not isinstance(masked, InvalidTrace):
        _long(chosen, cells, masked, shows)
    if isinstance(masked, InvalidTrace):
        _refuse(masked, cells, groups)
    else:
        st.markdown(_in_words(chosen, mask.kind, masked))


def text(chosen: Chosen) -> DeltaGenerator:
    """Say what a mask is, beside the picture; return the place below for a drawn mask as text."""
    st.header("What a mask is", anchor=False)
    st.markdown(
        "A **mask** says for each pair of tokens whether the one (the :blue[query], a row) may look at the "
        "other (the :red[key], a column). It is added to the scores before the softmax: 0 where a cell is "
        "open, −∞ where it is closed."
    )
    formula(
        r"\textcolor{violet}{W} = \operatorname{softmax}\!\left("
        r"\frac{\textcolor{blue}{Q}\,\textcolor{red}{K}^\top}{\sqrt{d_\text{head}}} + M\right)"
    )
    st.markdown(
        "The softmax takes $e$ to the power of each score, and $e^{-\\infty} = 0$: a closed cell gets "
        ":violet[weight] **exactly 0**, and the open cells of its row share the **100 %** among them. "
        "A row with every cell closed would be 0 divided by 0, so it is refused before anything is computed."
    )
    st.markdown(
        "The model is **run again** with your mask in all its layers and heads, so that the numbers change "
        "for two reasons: some cells are closed here, and the layers before could not read everything either."
    )
    st.markdown(_causal_in_words(chosen))
    st.header("Who uses which", anchor=False)
    st.markdown(
        "- **none**: BERT and every *encoder* read in both directions.\n"
        "- **causal**: GPT and every *decoder* write from left to right, so no token may look ahead: when it "
        "is written, what follows does not exist yet.\n"
        "- **padding**: sentences of one batch are filled up to equal length; nobody looks at the filling.\n"
        "- **prefix**: a question that all may read, then an answer written from left to right "
        "([Raffel et al. 2020](https://arxiv.org/abs/1910.10683)).\n"
        "- **window**: only neighbours, which makes long texts cheap "
        "([Beltagy et al. 2020](https://arxiv.org/abs/2004.05150))."
    )
    return st.container()


def more(chosen: Chosen) -> None:
    """Change one word, and show which outputs it reaches, in an encoder and in a decoder."""
    st.header("Which outputs can one word change?", anchor=False)
    st.markdown(
        "Replace one word. The model reads both sentences, and each token's **output** (its vector after the "
        "last layer) is compared with itself: is it the same **to the bit**, all "
        f"{catalogue.entry(MODEL).d_model} numbers? If not, how far did it turn "
        "(1 − cosine: 0 is the same direction)?"
    )
    word, other = st.columns(2)
    with word:
        place = choose_word("edited", "Word to replace", chosen.text, default="tired")
    with other:
        replacement = st.text_input("Replace it with", "narrow", key="replacement", bind="query-params")
    try:
        changed = _replaced(chosen.text, place, replacement)
    except AttnvizError as error:
        st.warning(markdown.plain(str(error)), icon=":material/edit:")
    else:
        _outputs(chosen, changed, _reach(chosen.text, changed))
    st.markdown(
        "**Why a causal model’s early tokens never change.** In the first layer a token’s output is computed "
        "from itself and the tokens before it, and from nothing else. If none of these changed, not one "
        "number that goes into it changed, so its output is the same. The second layer reads only such "
        "outputs, again of itself and of tokens before, and so on: from layer to layer nothing can come back "
        "from behind the mask. Without a mask, one layer is enough for every token to read the new word."
    )
    st.markdown(
        "This is the difference between **bidirectional** models such as BERT, which understand a finished "
        "sentence from both sides, and **unidirectional** ones such as GPT, which can write: what they "
        "computed for the words so far stays valid whatever comes next and need not be computed again."
    )


def code() -> None:
    """Show the functions that computed the picture."""
    the_code(
        ("attnviz.lessons.masks", "weights"),
        ("attnviz.transformer.attention", "attention_weights"),
        ("attnviz.transformer.attention", "_forbid"),
        ("attnviz.transformer.masks", "refuse_blind_rows"),
        ("attnviz.transformer.masks", "causal_mask"),
        ("attnviz.transformer.masks", "prefix_mask"),
        ("attnviz.transformer.masks", "window_mask"),
        ("attnviz.lessons.masks", "reach"),
        ("attnviz.lessons.masks", "moved"),
    )


def limits() -> None:
    """Say what one could wrongly conclude."""
    not_shown(
        "- **Not how a GPT looks.** This BERT learned without a mask. Under a causal one it must do with "
        "less than it was taught with; a GPT learned with the mask and arranges itself with it.\n"
        "- **Not only this head.** The mask holds in every layer and head. In deep layers a token is already "
        "a mixture of what it could read before (Abnar & Zuidema 2020): a closed cell stops the direct look, "
        "but what was there may come round through a third token that both may use.\n"
        "- **Not why the model decides.** A weight says what was read, not what it was good for "
        "(Jain & Wallace 2019; against: Wiegreffe & Pinter 2019).\n"
        "- **[CLS] and [SEP]** often take what is left over as a place to rest (Clark et al. 2019). Close "
        "their columns and see where it goes."
    )


def _choose_mask(kind: str, count: int, drawn_as_text: DeltaGenerator) -> _Chosen:
    size = after = 0
    drawn = ""
    if kind == "padding":
        size = _number("Padding tokens, at the end", "mask_size", count - 1)
    elif kind == "prefix":
        size = _number("Prefix tokens, at the beginning", "mask_size", count)
    elif kind == "window":
        before, behind = st.columns(2)
        with before:
            size = _number("Tokens before", "mask_size", count - 1)
        with behind:
            after = _number("Tokens after", "mask_after", count - 1)
    elif kind == _BY_HAND:
        drawn = drawn_as_text.text_input(
            "Drawn mask, as text",
            key="cells",
            bind="query-params",
            help="One group of hexadecimal digits a row; a digit holds four cells, 8 the first and 1 the "
            "fourth. It goes into the link.",
        )
    return _Chosen(kind, size, after, drawn)


_EXPLAINED = {
    "none": "Every token may look at every token. Click a cell to close it.",
    "causal": "Nobody may look ahead: a token sees itself and what stands before it.",
    "padding": "The last tokens count as filling: nobody may look at them.",
    "prefix": "All may look at the first tokens; after these nobody may look ahead.",
    "window": "A token sees itself and its neighbours.",
    _BY_HAND: "Your own mask. Click or drag over cells to open and close them.",
}


def _number(label: str, key: str, most: int, default: int = 3) -> int:
    if st.session_state.get(key, 0) > most:
        st.session_state[key] = most
    return int(st.number_input(label, 0, most, min(default, most), key=key, bind="query-params"))


def _cells(mask: _Chosen, count: int) -> tuple[Mask, _Chosen]:
    """The mask's cells; all open, with a word about it, where a drawn mask is none for this sentence."""
    try:
        return _cells_of(mask.kind, count, mask.size, mask.after, mask.drawn), mask
    except InvalidTrace as error:
        st.warning(
            f"{markdown.plain(str(error))} So every cell is open now: draw it anew, or choose another mask.",
            icon=":material/grid_off:",
        )
        everything = _Chosen(_BY_HAND, 0, 0, "")
        return _cells_of(_BY_HAND, count, 0, 0, ""), everything


def _weights_or_refusal(chosen: Chosen, mask: _Chosen) -> Floats | InvalidTrace:
    try:
        return _weights(chosen.text, mask.kind, mask.size, mask.after, mask.drawn, chosen.layer, chosen.head)
    except InvalidTrace as error:
        return error


def _draw(drawn: str) -> None:
    st.session_state["mask"], st.session_state["cells"] = _BY_HAND, drawn


def _refuse(error: InvalidTrace, cells: Mask, groups: tuple[Group, ...]) -> None:
    names = [markdown.code(name_of(int(row), groups)) for row in np.flatnonzero(~cells.any(axis=1))]
    st.error(
        f"**Not computed.** {markdown.plain(str(error))} Rows without an open cell: {', '.join(names)}.",
        icon=":material/block:",
    )


def _long(chosen: Chosen, cells: Mask, masked: Floats, shows: Shows) -> None:
    """A sentence with too many cells to draw on: the same numbers, to look at."""
    st.info(
        f"This sentence has {len(cells)} tokens. A mask can be drawn for up to {MOST_TOKENS}; "
        "the other masks work at any length."
    )
    numbers = {
        "without mask": chosen.unmasked,
        "with mask": np.where(cells, masked, np.nan).astype(np.float32),
        "change": masked - chosen.unmasked,
    }[shows]
    named = shown_tokens(loading.tokens(MODEL, chosen.text), chosen.text)
    changes = shows == "change"
    weights_picture(
        "masked weights",
        numbers[None],
        named,
        named,
        query=chosen.query,
        layer=chosen.layer + 1,
        heads=[chosen.head + 1],
        kind="diverging" if changes else "sequential",
        unit="signed percent" if changes else "percent",
        caption=f"{chosen.text[:_MOST_OUTPUTS]} · head {chosen.head_name} · {shows}",
        filename="attnviz-mask",
    )


def _in_words(chosen: Chosen, kind: str, masked: Floats) -> str:
    without = f"In head {chosen.head_name}, {chosen.name} looks at {chosen.looks(chosen.unmasked)}"
    if kind == "none":
        return f"{without}. Nothing is masked."
    called = "your mask" if kind == _BY_HAND else f"the {kind} mask"
    return f"{without} without a mask; with {called}, at {chosen.looks(masked)}."


def _causal_in_words(chosen: Chosen) -> str:
    return (
        f"If nobody may look ahead, {chosen.name} looks at {chosen.looks(chosen.causal)} "
        f"(head {chosen.head_name}); without a mask, at {chosen.looks(chosen.unmasked)}."
    )


def _outputs(chosen: Chosen, changed: str, reach: Reach) -> None:
    count = len(reach.edited)
    if not reach.edited.any():
        st.info("Both sentences have the same tokens, so every output is the same. Type another word.")
        return
    before, after = chosen.groups, Shown(loading.tokens(MODEL, changed), changed).groups
    first = int(reach.edited.argmax())
    begin = max(0, min(first - _MOST_OUTPUTS // 2, count - _MOST_OUTPUTS))
    seen = range(begin, min(count, begin + _MOST_OUTPUTS))

    def outputs(moved: Moved) -> list[Output]:
        return [
            {
                "label": f"{before[at].label} → {after[at].label}" if reach.edited[at] else before[at].label,
                "edited": bool(reach.edited[at]),
                "unchanged": bool(moved.unchanged[at]),
                "distance": float(moved.distance[at]),
                "written": _distance(float(moved.distance[at])),
            }
            for at in seen
        ]

    with st.container(border=True):
        moved_outputs(
            "moved outputs",
            [
                {"title": "Encoder: no mask, as in BERT", "outputs": outputs(reach.encoder)},
                {"title": "Decoder: causal mask, as in GPT", "outputs": outputs(reach.decoder)},
            ],
        )
        if len(seen) < count:
            st.markdown(f":small[Tokens {begin + 1} to {seen.stop} of {count} are drawn; all were compared.]")
        st.markdown(
            f"Token {first + 1} of {count} was replaced. Outputs that stayed the same to the bit: "
            f"**{int(reach.encoder.unchanged.sum())}** without a mask; with a causal mask "
            f"**{int(reach.decoder.unchanged.sum())}**, of the {first} tokens before the new word "
            f"**{int(reach.decoder.unchanged[:first].sum())}**."
        )


def _distance(distance: float) -> str:
    return "<0.001" if distance < 0.0005 else f"{distance:.3f}"


@computed
def _cells_of(kind: str, tokens: int, size: int, after: int, drawn: str) -> Mask:
    from attnviz.lessons import masks

    return masks.cells(kind, tokens, size, after, drawn)


@computed
def _weights(text: str, kind: str, size: int, after: int, drawn: str, layer: int, head: int) -> Floats:
    from attnviz.lessons import masks

    mask = masks.cells(kind, len(loading.tokens(MODEL, text)), size, after, drawn)
    return masks.weights(text, mask, layer, head)


@computed
def _replaced(text: str, place: int, replacement: str) -> str:
    from attnviz.lessons import masks

    return masks.replaced(text, place, replacement)


@computed
def _reach(text: str, changed: str) -> Reach:
    from attnviz.lessons import masks

    return masks.reach(text, changed)


def _written(cells: Mask) -> str:
    from attnviz.lessons import masks

    return masks.written(cells)
