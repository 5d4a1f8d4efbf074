"""Activation patching: each head's output for one sentence, patched into the run on another sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from attnviz.app import controls, markdown, traces
from attnviz.app.heads import choosing
from attnviz.app.heads.intervene import ranking, words
from attnviz.app.heads.intervene.choices import Intervention
from attnviz.app.heads.intervene.ranking import angle
from attnviz.app.job_view import progress_text, show_job
from attnviz.app.references import cited_markdown
from attnviz.app.server.jobs import JOBS, Job
from attnviz.app.state.choices import PATCHED_WITH
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError
from attnviz.experiments.patching import Patching, patch, refuse_unaligned, with_target
from attnviz.experiments.progress import Progress
from attnviz.text import decimal, percent, signed_share
from attnviz.trace import Trace

_MAX_BUTTONS = 10


@dataclass(frozen=True)
class _Request:
    """The two inputs, and the position of the measured outcome, also in words: "after `car`"."""

    clean: ModelInput
    corrupted: str
    place: int
    position_text: str


def draw(chosen: Intervention, place: int | None) -> None:
    """Draw the box for a second sentence, and the effect of patching each head.

    Args:
        chosen: The model, the first sentence and the selected head.
        place: Position of the prediction; None to measure the output of the selected token.
    """
    cited_markdown(
        "The model reads two similar sentences. It then reads the second again, with **one head’s output** "
        "at every token replaced by its output on the first sentence (activation patching: Vig et al. 2020; "
        "Heimersheim & Nanda 2024). How much of the difference between the two outputs does this remove? "
        "To patch in the other direction, exchange the texts of the two boxes. The changes chosen above are "
        "not applied here."
    )
    text = chosen.given.text
    opening = choosing.partner(chosen.entry, text) or text
    other = controls.sentence("Second sentence", opening, PATCHED_WITH)
    try:
        request = _request(chosen, other, place)
    except AttnvizError as error:
        st.info(markdown.plain(str(error)), icon=":material/edit:")
        return
    show_job(
        _job(chosen, request),
        progress_text("Patching every head", "heads"),
        lambda progress: _heads(chosen, request, progress),
        starts=False,
        button="Patch every head",
        key="patching",
    )


def _request(chosen: Intervention, other: str, place: int | None) -> _Request:
    """Check the inputs and return the request.

    Raises:
        AttnvizError: the second sentence cannot be read, or cannot be compared with the first.
    """
    model, given = chosen.entry, chosen.given
    generated = traces.trace(model, given)
    first = with_target(given, generated)
    read = traces.trace(model, first)
    if _ids(read) != _ids(generated):
        raise AttnvizError(
            "The text generated for the first sentence has different tokens when tokenized again, so it "
            "cannot be patched. Choose another sentence."
        )
    at = chosen.query if place is None else place
    refuse_unaligned(read, traces.trace(model, replace(first, text=other)), at)
    return _Request(first, other, at, chosen.token if place is None else words.position_text(chosen, place))


def _ids(trace: Trace) -> list[int]:
    """Return the token ids of the decoder's text or, without a decoder, of the encoder's text."""
    return [token.id for token in trace.blocks[-1].query_tokens]


def _job(chosen: Intervention, request: _Request) -> Job[Patching]:
    name, (clean, corrupted, place) = chosen.entry.name, (request.clean, request.corrupted, request.place)
    key = ("patching", chosen.entry, clean, corrupted, place)
    return JOBS.find(key, lambda: patch(name, clean, corrupted, place))


def _heads(chosen: Intervention, request: _Request, progress: Progress[Patching]) -> None:
    found = progress.found
    order = np.argsort(-np.abs(found.shares), kind="stable")
    texts = [signed_share(share) for share in found.shares]
    st.markdown(_outcome(request, found))
    if found.together is not None:
        st.markdown(
            f":small[The effects sum to {signed_share(found.shares.sum())}. The sum need not be 100 %, "
            "because later heads depend on earlier heads and several heads can have the same effect. "
            "Patching a head with a negative effect increases the difference. Patching all heads together "
            f"removes {signed_share(found.together)}.]"
        )
    limit = float(np.abs(found.shares).max()) or 1.0
    ranking.draw_map(
        "patching map",
        chosen,
        found.patched,
        found.shares,
        title="Fraction of the difference that patching the head removes",
        texts=texts,
        printed=[decimal(100 * share, 0) for share in found.shares],
        low=(-limit, signed_share(-limit)),
        high=(limit, signed_share(limit)),
        kind="diverging",
    )
    strongest: Sequence[int] = order[:_MAX_BUTTONS].tolist()
    ranking.offer(
        chosen, "patched most", [found.patched[at] for at in strongest], [texts[at] for at in strongest]
    )


def _outcome(request: _Request, found: Patching) -> str:
    """Describe the outcomes of both sentences, and how effects are measured, in Markdown."""
    if found.expected is None:
        return (
            f"The output of {request.position_text} after the last layer differs by "
            f"**{angle(found.difference)}** between the two sentences. A head’s effect is the fraction of "
            "that difference (1 − cosine) that patching its output removes."
        )
    one, other = found.expected
    return (
        f"Probabilities {request.position_text} in the first and the second sentence: "
        f"{markdown.code(one.text)} {percent(one.clean, 1)} and {percent(one.corrupted, 1)}, "
        f"{markdown.code(other.text)} {percent(other.clean, 1)} and {percent(other.corrupted, 1)}: the "
        "largest decrease and increase. A head’s effect is the fraction of the difference in the log odds of "
        "the two tokens that patching its output removes."
    )
