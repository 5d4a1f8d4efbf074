"""The pairs and the sentences, read once for each model, for everybody who asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import streamlit as st

from attnviz.capture.catalogue import Folder
from attnviz.heads import pairs, pronouns, relations
from attnviz.heads.progress import Progress
from attnviz.heads.pronouns import Verdicts
from attnviz.heads.relations import Grammar
from attnviz.ui import warm_up
from attnviz.ui.heads.pronouns.choices import Chosen
from attnviz.ui.work import SERVER, Work

_BEGUN = "the computation that this visitor began"


def verdicts(chosen: Chosen) -> Work[Verdicts]:
    """What every head does with the pairs."""

    def steps() -> Iterator[Progress[Verdicts]]:
        yield from pronouns.resolve(pairs.bundled(), warm_up.model(chosen.entry.name).trace, chosen.kind)

    return SERVER.find(("pronouns", *_model(chosen)), steps)


def grammar(chosen: Chosen) -> Work[Grammar]:
    """What every head finds in the annotated sentences."""

    def steps() -> Iterator[Progress[Grammar]]:
        yield from relations.measure(relations.bundled(), warm_up.model(chosen.entry.name).trace, chosen.kind)

    return SERVER.find(("relations", *_model(chosen)), steps)


def begin(work: Work[Any], name: str) -> None:
    """Let a computation that somebody else has left go on; once, since this visitor may stop it."""
    if st.session_state.get(_BEGUN) != name:
        st.session_state[_BEGUN] = name
        work.start()


def runs(work: Work[Any]) -> bool:
    """Whether it is being computed, or waits for its turn."""
    return work.state in ("waiting", "running")


def _model(chosen: Chosen) -> tuple[str, str]:
    """The model's name, and by what its files are known."""
    origin = chosen.entry.origin
    return chosen.entry.name, origin.stamp if isinstance(origin, Folder) else ""
