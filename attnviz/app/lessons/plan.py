"""Lesson plans for teachers, with texts from plan.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st
import yaml

from attnviz.app.lessons.contents import TITLES
from attnviz.app.state.choices import TEACHER

_, _FRONT_MATTER, _INTRODUCTION = Path(__file__).with_name("plan.md").read_text("utf-8").split("---\n", 2)
_TEXTS = yaml.safe_load(_FRONT_MATTER)
_LABELS: dict[str, str] = _TEXTS["labels"]


@dataclass(frozen=True)
class Step:
    """A lesson in a plan.

    Attributes:
        name: Name of the lesson.
        minutes: Duration.
        follow_up: Follow-up question.
        expect: Expected answer.
        misconception: A common mistake, and its correction.
    """

    name: str
    minutes: int
    follow_up: str
    expect: str
    misconception: str


STEPS = {name: Step(name, **texts) for name, texts in _TEXTS["lessons"].items()}
PLANS: dict[str, list[Step]] = {
    title: [STEPS[name] for name in names] for title, names in _TEXTS["plans"].items()
}


def draw() -> None:
    """Draw all plans; each link opens a lesson in the teacher's view."""
    st.markdown(_INTRODUCTION)
    show_answers = st.toggle(_LABELS["answers"], key="expected answers", help=_LABELS["answers_help"])
    for tab, steps in zip(st.tabs(list(PLANS)), PLANS.values(), strict=True):
        with tab:
            for step in steps:
                _draw(step, show_answers)


def _draw(step: Step, show_answers: bool) -> None:
    link, question, misconception = st.columns([3, 4, 5])
    with link:
        st.page_link(
            f"pages/{step.name}.py",
            label=f"{TITLES[step.name]}, {step.minutes} min",
            icon=":material/arrow_forward:",
            query_params=[(TEACHER.name, "true")],
        )
    question.markdown(f"**{_LABELS['follow_up']}:** {step.follow_up}")
    if show_answers:
        question.markdown(f"**{_LABELS['expect']}:** {step.expect}")
    misconception.markdown(f"**{_LABELS['misconception']}:** {step.misconception}")
