"""The pairs and the sentences, read once for each model, for everybody who asks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attnviz.app import warm_up
from attnviz.app.heads.pronouns.choices import HeadSelection
from attnviz.app.work import RUNNING, SERVER, Work
from attnviz.experiments import pronouns, relations
from attnviz.experiments.one_by_one import reader
from attnviz.experiments.pairs import Pair
from attnviz.experiments.progress import Progress
from attnviz.experiments.pronouns import Verdicts
from attnviz.experiments.relations import Grammar
from attnviz.trace import Trace


def verdicts(chosen: HeadSelection, asked: Sequence[Pair]) -> Work[Verdicts]:
    """What every head does with these pairs."""

    def steps() -> Iterator[Progress[Verdicts]]:
        yield from pronouns.resolve(asked, _trace(chosen), chosen.kind)

    written = hashlib.sha256(repr(asked).encode("utf-8", "replace")).hexdigest()
    return SERVER.find(("pronouns", written, *_model(chosen)), steps)


def grammar(chosen: HeadSelection) -> Work[Grammar]:
    """What every head finds in the annotated sentences."""

    def steps() -> Iterator[Progress[Grammar]]:
        yield from relations.measure(relations.bundled(), _trace(chosen), chosen.kind)

    return SERVER.find(("relations", *_model(chosen)), steps)


def _trace(chosen: HeadSelection) -> Callable[[str], Trace]:
    """Loads the model, if need be."""
    return reader(chosen.entry, warm_up.model(chosen.entry.name))


def runs(work: Work[Any]) -> bool:
    """Whether it is being computed, or waits for its turn."""
    return work.state in RUNNING


def _model(chosen: HeadSelection) -> tuple[str, str]:
    """The model's name, and by what its files are known."""
    return chosen.entry.name, chosen.entry.fingerprint
