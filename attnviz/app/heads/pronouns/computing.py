"""The pairs and the sentences, read once for each model, for everybody who asks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence

from attnviz.app.heads.choosing import HeadSelection
from attnviz.app.models import lookup
from attnviz.app.server import warm_up
from attnviz.app.server.jobs import JOBS, Job
from attnviz.experiments import coreference, syntax
from attnviz.experiments.coreference import Verdicts
from attnviz.experiments.pairs import Pair
from attnviz.experiments.progress import Progress
from attnviz.experiments.sentences import reader
from attnviz.experiments.syntax import Grammar
from attnviz.trace import Trace


def verdicts(chosen: HeadSelection, asked: Sequence[Pair]) -> Job[Verdicts]:
    """What every head does with these pairs."""

    def steps() -> Iterator[Progress[Verdicts]]:
        yield from coreference.resolve(asked, _trace(chosen), chosen.kind)

    written = hashlib.sha256(repr(asked).encode("utf-8", "replace")).hexdigest()
    key = "pronouns", written, *_model(chosen)
    return JOBS.find(key, steps)


def grammar(chosen: HeadSelection) -> Job[Grammar]:
    """What every head finds in the annotated sentences."""

    def steps() -> Iterator[Progress[Grammar]]:
        yield from syntax.measure(syntax.bundled(), _trace(chosen), chosen.kind)

    key = "relations", *_model(chosen)
    return JOBS.find(key, steps)


def _trace(chosen: HeadSelection) -> Callable[[str], Trace]:
    """Loads the model, if need be."""
    return reader(chosen.entry, warm_up.model(chosen.entry.name))


def _model(chosen: HeadSelection) -> tuple[str, str]:
    """The model's name, and the fingerprint of its files."""
    return chosen.entry.name, lookup.fingerprint(chosen.entry.name)
