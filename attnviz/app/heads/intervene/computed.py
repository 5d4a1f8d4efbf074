"""Results of the model with edits, cached on the server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attnviz.app import traces
from attnviz.app.heads.intervene.choices import Intervention
from attnviz.app.server.cache import cached
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.experiments.ablation import OutcomeDistances, outcome_distances
from attnviz.interventions.edit import Edit
from attnviz.models.catalogue import Entry
from attnviz.trace import Floats, Kind

_MAX_TOKENS = 5  # number of most likely tokens before the edits, and after them


@dataclass(frozen=True)
class LikelyToken:
    """A possible next token, with its probability before and after the edits.

    `rank` is the rank before the edits, from 1; None if the token was not among the most likely tokens.
    """

    label: str
    rank: int | None
    before: float
    after: float


@dataclass(frozen=True, eq=False)
class Effect:
    """The effect of the edits: the change of every output, and the most likely tokens.

    `likely`: The most likely tokens without the edits, then others most likely with the edits; may be empty.
    """

    distances: OutcomeDistances
    likely: tuple[LikelyToken, ...]


def effect(chosen: Intervention, place: int | None) -> Effect:
    """Return the joint effect of the edits; `place` is the position of the prediction, or None.

    Raises:
        AttnvizError: the model does not support these edits.
    """
    return _effect(chosen.entry, chosen.given, chosen.edit_texts, place)


def weights(chosen: Intervention) -> Floats | None:
    """Return the head's weights with the edits, [query, key].

    For an encoder–decoder, the target is the text generated without edits; None if this text has different
    tokens when tokenized again.

    Raises:
        AttnvizError: the model does not support these edits.
    """
    unchanged = ModelInput(chosen.given.text, target=traces.trace(chosen.entry, chosen.given).target)
    found = _weights(chosen.entry, unchanged, chosen.edit_texts, chosen.kind, chosen.layer)
    return found[chosen.head] if found.shape[1:] == (len(chosen.queries), len(chosen.keys)) else None


_cached_run = cached("Running the model …")


@_cached_run
def prediction_positions(model: Entry, given: ModelInput) -> tuple[int, ...]:
    """Return the positions at which the model predicts a token."""
    return loading.opened(model).prediction_positions(given)


@_cached_run
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
    return Effect(outcome_distances(before, after), tuple(likely))


@_cached_run
def _weights(model: Entry, given: ModelInput, edits: Sequence[str], kind: Kind, layer: int) -> Floats:
    return (
        loading.opened(model)
        .trace(given, edits=[Edit.parse(edit) for edit in edits])
        .block(kind, layer)
        .weights
    )


@_cached_run
def target(model: Entry, given: ModelInput, edits: Sequence[str]) -> str:
    """Return the text that an encoder–decoder generates with the edits.

    Raises:
        AttnvizError: the model does not support these edits.
    """
    return loading.opened(model).trace(given, edits=[Edit.parse(edit) for edit in edits]).target or ""
