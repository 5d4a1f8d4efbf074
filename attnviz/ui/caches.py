"""Everything the server keeps between two clicks, and how much of it.

All keys are short strings and flags: Streamlit samples large arrays when it hashes them, so an array
must never be a key. All values are shared by every visitor and read-only.
"""

from __future__ import annotations

from collections.abc import Sequence
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

WEIGHTS = "weights"

# Which text the queries and the keys are tokens of; one where both are of the same.
_TEXTS: dict[Kind, tuple[str, ...]] = {
    "encoder": ("sentence",),
    "decoder": ("translation",),
    "cross": ("translation", "sentence"),
}

Unit = Literal["percent", "signed percent", "score"]


@dataclass(frozen=True)
class View:
    """What defines the pictures of all heads, whichever head is open; a key of the caches.

    Attributes:
        model: a name in the catalogue.
        kind: which of its attentions: "encoder", "decoder" or "cross".
        text: the sentence on show.
        changed: the sentence that a change leads to, or None.
        stage: a name in `analysis.stages.STAGES`.
        scale: "shared" or "per head".
        hide, merge: special tokens hidden, word pieces merged.
    """

    model: str
    kind: Kind
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
def shown(model: str, text: str, kind: Kind, hide: bool, merge: bool) -> tuple[Shown, ...]:
    """Which tokens of a sentence are shown, and how they are called: queries and keys, or one for both.

    The second text of an encoder–decoder is what its decoder's tokens are tokens of.
    """
    read = trace(model, text)
    block = read.of_kind(kind)[0]
    written = text if read.target is None or kind == "encoder" else read.target
    queries = Shown(block.query_tokens, written, hide_special=hide, merge_words=merge)
    if kind != "cross":
        return (queries,)
    return queries, Shown(block.key_tokens, text, hide_special=hide, merge_words=merge)


@st.cache_resource(max_entries=8, show_spinner=False)
def weights(model: str, text: str, kind: Kind, hide: bool, merge: bool) -> Floats:
    """A sentence's weights as they are shown, [layer, head, shown query, shown key]."""
    return shown_weights(trace(model, text).stack(kind), *shown(model, text, kind, hide, merge))


@st.cache_resource(max_entries=8, show_spinner=False)
def found(model: str, text: str, kind: Kind, merge: bool) -> tuple[Behaviour, ...]:
    """What each head does in a sentence, rule by rule; hiding tokens does not alter it."""
    read = trace(model, text)
    tokens = shown(model, text, kind, False, merge)
    return behaviours(read.stack(kind), *tokens, mask=read.of_kind(kind)[0].mask)


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
        _shown(view, view.text),
        _values(view, second),
        _shown(view, second),
        _TEXTS[view.kind],
    )


@st.cache_resource(max_entries=16, show_spinner=False)
def drawn(view: View) -> Picture:
    """A view's numbers as bytes for the browser, [layer, head, shown query, shown key]."""
    draw = diverging if view.signed else sequential
    return draw(values(view), view.scale, mask(view))


@st.cache_resource(max_entries=8, show_spinner=False)
def small(view: View) -> Levels:
    """All heads in small, uint8 [layer × head, size, size]; only long texts need it."""
    picture = drawn(view)
    return thumbnails(picture.levels.reshape(-1, *picture.levels.shape[2:]), picture.kind)


def allowed(view: View) -> Mask:
    """Where a shown query may look, [shown query, shown key]."""
    block = trace(view.model, view.text).of_kind(view.kind)[0]
    return shown_mask(block.mask, *_shown(view, view.text))


def mask(view: View) -> Mask | None:
    """`allowed`, in a view that shows the mask; None before the mask, where every score is worth seeing."""
    return allowed(view) if view.stage in ("masked", WEIGHTS) else None


def readable(view: View, layer: int, heads: Sequence[int]) -> Floats:
    """The numbers of some heads of a layer (from 1), [head, shown query, shown key]; NaN where masked.

    A weight that the mask forbids is 0 too, but not a 0 that the head has chosen.
    """
    numbers = values(view)[layer - 1, [head - 1 for head in heads]]
    seen = mask(view)
    is_number = np.isfinite(numbers) if seen is None else np.isfinite(numbers) & seen
    return np.where(is_number, numbers, np.float32(np.nan))


@st.cache_resource(max_entries=16, show_spinner=False)
def facts(view: View) -> tuple[str, ...]:
    """One short sentence for each head, [layer × head]: what it looks at, or what changed most in it."""
    if view.changed is not None:
        return tuple(
            f"changes most where {query} looks at {key}, {written(view, move)}"
            for query, key, move in largest_moves(comparison(view))
        )
    described = describe(
        weights(view.model, view.text, view.kind, view.hide, view.merge), *_shown(view, view.text)
    )
    # The average over all tokens: what one token looks at can be something else.
    return tuple(f"on average {fact}" for fact in described)


def groups(view: View) -> tuple[tuple[Group, ...], tuple[Group, ...]]:
    """The rows and the columns; in a change, those of both sentences: "tired → narrow"."""
    if view.changed is not None:
        return comparison(view).queries, comparison(view).keys
    tokens = _shown(view, view.text)
    return tokens[0].groups, tokens[-1].groups


def written(view: View, number: float) -> str:
    """A number of this view as a person reads it."""
    if view.unit == "percent":
        return percent(number)
    if view.unit == "signed percent":
        return signed_percent(number)
    return f"{number:.2f}".replace("-", "−")


def _shown(view: View, text: str) -> tuple[Shown, ...]:
    return shown(view.model, text, view.kind, view.hide, view.merge)


def _values(view: View, text: str) -> Floats:
    if view.stage == WEIGHTS:
        return weights(view.model, text, view.kind, view.hide, view.merge)
    blocks = trace(view.model, text).of_kind(view.kind)
    return shown_scores(np.stack([at_stage(block, view.stage) for block in blocks]), *_shown(view, text))
