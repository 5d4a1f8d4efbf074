"""For teachers: lessons of 45, 90 and 40 minutes, page by page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from attnviz.app.learn import answers
from attnviz.app.learn.contents import TITLES
from attnviz.app.state.choices import TEACHER


@dataclass(frozen=True)
class Step:
    """One page of a lesson.

    Attributes:
        name: of the page.
        minutes: how long it takes.
        ask: what to ask once the page's own question is answered.
        answer: says what to expect, in Markdown.
        wrong: what students may say, and should not leave with.
        at_first: whether 45 minutes have room for it.
    """

    name: str
    minutes: int
    ask: str
    answer: Callable[[], str]
    wrong: str
    at_first: bool = False


STEPS = (
    Step(
        "weighted_average",
        10,
        "Set the temperature to 0, and to its end. What is lost each time?",
        answers.weighted_average,
        "“The words know what *it* means.” Nothing is learned here: a word takes most from what is like it.",
        at_first=True,
    ),
    Step(
        "scale",
        10,
        "Drag d to 1,024. Could a query that gives one key everything still learn?",
        answers.scale,
        "“The root makes the weights right.” It keeps random scores from growing with d.",
    ),
    Step(
        "query_key_value",
        15,
        "Which of the six steps has learned numbers in it, and which is arithmetic alone?",
        answers.query_key_value,
        "“The weights are learned.” Three matrices are; the weights are computed anew for each sentence.",
        at_first=True,
    ),
    Step(
        "masks",
        10,
        "Close the cell from *it* to *dog*. Where does its weight go?",
        answers.closed_cell,
        "“A closed cell gets a small weight.” It gets exactly 0, and the others share the 100 %.",
    ),
    Step(
        "positions",
        10,
        "Without positions, what could a model say about “dog bites man” and “man bites dog”?",
        answers.positions_left_out,
        "“Attention reads from left to right.” BERT without positions has no order at all.",
    ),
    Step(
        "translate",
        10,
        "Change *tired* into *narrow*. Which row decides, and what did that row read?",
        answers.translation,
        "“It translates word by word.” Each word reads the English sentence, and the French before it.",
        at_first=True,
    ),
    Step(
        "cause",
        10,
        "Which arrow did you have to move? Is there another that does the same?",
        answers.cause,
        "“A bold line is the reason.” A line says what was read; only a change shows what it does.",
        at_first=True,
    ),
    Step(
        "many_heads",
        15,
        "Which head adds most here, and what does it look at? And for another word?",
        answers.many_heads,
        "“Each head has one job.” A label is about this sentence; try two more before you believe it.",
    ),
)

STORYTELLER = (
    Step(
        "write",
        10,
        "Let it write with temperature 0, twice; then with 1, and another seed. What changes?",
        answers.write,
        "“It has the story in mind.” Each word is chosen when its turn comes, from what stands there.",
    ),
    Step(
        "induction",
        20,
        "Silence the induction heads, then others instead. When does the copying end?",
        answers.induction,
        "“It knows these words by heart.” They are random: it looks up what followed the first time.",
    ),
    Step(
        "watch_a_circuit_form",
        10,
        "Between which two stored steps does the copying come? What else comes there?",
        answers.watch_a_circuit_form,
        "“It gets a little better at each step.” Much of it comes within few steps.",
    ),
)

PLANS = {
    "45 minutes": [step for step in STEPS if step.at_first],
    "90 minutes": STEPS,
    "40 minutes: the storyteller": STORYTELLER,
}


def draw() -> None:
    """Draw all plans; each link opens its page in the teacher's view."""
    st.markdown(
        "A plan is a lesson as a list of pages: open a room, and then one link after the other; the "
        "students' pages follow, and the bar at the foot asks each page's question. The links open the "
        "teacher's view; each answer is covered until *Reveal*. *Copy link* gives a page to those "
        "who are in no room."
    )
    answered = st.toggle(
        "Expected answers", key="expected answers", help="Computed when this is on; not for the projector."
    )
    for tab, steps in zip(st.tabs(list(PLANS)), PLANS.values(), strict=True):
        with tab:
            for step in steps:
                _draw(step, answered)


def _draw(step: Step, answered: bool) -> None:
    link, ask, wrong = st.columns([3, 4, 5])
    with link:
        st.page_link(
            f"pages/{step.name}.py",
            label=f"{TITLES[step.name]}, {step.minutes} min",
            icon=":material/arrow_forward:",
            query_params=[(TEACHER.name, "true")],
        )
    ask.markdown(f"**Then ask:** {step.ask}")
    if answered:
        ask.markdown(f"**Expect:** {step.answer()}")
    wrong.markdown(f"**Not so:** {step.wrong}")
