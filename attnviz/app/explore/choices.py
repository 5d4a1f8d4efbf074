"""The choices on the page; each is a widget with its value in the link."""

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

Together = Literal["each by itself", "Mean of layer", "Max of layer", "Mean of all", "Max of all"]
"""How the heads are shown; a change, which has a sign, has no maximum."""

ALONE: Together = "each by itself"

_CHOSEN_FOR = "the model of the chosen heads"
_DEFAULTS_IN_LINK = (TEXT, MODEL, LAYER, HEAD, QUERY)


@dataclass(frozen=True)
class Heads:
    """Open heads of one layer, counted from 1: the one with worked-out numbers, and others beside it."""

    layer: int
    head: int
    also: tuple[int, ...]

    @property
    def all(self) -> list[int]:
        """Every open head, the worked-out one first."""
        return [self.head, *self.also]

    @property
    def title(self) -> str:
        """What is open: "Layer 4 · Head 2", "Layer 4 · Heads 2, 5"."""
        numbers = ", ".join(str(head) for head in self.all)
        return f"Layer {self.layer} · {'Heads' if self.also else 'Head'} {numbers}"

    @property
    def name(self) -> str:
        """The head's name as in Clark et al. 2019: "4-2"."""
        return f"{self.layer}-{self.head}"


@dataclass(frozen=True)
class Places:
    """Where the card of the open head is filled in once everything is chosen: title, picture, and buttons."""

    title: DeltaGenerator
    body: DeltaGenerator
    foot: DeltaGenerator


@dataclass(frozen=True)
class Shown:
    """How the open head is shown.

    Attributes:
        style: one of `STYLES`.
        heads: whether all heads are shown together.
        queries: rows that are added up, from 0; none: each is shown by itself.
    """

    style: str
    heads: Together
    queries: tuple[int, ...] = ()


def choose_view(read: ExploreSelection) -> tuple[View, Shown, Places]:
    """Draw how the numbers are shown; return the choice, how heads are shown, and the places left open."""
    tokens = traces.shown(read.model, read.given, read.kind, False, True)
    special = dict.fromkeys(group.label for side in tokens for group in side.groups if group.special)
    # Some models have no special tokens at all, and some texts no others.
    can_hide = bool(special) and not traces.only_special(tokens)
    between = EVERYWHERE
    with st.container(horizontal=True, vertical_alignment="center"):
        title = st.empty()
        style = VIEW.segments("Picture", STYLES)
        if read.given.second is not None:
            between = BETWEEN.segments("From sentence → to sentence", list(traces.BETWEEN), EVERYWHERE)
        hide = can_hide and HIDE.toggle(
            "Hide special tokens",
            help=f"Excludes {' and '.join(map(markdown.plain, special))}; what is left of each row of "
            "weights is rescaled to 100 %.",
        )
        more = st.popover("More")
        with more:
            st.markdown("Numbers at the stage")
            stage = STAGE.segments("Stage", _stages(read), WEIGHTS)
            merge = MERGE.toggle(
                "Merge pieces",
                help="Shows the pieces of a word as one. Attention to a word is the sum over its pieces, "
                "from a word the mean (Clark et al. 2019).",
            )
            per_head = PER_HEAD.toggle(
                "Scale colours per head",
                help="Off: a colour means the same weight in every head. "
                "On, and for scores: each head's largest number has the strongest colour.",
            )
    body = st.container()
    foot = st.container(horizontal=True, vertical_alignment="center")
    with body:
        if stage != WEIGHTS:
            _explain(stage, read)
        if merge and stage != WEIGHTS:
            if any(side.merges for side in tokens):
                st.info("Scores belong to single word pieces; pieces are merged only at the stage “weights”.")
            merge = False
        # Scores differ in size from head to head: on one scale the largest would leave the others blank.
        scale: Scale = "per head" if per_head or stage != WEIGHTS else "shared"
        view = _comparable(
            View(read.model, read.kind, read.given, read.changed, stage, scale, hide, merge, between)
        )
    with more:
        shown = _choose_together(view, style)
    return view, shown, Places(title, body, foot)


def _choose_together(view: View, style: str) -> Shown:
    """Draw the choices of what is shown as one, of weights and their changes in lines and matrices."""
    if view.stage != WEIGHTS or style == "Heatmap":
        return Shown(style, ALONE)
    st.markdown("Heads of a layer, or all heads")
    most = ("Mean of layer", "Mean of all") if view.signed else get_args(Together)[1:]
    heads: Together = POOL.segments("Heads", (ALONE, *most), ALONE)
    options = [option(group) for group in views.groups(view)[0]]
    added = SUM.draw("Add up the rows of these query tokens", options, placeholder="none")
    return Shown(style, heads, tuple(options.index(each) for each in added))


def _stages(read: ExploreSelection) -> list[str]:
    """The stages that this attention has."""
    return [stage.name for stage in stages(_telling(read.trace.of_kind(read.kind)))]


def _telling(blocks: Sequence[Block]) -> Block:
    """The block that has all the stages: not all layers may have a bias, or sinks."""
    return max(blocks, key=lambda block: len(stages(block)))


def _explain(stage: str, read: ExploreSelection) -> None:
    blocks = read.trace.of_kind(read.kind)
    explained = next(each for each in stages(_telling(blocks)) if each.name == stage).explanation
    unmasked = stage == "masked" and all(block.mask.all() for block in blocks)
    nothing = " Here every token may look everywhere: nothing is masked." if unmasked else ""
    st.markdown(f":small[**{stage}**: {explained}.{nothing}]")


def _comparable(view: View) -> View:
    """The view, or that of the first sentence alone if the two cannot be subtracted."""
    if view.changed is None:
        return view
    try:
        views.comparison(view)
    except AttnvizError as error:
        st.warning(f"{markdown.plain(str(error))} Until then, here is the first sentence.")
        return replace(view, changed=None)
    return view


def choose_heads(view: View, clearest: Callable[[], tuple[int, int]]) -> Heads:
    """Draw the choice of layer and heads.

    In an unknown model, the head that `clearest` returns, from 1, is open first.
    """
    layers, heads = views.values(view).shape[:2]
    known = introduction(view.model).head
    begin = (1, 1) if known is None else (min(known[0], layers), min(known[1], heads))
    # Heads of another model are meaningless here, unless a link requests them.
    owner = view.model.name if known is None else known
    moved = memory.get(_CHOSEN_FOR, owner) != owner
    unasked = not memory.has(_CHOSEN_FOR) and not (link.requested(LAYER) or link.requested(HEAD))
    memory.put(_CHOSEN_FOR, owner)
    if known is None and (moved or unasked):
        opening = clearest()
        open_heads(opening[0], [opening[1]])
    elif moved or (LAYER.get(1) or 1) > layers or (HEAD.get(1) or 1) > heads:
        open_heads(begin[0], [begin[1]])
    if ALSO.is_set:
        ALSO.set([head for head in ALSO.get([]) if head in range(1, heads + 1)])
    # Where the opening head is found in the text itself, a widget has no default that a link could omit:
    # whoever opens the link gets this head, whatever text it was found in.
    found = known is None
    with st.popover("By number"):
        layer = LAYER.draw("Layer", layers, begin[0], omit_default=not found)
        head = HEAD.draw("Head", heads, begin[1], omit_default=not found)
        layer = controls.with_weights(view.model, layer - 1) + 1
        also = ALSO.draw("Also show heads", list(range(1, heads + 1)), placeholder="none")
    return Heads(layer, head, tuple(h for h in also if h != head))


def open_heads(layer: int, heads: Sequence[int]) -> None:
    """Open these heads of a layer (from 1), from a picture or a button; the first one is worked out."""
    LAYER.set(layer)
    HEAD.set(heads[0])
    ALSO.set(list(heads[1:]))


def always_named(model: Entry) -> list[str]:
    """Return what a link names even as a default: all that the page found for an unknown model."""
    return [choice.name for choice in _DEFAULTS_IN_LINK] if introduction(model).head is None else []
