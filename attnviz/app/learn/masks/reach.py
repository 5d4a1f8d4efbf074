"""Which outputs can one word change? The last section of "Who may look at whom?"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import numpy as np
import streamlit as st

from attnviz.app import controls, markdown
from attnviz.app.components.share_table import share_table
from attnviz.app.learn import choosing
from attnviz.app.learn.computed import MODEL, computed
from attnviz.app.learn.computed import masks as compute
from attnviz.app.state.choices import EDITED, REPLACEMENT
from attnviz.errors import AttnvizError
from attnviz.models import catalogue
from attnviz.text import isolated, joined

_replaced = computed(compute.replaced)
_reach = computed(compute.reach)

_MOST_OUTPUTS = 60


def draw(text: str) -> None:
    """Change one word, and show which outputs it reaches, in an encoder and in a decoder."""
    numbers = catalogue.entry(MODEL).d_model
    st.markdown(
        "Replace one word. The model reads both sentences: is each token's **output** (its vector after the "
        f"last layer, {numbers} numbers) the same **to the bit**? If not, how far did it turn (1 − cosine: 0 "
        "is the same direction)?"
    )
    word, other = st.columns(2)
    with word:
        place = choosing.token(
            text, "Word to replace", EDITED, controls.place_of("tired", choosing.tokens(text))
        )
    with other:
        replacement = REPLACEMENT.draw("Replace it with", "narrow")
    try:
        changed = _replaced(text, place, replacement)
    except AttnvizError as error:
        st.warning(markdown.plain(str(error)), icon=":material/edit:")
    else:
        _outputs(text, changed, _reach(text, changed))
    why, difference = st.columns(2, gap="large")
    why.markdown(
        "**Under a causal mask, early tokens never change.** In each layer a token reads only itself and the "
        "tokens before it. If none of these changed, its output is the same, and so for the next layer: "
        "nothing comes back from behind the mask."
    )
    difference.markdown(
        "**Reading and writing.** Models such as BERT look to both sides: every word may change what every "
        "other one means. Models such as GPT look to one side only, so that they can write: what they "
        "computed for the words so far need not be computed again for each new word."
    )


def _outputs(text: str, changed: str, reach: compute.Reach) -> None:
    count = len(reach.edited)
    if not reach.edited.any():
        st.info("Both sentences have the same tokens, so every output is the same. Type another word.")
        return
    before, after = choosing.tokens(text), choosing.tokens(changed)
    first = int(reach.edited.argmax())
    begin = max(0, min(first - _MOST_OUTPUTS // 2, count - _MOST_OUTPUTS))
    seen = range(begin, min(count, begin + _MOST_OUTPUTS))

    def outputs(moved: compute.OutputChange) -> list[Output]:
        return [
            {
                "label": " → ".join(
                    isolated(group.label) for group in (before[at], after[at])[: 1 + reach.edited[at]]
                ),
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
        st.markdown(_reach_in_words(text, reach))


def _reach_in_words(text: str, reach: compute.Reach) -> str:
    count, first = len(reach.edited), int(reach.edited.argmax())
    edited = [str(place + 1) for place in np.flatnonzero(reach.edited)]
    tokens, were = ("Token", "was") if len(edited) == 1 else ("Tokens", "were")
    free, behind = reach.encoder.unchanged, reach.decoder.unchanged
    others = np.where(reach.edited, -1, reach.encoder.distance)
    furthest = int(others.argmax())
    return (
        f"{tokens} {joined(edited)} of {count} {were} replaced. "
        f"**Without a mask {int(free.sum())}** of {count} outputs stayed the same to the bit; of the tokens "
        "that were not replaced, "
        f"{markdown.token(furthest, choosing.tokens(text))} moved furthest ({_distance(others[furthest])}). "
        f"**With a causal mask {int(behind.sum())}** stayed the same: {int(behind[:first].sum())} of the "
        f"{first} before the new word, {int(behind[first:].sum())} of the {count - first} from it on."
    )


def _distance(distance: float) -> str:
    return "<0.001" if distance < 0.0005 else f"{distance:.3f}"


class Output(TypedDict):
    """One token's output.

    Attributes:
        label: the token; "tired → narrow" where it was replaced (`edited`).
        unchanged: whether its output is the same to the bit.
        distance, written: 1 − cosine between the output before and after, and as a person reads it.
    """

    label: str
    edited: bool
    unchanged: bool
    distance: float
    written: str


class Row(TypedDict):
    """All tokens under one mask, in order."""

    title: str
    outputs: list[Output]


def moved_outputs(name: str, rows: Sequence[Row], /) -> None:
    """Draw how far each token's output moved, one column of bars for each mask."""
    columns = [row["outputs"] for row in rows]
    share_table(
        name,
        title="How far each output moved",
        columns=[row["title"] for row in rows],
        rows=[
            {
                "label": outputs[0]["label"],
                "place": str(number),
                "shares": [output["distance"] * (not output["unchanged"]) for output in outputs],
                "written": ["= same" if output["unchanged"] else output["written"] for output in outputs],
                "marked": outputs[0]["edited"],
            }
            for number, outputs in enumerate(zip(*columns, strict=True), start=1)
        ],
        full=max((output["distance"] for outputs in columns for output in outputs), default=1) or 1,
    )
