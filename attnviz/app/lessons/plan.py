"""For teachers: lesson plans, whose texts are in plan.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st
import yaml

from attnviz.app.lessons import answers
from attnviz.app.lessons.contents import TITLES
from attnviz.app.state.choices import TEACHER

_, _FRONT_MATTER, _INTRODUCTION = Path(__file__).with_name("plan.md").read_text("utf-8").split("---\n", 2)
_TEXTS = yaml.safe_load(_FRONT_MATTER)
_LABELS: dict[str, str] = _TEXTS["labels"]
_EXPECTED = {
    "weighted_average": answers.weighted_average,
    "query_key_value": answers.query_key_value,
    "scale": answers.scale,
    "many_heads": answers.many_heads,
    "masks": answers.closed_cell,
    "positions": answers.without_positions,
    "translate": answers.translation,
    "cause": answers.cause,
    "write": answers.write,
    "induction": answers.induction,
    "watch_it_learn": answers.circuit,
}


@dataclass(frozen=True)
class Step:
    """One lesson of a plan.

    Attributes:
        name: of the lesson.
        minutes: how long it takes.
        ask: what to ask after the lesson's own question.
        not_so: a misconception, and what is true.
    """

    name: str
    minutes: int
    ask: str
    not_so: str


STEPS = {name: Step(name, **texts) for name, texts in _TEXTS["lessons"].items()}
PLANS: dict[str, list[Step]] = {
    title: [STEPS[name] for name in names] for title, names in _TEXTS["plans"].items()
}


def draw() -> None:
    """Draw all plans; each link opens its page in the teacher's view."""
    st.markdown(_INTRODUCTION)
    answered = st.toggle(_LABELS["answers"], key="expected answers", help=_LABELS["answers_help"])
    for tab, steps in zip(st.tabs(list(PLANS)), PLANS.values(), strict=True):
        with tab:
            for step in steps:
                _draw(step, answered)


def _draw(step: Step, answered: bool) -> None:
    link, ask, not_so = st.columns([3, 4, 5])
    with link:
        st.page_link(
            f"pages/{step.name}.py",
            label=f"{TITLES[step.name]}, {step.minutes} min",
            icon=":material/arrow_forward:",
            query_params=[(TEACHER.name, "true")],
        )
    ask.markdown(f"**{_LABELS['ask']}:** {step.ask}")
    if answered:
        ask.markdown(f"**{_LABELS['expect']}:** {_EXPECTED[step.name]()}")
    not_so.markdown(f"**{_LABELS['not_so']}:** {step.not_so}")
