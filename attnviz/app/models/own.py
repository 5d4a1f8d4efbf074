"""A model of the visitor's own: inspected first, and opened only on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import streamlit as st

from attnviz.app import markdown
from attnviz.app.job_view import show_job
from attnviz.app.models import facts
from attnviz.app.models.here import explore_with
from attnviz.app.server import warm_up
from attnviz.app.server.jobs import JOBS, Job
from attnviz.app.state import memory
from attnviz.app.state.choices import OWN_NAME
from attnviz.capture import loading
from attnviz.errors import AttnvizError
from attnviz.experiments.progress import Progress
from attnviz.models import resolve
from attnviz.models.catalogue import Entry
from attnviz.models.limits import BYTES_PER_PARAMETER

_MAX_LENGTH = 1000  # characters; ids and paths are shorter
_MAX_SENT = 10_000  # the browser ignores what is longer, and the page keeps the text before
_HELP = (
    "A **folder** on the machine that runs attnviz, as `save_pretrained` leaves it, or the **id** of a model "
    "on Hugging Face; after an @, the revision. It runs in float32; with `#bfloat16` or `#float16` at its "
    "end, in these. *Inspect* reads no weights; they come into memory when you press *Open*."
)
_SEEN = "inspection of the visitor's own model"


@dataclass(frozen=True)
class ModelInspection:
    """Result of an inspection: the facts, or why the model cannot be opened, with a remedy."""

    name: str
    entry: Entry | None = None
    problem: str = ""


def choose() -> None:
    """Draw the box for a name, and the result of the inspection."""
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
        if st.form_submit_button("Inspect", icon=":material/search:"):
            with st.spinner("Inspecting the model …"):
                memory.put(_SEEN, _inspect(typed))
    seen: ModelInspection | None = memory.get(_SEEN)
    if seen and seen.name == typed:
        _draw_inspection(seen)


def _inspect(name: str) -> ModelInspection:
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


def _draw_inspection(seen: ModelInspection) -> None:
    """Draw the facts of a model and the next action, or the reason that there is none."""
    if seen.entry is None:
        st.error(markdown.plain(seen.problem), icon=":material/block:")
        return
    with st.container(border=True):
        st.subheader(markdown.code(seen.entry.name), anchor=False)
        st.markdown(facts.listed(seen.entry))
        if seen.entry.stored in BYTES_PER_PARAMETER and seen.entry.stored != seen.entry.dtype:
            name = markdown.code(f"{resolve.target(seen.entry.name)[0]}#{seen.entry.stored}")
            st.markdown(f"To run it in {seen.entry.stored}, as it is stored, inspect {name}.")
        job = opening(seen.entry)
        if job.running:
            show_job(job, _words, key="opening", starts=False, button="")
        elif job.finished or loading.is_loaded(seen.entry.name):
            st.success("It is open.", icon=":material/check:")
            explore_with(seen.entry)
        else:
            if job.problem:
                st.error(markdown.plain(job.problem), icon=":material/block:")
            st.button("Open", type="primary", icon=":material/memory:", on_click=job.start)


def _words(job: Job[str]) -> str:
    doing = "Waiting for its turn" if job.latest is None else job.latest.found
    return f"{markdown.plain(doing)} … {job.seconds:.0f} s"


def opening(entry: Entry) -> Job[str]:
    """Return the job that opens a model; its progress is the current action, in words."""
    job: Job[str] = JOBS.find(("opening", entry), lambda: _steps(entry.name, job.report))
    return job


def _steps(name: str, report: Callable[[Progress[str]], None]) -> Iterator[Progress[str]]:
    """Load a model, in one long step, and tune the garbage collector."""
    loading.open_model(name, lambda doing, done: report(Progress(round(100 * done), 100, doing)))
    warm_up.settle()
    yield from ()
