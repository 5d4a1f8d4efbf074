"""The sections of "Who may look at whom?": a mask to draw, and what the model then looks at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.display_tokens import DisplayToken
from attnviz.analysis.sentence import looks
from attnviz.app import markdown
from attnviz.app.learn import choosing
from attnviz.app.learn.computed import MODEL, computed
from attnviz.app.learn.computed import masks as compute
from attnviz.app.learn.lesson import guess, the_code
from attnviz.app.learn.masks.mask_editor import MOST_TOKENS, Shows, mask_editor
from attnviz.app.state.choices import CELLS, MASK, MASK_AFTER, MASK_SHOWS, MASK_SIZE
from attnviz.app.weights_picture import weights_picture
from attnviz.capture import loading
from attnviz.errors import InvalidMask
from attnviz.text import enough_digits, percent
from attnviz.trace import Floats, Mask
from attnviz.widgets.tokens import shown_tokens

_BY_HAND = "by hand"
_KINDS = ("none", "causal", "padding", "prefix", "window", _BY_HAND)
_SHOWS: tuple[Shows, ...] = ("with mask", "without mask", "change")
_NUMBER_WIDTH = 150  # pixels; a narrower number input has no buttons
_CAPTION = 60  # characters of the sentence that a saved picture names


@dataclass(frozen=True)
class _MaskChoice:
    """A mask: its kind, its sizes, and its cells if they were drawn by hand."""

    kind: str
    size: int = 0
    after: int = 0
    drawn: str = ""


_UNMASKED, _CAUSAL = _MaskChoice("none"), _MaskChoice("causal")


class MaskedHead(choosing.HeadSelection):
    """What the page is about: a head, and the token whose looks are told in words."""

    @property
    def unmasked(self) -> Floats:
        """The head's weights with no mask, [query, key]."""
        return self.weights(_UNMASKED)

    @property
    def causal(self) -> Floats:
        """The head's weights with a causal mask, [query, key]."""
        return self.weights(_CAUSAL)

    def weights(self, mask: _MaskChoice, layer: int | None = None) -> Floats:
        """The head's weights in this layer (None: the chosen one) under a mask, [query, key].

        Raises:
            InvalidMask: the mask lets a token look nowhere.
        """
        layer = self.layer if layer is None else layer
        found: Floats = _weights(self.text, mask, self.head)[layer]
        return found

    def looks(self, weights: Floats) -> str:
        """What the query looks at, in Markdown: "`dog` **66 %**, `road` **12 %**"."""
        return markdown.shares(looks(weights, self.query, self.groups).keys)


def choose() -> MaskedHead:
    """Draw the sentence, the head and the word that the page is about."""
    chosen = choosing.head_selection()
    return MaskedHead(chosen.text, chosen.query, chosen.layer, chosen.head)


def question(chosen: MaskedHead) -> None:
    """Ask what a causal mask does in the head of the picture."""
    key, given, left, share = _under_causal_mask(chosen, chosen.layer)
    part, of, result = _divided(given, left, 100 * given / left)
    right = percent(share / 100, 1)
    deeper = (
        "But the layers before could not look ahead either, so the scores changed, too: the model, run "
        f"again, gives **{right}**."
        if chosen.layer
        else "In deeper layers the scores change as well."
    )
    options = percent(given / 100, 1), result, right, percent(1 - (left - given) / 100, 1), percent(0, 1)
    guess(
        f"In head {chosen.head_name} {chosen.name} gives {key} **{part}** without a mask, and **{of}** to "
        f"all tokens up to itself. How much does {key} get if a **causal mask** lets nobody look ahead?",
        list(dict.fromkeys(options)),
        right=right,
        because="The open cells share the 100 %: in the same proportions, "
        f"{part} / {of} = {result}. {deeper}",
    )


def picture(chosen: MaskedHead, drawn_as_text: DeltaGenerator) -> None:
    """Draw the mask to edit, and the weights of the model that was run with it.

    Args:
        chosen: what the page is about.
        drawn_as_text: where a mask drawn by hand stands as text. Not in the picture: it comes with the
            first stroke, and must not move the cells away from under the pointer.
    """
    groups = chosen.groups
    st.header(f"What head {chosen.head_name} does under a mask", anchor=False)
    kind = MASK.segments("Mask", _KINDS)
    # The sizes stand beside the rest: the first stroke over a window, which has no more use for them, must
    # not move the cells.
    sizes = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
    numbers = sizes.container(width="content")
    numbers.markdown(f":small[{_EXPLAINED[kind]}]")
    with numbers:
        shows = MASK_SHOWS.segments("Numbers", _SHOWS)
    with sizes:
        mask = _choose_mask(kind, len(groups), drawn_as_text)
    cells, mask = _cells(mask, len(groups))
    if kind != _BY_HAND:
        # Who chooses "by hand" next starts from here. A long mask is left out: it would fill the link.
        CELLS.set(compute.written(cells) if len(groups) <= MOST_TOKENS else "")
    masked: Floats | InvalidMask
    try:
        masked = chosen.weights(mask)
    except InvalidMask as error:
        masked = error
    if len(groups) <= MOST_TOKENS:
        mask_editor(
            "mask editor",
            tokens=shown_tokens(groups),
            mask=compute.written(cells),
            without=chosen.unmasked,
            with_mask=None if isinstance(masked, InvalidMask) else masked,
            shows=shows,
            query=chosen.query,
            on_draw=_draw,
        )
    elif not isinstance(masked, InvalidMask):
        _long(chosen, cells, masked, shows)
    if isinstance(masked, InvalidMask):
        _refuse(masked, cells, groups)
    else:
        st.markdown(_in_words(chosen, mask.kind, masked))


def text() -> DeltaGenerator:
    """Say what a mask is, beside the picture; return the place below for a drawn mask as text."""
    st.markdown(
        "A **mask** says for each pair of tokens whether the one (the :blue[query], a row) may look at the "
        "other (the :red[key], a column). Click a cell to close it: it gets :violet[weight] **exactly 0**, "
        "and the open cells of its row share the whole **100 %**. As a matrix $M$, it adds 0 to a score "
        "where a cell is open and −∞ where it is closed:"
    )
    st.latex(
        r"\textcolor{violet}{A} = \operatorname{softmax}\!\left("
        r"\frac{\textcolor{blue}{Q}\,\textcolor{red}{K}^\top}{\sqrt{d_\text{head}}} + M\right)"
    )
    st.markdown(
        "The model is **run again** with your mask in all its layers and heads. So the numbers change for "
        "two reasons: cells are closed here, and the layers before could not read everything either."
    )
    return st.container()


def causal(chosen: MaskedHead) -> None:
    """What a causal mask does to the head, and in the first layer, where it can be worked out."""
    st.markdown(
        f"If nobody may look ahead, {chosen.name} looks at {chosen.looks(chosen.causal)} "
        f"(head {chosen.head_name}); without a mask, at {chosen.looks(chosen.unmasked)}."
    )
    st.markdown(_first_layer_in_words(chosen))


USED_BY = (
    "- **none**: BERT, and the *encoder* of 2017 (Vaswani et al.), read a finished text in both directions.\n"
    "- **causal**: GPT (Radford et al. 2018), and the *decoder* of 2017, learn from all words of a text at "
    "once, and none may see the word that it is to predict.\n"
    "- **padding**: texts computed together are filled up to equal length; nobody looks at the filling.\n"
    "- **prefix**: a question that all may read, then an answer written from left to right "
    "(Raffel et al. 2020).\n"
    "- **window**: only neighbours, which makes long texts cheaper (Beltagy et al. 2020)."
)


def code() -> None:
    """Show the functions that computed the picture."""
    kind = "explicit" if MASK.get(None) == _BY_HAND else MASK.get(None)
    the_code(
        ("attnviz.transformer.masks", "no_mask" if kind == "none" else f"{kind}_mask"),
        ("attnviz.transformer.masks", "refuse_blind_rows"),
        ("attnviz.app.learn.masks.compute", "weights"),
        ("attnviz.transformer.attention", "scaled_dot_product_attention", "_forbid"),
        ("attnviz.app.learn.masks.compute", "reach", "compare_outputs", "teacher_forced"),
    )


LIMITS = (
    "- **Not how a GPT looks.** This BERT learned without a mask. Under a causal one it must do with "
    "less than it was taught with; a GPT learned with the mask and arranges itself with it.\n"
    "- **Not only this head.** The mask holds in every layer and head. In deep layers a token is already "
    "a mixture of what it could read before (Abnar & Zuidema 2020): a closed cell stops the direct look, "
    "but what was there may come round through a third token that both may use.\n"
    "- **Not why the model decides.** A weight says what was read, not what it was good for "
    "(Jain & Wallace 2019, Serrano & Smith 2019; against: Wiegreffe & Pinter 2019).\n"
    "- **That [CLS] means much.** It often gets most of the weight, probably as a place to rest (Clark "
    "et al. 2019, Kobayashi et al. 2020). Close its column and see where it goes.\n"
    "- **The only possible weights.** Where a token may look at more tokens than a value has numbers, "
    "plus one, other weights would give the very same output (Brunner et al. 2020)."
)


def _choose_mask(kind: str, count: int, drawn_as_text: DeltaGenerator) -> _MaskChoice:
    size = after = 0
    drawn = ""
    if kind == "padding":
        size = MASK_SIZE.draw("Padding tokens", count - 1, width=_NUMBER_WIDTH)
    elif kind == "prefix":
        size = MASK_SIZE.draw("Prefix tokens", count, width=_NUMBER_WIDTH)
    elif kind == "window":
        with st.container(horizontal=True, width="content", gap="small"):
            size = MASK_SIZE.draw("Tokens before", count - 1, width=_NUMBER_WIDTH)
            after = MASK_AFTER.draw("Tokens after", count - 1, width=_NUMBER_WIDTH)
    elif kind == _BY_HAND:
        with drawn_as_text:
            drawn = CELLS.draw(
                "Drawn mask, as text",
                help="One group of hexadecimal digits a row; a digit holds four cells, 8 the first and 1 the "
                "fourth. It goes into the link.",
            )
    return _MaskChoice(kind, size, after, drawn)


# Each short enough for one line: a second one would move the cells.
_EXPLAINED = {
    "none": "Every token may look at every token.",
    "causal": "A token sees itself and what comes before.",
    "padding": "As if the last tokens only filled up: nobody sees them.",
    "prefix": "All see the prefix; then nobody looks ahead.",
    "window": "A token sees itself and its neighbours.",
    _BY_HAND: "Your own mask.",
}


def _cells(mask: _MaskChoice, count: int) -> tuple[Mask, _MaskChoice]:
    """The mask's cells; all open, with a word about it, where a drawn mask is none for this sentence."""
    try:
        return _cells_of(mask, count), mask
    except InvalidMask as error:
        st.warning(
            f"{markdown.plain(str(error))} So every cell is open now: draw it anew, or choose another mask.",
            icon=":material/grid_off:",
        )
        every = _MaskChoice(_BY_HAND)
        return _cells_of(every, count), every


def _draw(drawn: str) -> None:
    MASK.set(_BY_HAND)
    CELLS.set(drawn)


def _refuse(error: InvalidMask, cells: Mask, groups: tuple[DisplayToken, ...]) -> None:
    names = [markdown.token(int(row), groups) for row in np.flatnonzero(~cells.any(axis=1))]
    st.error(
        f"**Not computed.** {markdown.plain(str(error))} Rows without an open cell: {', '.join(names)}.",
        icon=":material/block:",
    )


def _long(chosen: MaskedHead, cells: Mask, masked: Floats, shows: Shows) -> None:
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
    named = shown_tokens(chosen.groups)
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
        caption=f"{chosen.text[:_CAPTION]} · head {chosen.head_name} · {shows}",
        filename="attnviz-mask",
    )


def _in_words(chosen: MaskedHead, kind: str, masked: Floats) -> str:
    without = f"In head {chosen.head_name}, {chosen.name} looks at {chosen.looks(chosen.unmasked)}"
    if kind == "none":
        return f"{without}. Nothing is masked."
    called = "your mask" if kind == _BY_HAND else f"the {kind} mask"
    return f"{without} without a mask; with {called}, at {chosen.looks(masked)}."


def _under_causal_mask(chosen: MaskedHead, layer: int) -> tuple[str, float, float, float]:
    """What the causal mask does in a layer, from 0; in the first one, nothing but the open cells has changed.

    Returns:
        The token that the query then looks at most, in Markdown; in percent, the weight on it without the
        mask, on all tokens up to the query without the mask, and on it with the mask.
    """
    free, causal = (chosen.weights(mask, layer)[chosen.query] for mask in (_UNMASKED, _CAUSAL))
    key = int(causal.argmax())
    left = float(free[: chosen.query + 1].sum())
    return markdown.token(key, chosen.groups), 100 * float(free[key]), 100 * left, 100 * float(causal[key])


def _divided(given: float, left: float, share: float) -> tuple[str, str, str]:
    """The three as they are printed: the first divided by the second gives the third."""
    result = percent(share / 100, 1)
    digits = enough_digits([given, left], 1, lambda a, b: percent(a / b, 1) == result)
    return f"{given:.{digits}f} %", f"{left:.{digits}f} %", result


def _first_layer_in_words(chosen: MaskedHead) -> str:
    key, given, left, share = _under_causal_mask(chosen, 0)
    part, of, result = _divided(given, left, share)
    return (
        "In **layer 1** only the first reason counts, so it can be checked with a calculator: without a "
        f"mask, in head 1-{chosen.head + 1}, {chosen.name} gives {key} {part}, and {of} to all that it may "
        f"still see under the causal one, itself included. **{part} / {of} = {result}**: the weight with the "
        "mask."
    )


@computed
def _cells_of(mask: _MaskChoice, tokens: int) -> Mask:
    return compute.cells(mask.kind, tokens, mask.size, mask.after, mask.drawn)


@computed
def _weights(text: str, mask: _MaskChoice, head: int) -> Floats:
    return compute.weights(text, _cells_of(mask, len(loading.tokens(MODEL, text))), head)
