"""What the model makes of the changes; kept on the server, so that nothing is run twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attnviz.app import traces
from attnviz.app.heads.intervene.choices import Intervention
from attnviz.app.server.cache import cached
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.experiments.ablation import OutcomeDistances, moved
from attnviz.interventions.edit import Edit
from attnviz.models.catalogue import Entry
from attnviz.trace import Floats, Kind

_MAX_TOKENS = 5  # of the likeliest before, and as many of the likeliest after


@dataclass(frozen=True)
class LikelyToken:
    """A token that the model could go on with, and how probable it is before and after.

    `place` is its rank before, from 1; None if it was not among the likeliest.
    """

    label: str
    place: int | None
    before: float
    after: float


@dataclass(frozen=True, eq=False)
class Effect:
    """How far all outputs are from those before, one variant, and which tokens are the likeliest.

    These are the likeliest before, then those that came up; none where nothing was asked.
    """

    moved: OutcomeDistances
    likely: tuple[LikelyToken, ...]


def effect(chosen: Intervention, place: int | None) -> Effect:
    """What the changes do together.

    Raises:
        AttnvizError: the model cannot be changed like that.
    """
    return _effect(chosen.entry, chosen.given, chosen.written, place)


def weights(chosen: Intervention) -> Floats | None:
    """[query, key], what the head attends to with the changes.

    Of an encoder–decoder it is read with the text that the unchanged model writes; None where that text,
    read again, has other tokens.

    Raises:
        AttnvizError: the model cannot be changed like that.
    """
    same = ModelInput(chosen.given.text, target=traces.trace(chosen.entry, chosen.given).target)
    found = _weights(chosen.entry, same, chosen.written, chosen.kind, chosen.layer)
    return found[chosen.head] if found.shape[1:] == (len(chosen.queries), len(chosen.keys)) else None


_running = cached("Running the model …")


@_running
def prediction_positions(model: Entry, given: ModelInput) -> tuple[int, ...]:
    """The tokens at which the model can be asked what it expects."""
    return loading.opened(model).prediction_positions(given)


@_running
def _effect(model: Entry, given: ModelInput, edits: Sequence[str], place: int | None) -> Effect:
    changes = [Edit.parse(edit) for edit in edits]
    before = loading.opened(model).outcomes(given, [()], place)
    after = loading.opened(model).outcomes(given, [changes], place)
    likely: list[LikelyToken] = []
    if before.probabilities is not None and after.probabilities is not None:
        p, q = before.probabilities[0], after.probabilities[0]
        first, now = ((-each).argsort(kind="stable")[:_MAX_TOKENS].tolist() for each in (p, q))
        ids = [*first, *(number for number in now if number not in first)]
        likely = [
            LikelyToken(label, rank if rank <= len(first) else None, float(p[number]), float(q[number]))
            for rank, (number, label) in enumerate(
                zip(ids, loading.opened(model).words(ids), strict=True), start=1
            )
        ]
    return Effect(moved(before, after), tuple(likely))


@_running
def _weights(model: Entry, given: ModelInput, edits: Sequence[str], kind: Kind, layer: int) -> Floats:
    return (
        loading.opened(model)
        .trace(given, edits=[Edit.parse(edit) for edit in edits])
        .block(kind, layer)
        .weights
    )


@_running
def target(model: Entry, given: ModelInput, edits: Sequence[str]) -> str:
    """What an encoder–decoder writes with the changes.

    Raises:
        AttnvizError: the model cannot be changed like that.
    """
    return loading.opened(model).trace(given, edits=[Edit.parse(edit) for edit in edits]).target or ""
