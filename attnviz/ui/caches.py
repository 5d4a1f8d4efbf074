"""Everything the server keeps between two clicks, and how much of it.

All keys are short strings and flags: Streamlit samples large arrays when it hashes them, so an array
must never be a key. All values are shared by every visitor and read-only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import streamlit as st

from attnviz.analysis.behaviour import Behaviour, behaviours
from attnviz.analysis.behaviour import facts as describe
from attnviz.analysis.change import Change, change, largest_moves
from attnviz.analysis.picture import Levels, Picture, Scale, diverging, sequential, thumbnails
from attnviz.analysis.sentence import percent, signed_percent
from attnviz.analysis.shown import Group, Shown, shown_mask, shown_scores, shown_weights
from attnviz.analysis.stages import at_stage
from attnviz.capture import loading, stored
from attnviz.trace import Floats, Kind, Mask, Trace
from attnviz.ui import warm_up

KIND: Kind = "encoder"
WEIGHTS = "weights"

Unit = Literal["percent", "signed percent", "score"]


@dataclass(frozen=True)
class View:
    """What defines the pictures of all heads, whichever head is open; a key of the caches.

    Attributes:
        model: a name in the catalogue.
        text: the sentence on show.
        changed: the sentence that a change leads to, or None.
        stage: a name in `analysis.stages.STAGES`.
        scale: "shared" or "per head".
        hide, merge: special tokens hidden, word pieces merged.
    """

    model: str
    text: str
    changed: str | None
    stage: str
    scale: Scale
    hide: bool
    merge: bool

    @property
    def signed(self) -> bool:
        """True where numbers can be negative: scores, and every change."""
        return self.changed is not None or self.stage != WEIGHTS

    @property
    def unit(self) -> Unit:
        """How a number of this view is read: "percent", "signed percent" or "score"."""
        if self.stage != WEIGHTS:
            return "score"
        return "signed percent" if self.changed is not None else "percent"


@st.cache_resource(max_entries=64, show_spinner="Reading the sentence with the model …")
def trace(model: str, text: str) -> Trace:
    """The forward pass of `model` over `text`.

    The opening sentences are stored with the app, so that the first picture need not wait for the model.

    Raises:
        AttnvizError: the text or the model cannot be used; the message says what to do.
    """
    if not loading.ready(model) and (kept := stored.find(model, text)) is not None:
        return kept
    loaded = warm_up.model(model)
    return loaded.trace(text)


@st.cache_resource(max_entries=64, show_spinner=False)
def shown(model: str, text: str, hide: bool, merge: bool) -> Shown:
    """Which tokens of a sentence are shown, and how they are called."""
    read = trace(model, text)
    return Shown(read.of_kind(KIND)[0].query_tokens, text, hide_special=hide, merge_words=merge)


@st.cache_resource(max_entries=8, show_spinner=False)
def weights(model: str, text: str, hide: bool, merge: bool) -> Floats:
    """A sentence's weights as they are shown, [layer, head, shown query, shown key]."""
    return shown_weights(trace(model, text).stack(KIND), shown(model, text, hide, merge))


@st.cache_resource(max_entries=8, show_spinner=False)
def found(model: str, text: str, merge: bool) -> tuple[Behaviour, ...]:
    """What each head does in a sentence, rule by rule; hiding tokens does not alter it."""
    return behaviours(trace(model, text).stack(KIND), shown(model, text, False, merge))


@st.cache_resource(max_entries=8, show_spinner=False)
def values(view: View) -> Floats:
    """The numbers of a view, [layer, head, shown query, shown key]; −inf where the mask forbids."""
    return _values(view, view.text) if view.changed is None else comparison(view).values


@st.cache_resource(max_entries=8, show_spinner=False)
def comparison(view: View) -> Change:
    """The second sentence's numbers minus the first's, token by token; all 0 where there is no second.

    Raises:
        AttnvizError: the sentences do not have equally many tokens.
    """
    second = view.changed or view.text
    return change(
        _values(view, view.text),
        shown(view.model, view.text, view.hide, view.merge),
        _values(view, second),
        shown(view.model, second, view.hide, view.merge),
    )


@st.cache_resource(max_entries=16, show_spinner=False)
def drawn(view: View) -> Picture:
    """A view's numbers as bytes for the browser, [layer, head, shown query, shown key]."""
    draw = diverging if view.signed else sequential
    return draw(values(view), view.scale, _mask(view))


@st.cache_resource(max_entries=8, show_spinner=False)
def small(view: View) -> Levels:
    """All heads in small, uint8 [layer × head, size, size]; only long texts need it."""
    picture = drawn(view)
    return thumbnails(picture.levels.reshape(-1, *picture.levels.shape[2:]), picture.kind)


def _values(view: View, text: str) -> Floats:
    if view.stage == WEIGHTS:
        return weights(view.model, text, view.hide, view.merge)
    blocks = trace(view.model, text).of_kind(KIND)
    return shown_scores(
        np.stack([at_stage(block, view.stage) for block in blocks]),
        shown(view.model, text, view.hide, view.merge),
    )


def _mask(view: View) -> Mask | None:
    """The mask of a view that shows it; before the mask, every score is worth seeing."""
    if view.stage not in ("masked", WEIGHTS):
        return None
    block = trace(view.model, view.text).of_kind(KIND)[0]
    return shown_mask(block.mask, shown(view.model, view.text, view.hide, view.merge))


@st.cache_resource(max_entries=16, show_spinner=False)
def facts(view: View) -> tuple[str, ...]:
    """One short sentence for each head, [layer × head]: what it looks at, or what changed most in it."""
    if view.changed is not None:
        return tuple(
            f"changes most where {query} looks at {key}, {written(view, move)}"
            for query, key, move in largest_moves(comparison(view))
        )
    tokens = shown(view.model, view.text, view.hide, view.merge)
    described = describe(weights(view.model, view.text, view.hide, view.merge), tokens)
    # The average over all tokens: what one token looks at can be something else.
    return tuple(f"on average {fact}" for fact in described)


def groups(view: View) -> tuple[Group, ...]:
    """The shown tokens; in a change, those of both sentences: "tired → narrow"."""
    if view.changed is not None:
        return comparison(view).groups
    return shown(view.model, view.text, view.hide, view.merge).groups


def written(view: View, number: float) -> str:
    """A number of this view as a person reads it."""
    if view.unit == "percent":
        return percent(number)
    if view.unit == "signed percent":
        return signed_percent(number)
    return f"{number:.2f}".replace("-", "−")
