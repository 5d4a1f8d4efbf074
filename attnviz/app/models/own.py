"""The visitor's own model: inspected first, and opened only on request."""

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
_MAX_INPUT_LENGTH = 10_000  # the browser ignores longer input, and the page keeps the previous text
_HELP = (
    "A **folder** on the machine that runs attnviz, as saved by `save_pretrained`, or the **id** of a model "
    "on Hugging Face, optionally followed by @ and a revision. The model runs in float32 unless its name "
    "ends in `#bfloat16` or `#float16`. *Inspect* reads no weights; *Open* loads them into memory."
)
_INSPECTION = "inspection of the visitor's own model"


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
        typed = resolve.clean_name(
            OWN_NAME.draw(
                "Your own model: a folder, or an id on Hugging Face",
                max_chars=_MAX_INPUT_LENGTH,
                placeholder="openai-community/gpt2",
                width=560,
                help=_HELP,
            )
        )
        if st.form_submit_button("Inspect", icon=":material/search:"):
            with st.spinner("Inspecting the model …"):
                memory.put(_INSPECTION, _inspect(typed))
    inspection: ModelInspection | None = memory.get(_INSPECTION)
    if inspection and inspection.name == typed:
        _draw_inspection(inspection)


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


def _draw_inspection(inspection: ModelInspection) -> None:
    """Draw the facts about a model and the next action, or the reason why it cannot be opened."""
    if (entry := inspection.entry) is None:
        st.error(markdown.plain(inspection.problem), icon=":material/block:")
        return
    with st.container(border=True):
        st.subheader(markdown.code(entry.name), anchor=False)
        st.markdown(facts.as_list(entry))
        if entry.stored in BYTES_PER_PARAMETER and entry.stored != entry.dtype:
            name = markdown.code(f"{resolve.target(entry.name)[0]}#{entry.stored}")
            st.markdown(f"To run the model in its stored format, {entry.stored}, inspect {name}.")
        job = opening(entry)
        if job.running:
            show_job(job, _status, key="opening", starts=False, button="")
        elif job.finished or loading.is_loaded(entry.name):
            st.success("The model is open.", icon=":material/check:")
            explore_with(entry)
        else:
            if job.problem:
                st.error(markdown.plain(job.problem), icon=":material/block:")
            st.button("Open", type="primary", icon=":material/memory:", on_click=job.start)


def _status(job: Job[str]) -> str:
    action = "Waiting in the queue" if job.latest is None else job.latest.found
    return f"{markdown.plain(action)} … {job.seconds:.0f} s"


def opening(entry: Entry) -> Job[str]:
    """Return the job that opens a model; its progress is the current action, in words."""
    job: Job[str] = JOBS.find(("opening", entry), lambda: _steps(entry.name, job.report))
    return job


def _steps(name: str, report: Callable[[Progress[str]], None]) -> Iterator[Progress[str]]:
    """Load a model, reporting each action, and tune the garbage collector; yield nothing."""
    loading.open_model(name, lambda action, done: report(Progress(round(100 * done), 100, action)))
    warm_up.tune_garbage_collector()
    yield from ()
