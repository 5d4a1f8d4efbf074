"""Widgets that select heads and display options; their values are in the link."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.picture import Scale
from attnviz.analysis.stages import stages
from attnviz.app import controls, markdown, traces
from attnviz.app.examples import introduction
from attnviz.app.explore import views
from attnviz.app.explore.reading import ExploreSelection
from attnviz.app.explore.views import WEIGHTS, View
from attnviz.app.state import link, memory
from attnviz.app.state.choice import option
from attnviz.app.state.choices import (
    ALSO,
    BETWEEN,
    HEAD,
    HIDE,
    LAYER,
    MERGE,
    MODEL,
    PER_HEAD,
    POOL,
    QUERY,
    STAGE,
    SUM,
    TEXT,
    VIEW,
)
from attnviz.app.traces import EVERYWHERE
from attnviz.errors import AttnvizError
from attnviz.models.catalogue import Entry
from attnviz.trace import Block

STYLES = ("Lines", "Matrix", "Heatmap")

Together = Literal["single heads", "Mean of layer", "Max of layer", "Mean of all", "Max of all"]
"""Ways to combine several heads; the maxima are not offered for changes, which are signed."""

ALONE: Together = "single heads"

_HEADS_MODEL = "the model of the chosen heads"
_DEFAULTS_IN_LINK = (TEXT, MODEL, LAYER, HEAD, QUERY)


@dataclass(frozen=True)
class Heads:
    """The open heads of one layer, numbered from 1: the main head and others shown with it."""

    layer: int
    head: int
    also: tuple[int, ...]

    @property
    def all(self) -> list[int]:
        """All open heads, the main head first."""
        return [self.head, *self.also]

    @property
    def title(self) -> str:
        """Heading of the open heads: "Layer 4 · Head 2", "Layer 4 · Heads 2, 5"."""
        numbers = ", ".join(str(head) for head in self.all)
        return f"Layer {self.layer} · {'Heads' if self.also else 'Head'} {numbers}"

    @property
    def name(self) -> str:
        """Name of the main head as in Clark et al. 2019: "4-2"."""
        return f"{self.layer}-{self.head}"


@dataclass(frozen=True)
class Places:
    """Placeholders of the open head's card, filled in last: title, picture and buttons."""

    title: DeltaGenerator
    body: DeltaGenerator
    foot: DeltaGenerator


@dataclass(frozen=True)
class DisplayOptions:
    """Display options of the open head.

    Attributes:
        style: One of `STYLES`.
        heads: How heads are combined.
        queries: Indices of the rows to add up; empty to show each row by itself.
    """

    style: str
    heads: Together
    queries: tuple[int, ...] = ()


def choose_view(read: ExploreSelection) -> tuple[View, DisplayOptions, Places]:
    """Draw the display widgets; return the view, the display options and the placeholders."""
    tokens = traces.shown(read.model, read.given, read.kind, False, True)
    special = dict.fromkeys(group.label for side in tokens for group in side.groups if group.special)
    # Some models have no special tokens, and some texts consist only of special tokens.
    can_hide = bool(special) and not traces.only_special(tokens)
    between = EVERYWHERE
    with st.container(horizontal=True, vertical_alignment="center"):
        title = st.empty()
        style = VIEW.segments("Picture", STYLES)
        if read.given.second is not None:
            between = BETWEEN.segments("From sentence → to sentence", list(traces.BETWEEN), EVERYWHERE)
        hide = can_hide and HIDE.toggle(
            "Hide special tokens",
            help=f"{' and '.join(map(markdown.plain, special))}: added to the text by the tokenizer. The "
            "remaining weights of each row are rescaled to 100 %.",
        )
        more = st.popover("More")
        with more:
            st.markdown("Stage of the computation")
            stage = STAGE.segments("Stage", _stages(read), WEIGHTS)
            merge = MERGE.toggle(
                "Merge pieces",
                help="Shows the pieces of a word as one token. Attention to a word is the sum over its "
                "pieces; attention from a word is their mean (Clark et al. 2019).",
            )
            per_head = PER_HEAD.toggle(
                "Scale colours per head",
                help="Off: a colour means the same weight in every head. "
                "On, and always for scores: each head’s largest number has the strongest colour.",
            )
    body = st.container()
    foot = st.container(horizontal=True, vertical_alignment="center")
    with body:
        if stage != WEIGHTS:
            _explain(stage, read)
        if merge and stage != WEIGHTS:
            if any(side.has_merged for side in tokens):
                st.info("At this stage, pieces have separate scores. Merge them at the stage “weights”.")
            merge = False
        # Scores differ in size between heads: on a shared scale, heads with small scores would look blank.
        scale: Scale = "per head" if per_head or stage != WEIGHTS else "shared"
        view = _comparable(
            View(read.model, read.kind, read.given, read.changed, stage, scale, hide, merge, between)
        )
    with more:
        display = _choose_together(view, style)
    return view, display, Places(title, body, foot)


def _choose_together(view: View, style: str) -> DisplayOptions:
    """Draw the widgets that combine heads or rows; only weights in lines and matrices can be combined."""
    if view.stage != WEIGHTS or style == "Heatmap":
        return DisplayOptions(style, ALONE)
    st.markdown("Combine heads or rows")
    combinations = ("Mean of layer", "Mean of all") if view.signed else get_args(Together)[1:]
    heads: Together = POOL.segments("Heads", (ALONE, *combinations), ALONE)
    options = [option(group) for group in views.groups(view)[0]]
    summed = SUM.draw("Add up the rows of these query tokens", options, placeholder="none")
    return DisplayOptions(style, heads, tuple(options.index(each) for each in summed))


def _stages(read: ExploreSelection) -> list[str]:
    """Return the names of the stages of this kind of attention."""
    return [stage.name for stage in stages(_block_with_all_stages(read.trace.of_kind(read.kind)))]


def _block_with_all_stages(blocks: Sequence[Block]) -> Block:
    """Return the block with the most stages: some layers may have no bias or sink."""
    return max(blocks, key=lambda block: len(stages(block)))


def _explain(stage: str, read: ExploreSelection) -> None:
    blocks = read.trace.of_kind(read.kind)
    explained = next(
        each for each in stages(_block_with_all_stages(blocks)) if each.name == stage
    ).explanation
    unmasked = stage == "masked" and all(block.mask.all() for block in blocks)
    note = " Here nothing is masked: every token may attend to all tokens." if unmasked else ""
    st.markdown(f":small[**{stage}**: {explained}.{note}]")


def _comparable(view: View) -> View:
    """Return the view, or only the first sentence's view if the two sentences cannot be compared."""
    if view.changed is None:
        return view
    try:
        views.comparison(view)
    except AttnvizError as error:
        st.warning(f"{markdown.plain(str(error))} Showing only the first sentence.")
        return replace(view, changed=None)
    return view


def choose_heads(view: View, clearest: Callable[[], tuple[int, int]]) -> Heads:
    """Draw the layer and head selects.

    The default is the head of `introduction(model)`, or else the head that `clearest` returns (from 1).
    """
    layers, heads = views.values(view).shape[:2]
    introduced = introduction(view.model).head
    default = (1, 1) if introduced is None else (min(introduced[0], layers), min(introduced[1], heads))
    # A head selected for another model is not kept.
    owner = view.model.name if introduced is None else introduced
    model_changed = memory.get(_HEADS_MODEL, owner) != owner
    is_unset = not memory.has(_HEADS_MODEL) and not (link.requested(LAYER) or link.requested(HEAD))
    memory.put(_HEADS_MODEL, owner)
    if introduced is None and (model_changed or is_unset):
        opening = clearest()
        open_heads(opening[0], [opening[1]])
    elif model_changed or (LAYER.get(1) or 1) > layers or (HEAD.get(1) or 1) > heads:
        open_heads(default[0], [default[1]])
    if ALSO.is_set:
        ALSO.set([head for head in ALSO.get([]) if head in range(1, heads + 1)])
    # If the initial head depends on the text, links always include the head: it has no fixed default.
    found = introduced is None
    with st.popover("Select by number"):
        layer = LAYER.draw("Layer", layers, default[0], omit_default=not found)
        head = HEAD.draw("Head", heads, default[1], omit_default=not found)
        layer = controls.layer_with_weights(view.model, layer - 1) + 1
        also = ALSO.draw("Also show heads", list(range(1, heads + 1)), placeholder="none")
    return Heads(layer, head, tuple(h for h in also if h != head))


def open_heads(layer: int, heads: Sequence[int]) -> None:
    """Open these heads of a layer; numbers count from 1, and the first head is the main head."""
    LAYER.set(layer)
    HEAD.set(heads[0])
    ALSO.set(list(heads[1:]))


def always_named(model: Entry) -> list[str]:
    """Return parameters that links include even at their defaults; [] if no default depends on the text."""
    return [choice.name for choice in _DEFAULTS_IN_LINK] if introduction(model).head is None else []
