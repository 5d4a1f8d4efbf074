"""The frame of a lesson: picture, explanation, question and further sections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import StopException

from attnviz.app import question as questions
from attnviz.app.folded import THE_CODE, Section, folded
from attnviz.app.lessons.contents import LESSONS, Lesson
from attnviz.app.lessons.document import ENGLISH, SHARED, Document, document, languages
from attnviz.app.lessons.source_code import show_source
from attnviz.app.page import bar, page
from attnviz.app.question import Question
from attnviz.app.references import cited_markdown
from attnviz.app.state import link
from attnviz.app.state.choices import HEAD, LANGUAGE, LAYER, QUERY, TEACHER, TEXT
from attnviz.models import catalogue

Arguments = ParamSpec("Arguments")

_STYLE = Path(__file__).with_name("lesson.css")


@dataclass(frozen=True)
class LessonPage:
    """The texts and containers of a lesson.

    Attributes:
        document: Texts of the lesson.
        controls: Container for the controls, such as those for the sentence and the head.
        picture: Container for the picture and its main control; the second part of the teacher's view.
        beside: Container for the explanation next to the picture; not in the teacher's view.
        card: Container for the question; the first part of the teacher's view.
        below: Container for further sections; the open one is part of the teacher's view.
    """

    document: Document
    controls: DeltaGenerator
    picture: DeltaGenerator
    beside: DeltaGenerator
    card: DeltaGenerator
    below: DeltaGenerator

    def text(self, part: str, /, **values: object) -> None:
        """Draw a part of the document; values that are plain strings are escaped."""
        cited_markdown(self.document.render(part, **values))

    def label(self, name: str, /, **values: object) -> str:
        """Return a label of the document."""
        return self.document.label(name, **values)

    def explain(self, **values: object) -> None:
        """Draw the part "intro" next to the picture."""
        with self.beside:
            self.text("intro", **values)

    def predict(self, *, of_sentence: bool = True, **values: object) -> None:
        """Draw the question, or the teacher's own question instead.

        The lesson's question is omitted if it has fewer than two different options.

        Args:
            of_sentence: True if the question is about the page's sentence; rooms then show the sentence.
            values: Values for the parts "predict" and "answer".
        """
        question = self.document.predict(**values)
        answer = self.document.render("answer", **values)
        box = self.card.container(border=True, key="question")
        with box:
            with st.container(
                horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
            ):
                st.header(self.document.headings["predict"], anchor=False, width="content")
                own = questions.form()
            if own or len(question.options) > 1:
                questions.draw_question(
                    own
                    or Question(
                        question.text, question.options, question.correct, answer, of_sentence=of_sentence
                    )
                )

    def section(
        self,
        part: str,
        draw: Callable[Concatenate[LessonPage, Arguments], None],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Section:
        """Return the further section with the heading of a part, drawn by `draw(page, *args, **kwargs)`."""
        return Section(self.document.headings[part], partial(draw, self, *args, **kwargs), name=part)

    def text_section(self, part: str, **values: object) -> Section:
        """Return a further section that contains only text."""
        return Section(self.document.headings[part], partial(self.text, part, **values), name=part)

    def further(self, *sections: Section, code: Sequence[tuple[str, ...]] = (), **limits: object) -> None:
        """Draw the headings of further sections, and the content of the open one.

        Args:
            sections: Sections of this lesson; the part "limits" is added at the end.
            code: Functions shown in the section "The code", as in `show_source`.
            limits: Values for the part "limits".
        """
        code_section = [Section(THE_CODE, partial(show_source, *code), name="code")] if code else []
        with self.below:
            folded(*sections, *code_section, self.text_section("limits", **limits), key="slide-section")


@contextmanager
def lesson_page(name: str) -> Iterator[LessonPage]:
    """Draw the frame of a lesson around its content."""
    number = [lesson.name for lesson in LESSONS].index(name)
    texts = document(name, _language(name))

    def navigation() -> None:
        label = SHARED.label("lesson", number=number + 1, count=len(LESSONS))
        st.page_link("pages/learn.py", label=label, icon=":material/school:")
        with st.popover(SHARED.label("glossary")):
            cited_markdown(SHARED.render("glossary", pretraining=catalogue.MINILM_TRAINING))
        if len(languages(name)) > 1:
            LANGUAGE.segments(SHARED.label("language"), list(languages(name)), _language(name))

    try:
        with page(name, SHARED.label("numbered", number=number + 1, title=texts.title), navigation):
            questions.read_hiding()
            st.html(_STYLE)
            st.markdown(texts.question)
            yield _containers(texts)
    except StopException:  # the input is invalid, but the links still work
        _related_links(number)
        raise
    _related_links(number)


def _language(name: str) -> str:
    """Return the chosen language, or else the browser's; English if there is no translation."""
    chosen = link.current(LANGUAGE) or (st.context.locale or ENGLISH).split("-")[0].lower()
    return chosen if chosen in languages(name) else ENGLISH


def _containers(texts: Document) -> LessonPage:
    """Create the containers; in the teacher's view the question is first, else below the explanation."""
    projected = link.current(TEACHER).lower() == "true"
    if projected:
        with st.container(key="slide-question"):
            card, controls = st.container(), st.container()
    else:
        controls = bar()
    with st.container(key="lesson"):
        with st.container(key="answer-picture"):
            picture = st.container(border=True, key="slide-picture")
        beside = st.container(key="answer-text")
        if not projected:
            card = st.container()
    with st.container(key="answer-more"):
        below = st.container()
    return LessonPage(texts, controls, picture, beside, card, below)


def _related_links(number: int) -> None:
    """Draw links to the previous and next lessons, and to Explore with the same sentence."""
    st.divider()
    lesson = LESSONS[number]
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        if number:
            _page_link(number - 1, "numbered", "page-before", icon=":material/arrow_back:")
        st.page_link(
            "pages/explore.py",
            label=SHARED.label("explore", title=lesson.text.front_matter["explore"]),
            icon=":material/grid_view:",
            query_params=[*_explore_parameters(lesson), *lesson.explore],
        )
        if number + 1 < len(LESSONS):
            _page_link(
                number + 1, "next", "page-after", icon=":material/arrow_forward:", icon_position="right"
            )
        else:
            st.page_link("pages/learn.py", label=SHARED.label("end"), icon=":material/school:")


def _page_link(number: int, label: str, key: str, **look: Any) -> None:
    lesson = LESSONS[number]
    title = SHARED.label(label, number=number + 1, title=lesson.title)
    with st.container(key=key, width="content"):
        st.page_link(f"pages/{lesson.name}.py", label=title, **look)


def _explore_parameters(lesson: Lesson) -> list[tuple[str, str]]:
    """Return the URL parameters of this page that Explore also has."""
    if lesson.sentence != TEXT:  # the lesson's layers, heads and words are of another model
        return [(TEXT.name, text) for _, text in link.parameters(lesson.sentence)]
    return link.parameters(TEXT, LAYER, HEAD, QUERY)
