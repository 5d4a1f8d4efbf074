"""A model of the visitor's own: inspected first, and opened only on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import inf

import streamlit as st

from attnviz.app import markdown
from attnviz.app.job_view import is_stopped, show_job
from attnviz.app.models import facts
from attnviz.app.models.here import explore_with
from attnviz.app.server import warm_up
from attnviz.app.server.jobs import JOBS, Job, State, Visitor
from attnviz.app.state import memory
from attnviz.app.state.choices import OWN_NAME
from attnviz.capture import loading
from attnviz.errors import AttnvizError
from attnviz.experiments.progress import Progress
from attnviz.models import resolve
from attnviz.models.catalogue import Entry
from attnviz.models.limits import BYTES_OF_A_NUMBER

_MAX_LENGTH = 1000  # characters: longer than any id, and than any path
_MAX_SENT = 10_000  # the browser ignores what is longer, and the page keeps the text before
_HELP = (
    "A **folder** on the machine that runs attnviz, as `save_pretrained` leaves it, or the **id** of a model "
    "on Hugging Face; after an @, the revision. It runs in float32; with `#bfloat16` or `#float16` at its "
    "end, in these. *Look* reads no weights; they come into memory when you press *Open*."
)
_SEEN = "what was seen of the visitor's own model"
_MINE = "the model that this visitor opens"


@dataclass(frozen=True)
class ModelInspection:
    """The inspection of a model: the facts, or why it cannot be opened, and what helps."""

    name: str
    entry: Entry | None = None
    problem: str = ""


@dataclass(frozen=True)
class _Mine:
    """The model that a visitor wanted opened last, and the job that opens it."""

    name: str
    job: Job[str]


def choose() -> None:
    """Draw the box for a name, and the inspection."""
    with (
        st.form("inspection", border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        typed = resolve.pasted(
            OWN_NAME.draw(
                "Your own model: a folder, or an id on Hugging Face",
                max_chars=_MAX_SENT,
                placeholder="openai-community/gpt2",
                width=560,
                help=_HELP,
            )
        )
        if st.form_submit_button("Look", icon=":material/search:"):
            with st.spinner("Looking at the model …"):
                memory.put(_SEEN, _look(typed))
    seen: ModelInspection | None = memory.get(_SEEN)
    if seen and seen.name == typed:
        _tell(seen)


def _look(name: str) -> ModelInspection:
    if not name:
        return ModelInspection(name, problem="Type the folder of a model, or its id on Hugging Face.")
    if len(name) > _MAX_LENGTH:
        return ModelInspection(
            name,
            problem=f"This name has {len(name):,} characters; at most {_MAX_LENGTH:,} are allowed. "
            "Type the folder of a model, or its id on Hugging Face.",
        )
    try:
        return ModelInspection(name, resolve.entry(name))
    except AttnvizError as error:
        return ModelInspection(name, problem=str(error))


def _tell(seen: ModelInspection) -> None:
    """Draw the facts of a model, and what can be done next; or why there is nothing to be done."""
    if seen.entry is None:
        st.error(markdown.plain(seen.problem), icon=":material/block:")
        return
    with st.container(border=True):
        st.subheader(markdown.code(seen.entry.name), anchor=False)
        st.markdown(facts.listed(seen.entry))
        if seen.entry.stored in BYTES_OF_A_NUMBER and seen.entry.stored != seen.entry.dtype:
            name = markdown.code(f"{resolve.target(seen.entry.name)[0]}#{seen.entry.stored}")
            st.markdown(f"To run it in {seen.entry.stored}, as it is stored, inspect {name}.")
        mine: _Mine | None = memory.get(_MINE)
        job = mine.job if mine and mine.name == seen.entry.name else None
        if job and job.running and not is_stopped(job, "opening"):
            show_job(job, partial(_words, job), key="opening")
        elif (job and job.state == "finished") or loading.ready(seen.entry.name):
            st.success("It is open.", icon=":material/check:")
            explore_with(seen.entry)
        else:
            if job and job.problem:
                st.error(markdown.plain(job.problem), icon=":material/block:")
            st.button("Open", type="primary", icon=":material/memory:", on_click=_open, args=(seen.entry,))


def _open(entry: Entry) -> None:
    memory.put(_MINE, _Mine(entry.name, begin_opening(entry.name, memory.visitor())))


def _words(job: Job[str], state: State, latest: Progress[str] | None) -> str:
    doing = "Waiting for its turn" if latest is None or state == "queued" else latest.found
    return f"{markdown.plain(doing)} … {job.seconds:.0f} s"


def begin_opening(name: str, visitor: Visitor) -> Job[str]:
    """Begin to open a model, or join those who wait for it; what the job finds is what it does at the moment.

    It goes on when the page that started it is closed, and stops early only when all who requested it have
    so.
    """
    job: Job[str] = Job(lambda: _steps(name, job.report), unwatched_seconds=inf, resumes=False)
    return JOBS.begin(("_opening", name), job, visitor)


def _steps(name: str, report: Callable[[Progress[str]], None]) -> Iterator[Progress[str]]:
    """Bring a model into memory, in one long step, and tune the server for it."""
    loading.open_model(name, lambda doing, done: report(Progress(round(100 * done), 100, doing)))
    warm_up.settle()
    yield from ()
