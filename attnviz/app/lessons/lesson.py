"""What every Learn page has: its place in the order, a question, a picture, the code, the way on."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ParamSpec, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import StopException

from attnviz.app import question as questions
from attnviz.app.folded import Section, folded
from attnviz.app.lessons.contents import LESSONS, Lesson
from attnviz.app.page import bar, page
from attnviz.app.question import Question
from attnviz.app.references import cited_markdown
from attnviz.app.state import link
from attnviz.app.state.choices import HEAD, LAYER, QUERY, TEACHER, TEXT
from attnviz.models import catalogue

_ROOT = Path(__file__).parents[3]

# In a formula, the roles' colours are `\textcolor{blue}` (query), `red` (key), `green` (value) and `violet`
# (weights). KaTeX writes them into its elements; these shades can be read on both grounds, as can those that
# Streamlit gives to the same names in text. A picture with steps has buttons for them: the widget that holds
# the step in the link is out of sight. On a phone the picture comes below the question: the answer stands
# where the question was.
STYLE = """
<style>
.stMain .katex-display { font-size: 1.15em; overflow: auto hidden; padding: 0.55em 0.25em; margin: 0.45em 0; }
.stMain .katex [style*="color: blue"] { color: light-dark(#1d4ed8, #93c5fd) !important; }
.stMain .katex [style*="color: red"] { color: light-dark(#b91c1c, #fca5a5) !important; }
.stMain .katex [style*="color: green"] { color: light-dark(#15803d, #86efac) !important; }
.stMain .katex [style*="color: violet"] { color: light-dark(#6d28d9, #c4b5fd) !important; }
:is(.st-key-slide-picture, .st-key-slide-section):empty { display: none; }
.stMain :is(.st-key-step_of_six, .st-key-stage_in_block) { display: none; }
.st-key-question { padding-block: 0.7rem; gap: 0.9rem; }
.st-key-question h2 { font-size: var(--text); padding: 0; }
:is(.st-key-question > .stElementContainer, .st-key-told) p { font-size: var(--text); }
@media (min-width: 62.51em) {
  .st-key-lesson { display: grid; grid: auto 1fr / minmax(0, 7fr) minmax(0, 5fr); column-gap: 2rem; }
  .st-key-lesson > :has(> .st-key-answer-picture) { grid-area: 1 / 1 / 3; }
  .st-key-lesson > :not(:has(> .st-key-answer-picture)) { grid-column: 2; }
}
@media (max-width: 62.5em) {
  .stMarkdown :is(th, td) { padding: 0.3rem 0.35rem; font-size: var(--small); }
  .stColumn:has(.st-key-beside-model) { min-width: 100%; }
}
@media (max-width: 40em) {
  .stMain .katex-display { font-size: 1em; }
  .stMain .katex-display > .katex { white-space: normal; }
  .stMain .stMarkdown :is(th, td) { padding: 0.3rem 0.1rem; font-size: 0.6875rem; line-height: 1.3; }
}
</style>
"""

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")


_RECORDED: ContextVar[list[Question]] = ContextVar("what is asked where nothing is drawn")


@dataclass(frozen=True)
class Place:
    """A part of a page, into which sections are drawn one below the other."""

    container: DeltaGenerator

    def __call__(
        self, draw: Callable[Arguments, Value], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Value:
        """Draw a section here; return what it returns."""
        with self.container:
            return draw(*args, **kwargs)

    def below(self) -> Place:
        """A place of its own, below what is here already."""
        return Place(self.container.container())


@dataclass(frozen=True)
class Places:
    """Where a page draws its sections.

    Attributes:
        controls: what the page is about: the sentence, a head. In the teacher's view, below the question.
        question: to be guessed; beside the picture once the answer is not covered any more. What follows is
            the answer, covered until the visitor asks for it.
        picture: the picture, its main control, and its sentence in words: the teacher's view's second part.
        text: below the question. Not in the teacher's view.
        more: below all that: the headings of further sections. What is open is in the teacher's view, too.
    """

    controls: Place
    question: Place
    picture: Place
    text: Place
    more: Place

    def folded(self, *sections: Section) -> None:
        """Draw the headings of further sections, and the one that the visitor opened."""
        self.more(folded, *sections, key="slide-section")


@contextmanager
def lesson(name: str) -> Iterator[Places]:
    """Draw the frame of the page of this name around its sections."""
    number = [lesson.name for lesson in LESSONS].index(name)

    def beside() -> None:
        place = f"{number + 1} of {len(LESSONS)}"
        st.page_link("pages/learn.py", label=f"Learn · {place}", icon=":material/school:")
        glossary()

    try:
        with page(name, f"{number + 1} · {LESSONS[number].title}", beside):
            st.html(STYLE)
            yield _places()
    except StopException:  # what was typed cannot be read: the visitor can still go on
        way_on(number)
        raise
    way_on(number)


def guess(
    question: str, options: Sequence[str], *, right: str, because: str, of_sentence: bool = True
) -> None:
    """Ask, and cover the answer until the visitor wants to see it; then give it, and judge the guess.

    A question of the teacher's own takes the place of this one. Where a sentence leaves fewer than two
    options, nothing is asked, and nothing covered. What was guessed and uncovered is not in the link: a link
    must not give the answer away.

    Args:
        question: Markdown.
        options: what one can guess, as plain text.
        right: the option that the numbers say is right.
        because: what the numbers are, in Markdown.
        of_sentence: whether it is about the page's sentence, which a room then shows with it, and does not
            name it itself.
    """
    of_page = Question(question, options, right, because, of_sentence=of_sentence)
    if (recorded := _RECORDED.get(None)) is not None:
        recorded.append(of_page)
        return
    with st.container(border=True, key="question"):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            heading = "The answer" if questions.answered() else ":violet[Guess first]"
            st.header(heading, anchor=False, width="content")
            own = questions.form()
        if own or len(options) > 1:
            questions.ask(own or of_page)
        else:
            st.markdown("This sentence leaves nothing to guess.")


def asked(
    question: Callable[Arguments, None], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Question | None:
    """What a page's section asks of a sentence, drawn nowhere; None where it asks nothing."""
    recorded: list[Question] = []
    before = _RECORDED.set(recorded)
    try:
        question(*args, **kwargs)
    finally:
        _RECORDED.reset(before)
    return recorded[0] if recorded else None


def the_code(*functions: tuple[str, ...]) -> None:
    """Draw the source of the functions that computed the picture.

    Each is (module, name, …): names of classes and functions of the module, or "Class.method".
    """
    for module, *names in functions:
        path = f"{module.replace('.', '/')}.py"
        for name in names:
            st.markdown(f"`{name}` in `{path}`")
            st.code(source_of(module, name), language="python", wrap_lines=True)


def not_shown(points: str) -> None:
    """Draw what one could wrongly conclude from the picture: a Markdown list."""
    cited_markdown(points)


@cache
def source_of(module: str, name: str) -> str:
    """The source of a function or class, read from its file: nothing is imported to show it.

    Raises:
        LookupError: the module has nothing of that name.
    """
    text = (_ROOT / f"{module.replace('.', '/')}.py").read_text("utf-8")
    found: ast.Module | ast.FunctionDef | ast.ClassDef = ast.parse(text)
    for part in name.split("."):
        found = _definition(found.body, part)
    assert isinstance(found, ast.FunctionDef | ast.ClassDef)  # noqa: S101 - a name has at least one part
    first = min([found.lineno, *(decorator.lineno for decorator in found.decorator_list)])
    lines = text.splitlines()[first - 1 : found.end_lineno]
    return "\n".join(line[found.col_offset :] for line in lines)


def _definition(body: Sequence[ast.stmt], name: str) -> ast.FunctionDef | ast.ClassDef:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return node
    raise LookupError(f"There is no {name}.")


def _places() -> Places:
    projected = link.current(TEACHER).lower() == "true"
    if projected:
        with st.container(key="slide-question"):
            question, controls = st.container(), st.container()
    else:
        controls = bar()
    with st.container(key="lesson"):
        if not projected:
            question = st.container()
        with st.container(key="answer-picture"):
            picture = st.container(border=True, key="slide-picture")
        text = st.container(key="answer-text")
    with st.container(key="answer-more"):
        more = st.container()
    return Places(*map(Place, (controls, question, picture, text, more)))


def way_on(number: int) -> None:
    """The pages before and after, and the same idea on Explore; the sentence goes along."""
    st.divider()
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        if number:
            before = LESSONS[number - 1]
            label = f"{number} · {before.title}"
            with st.container(key="page-before", width="content"):
                st.page_link(f"pages/{before.name}.py", label=label, icon=":material/arrow_back:")
        this = LESSONS[number]
        st.page_link(
            "pages/explore.py",
            label=f"Explore: {this.text.front_matter['explore']}",
            icon=":material/grid_view:",
            query_params=[*_shared(this), *this.explore],
        )
        if number + 1 < len(LESSONS):
            after = LESSONS[number + 1]
            label = f"Next: {number + 2} · {after.title}"
            forward = ":material/arrow_forward:"
            with st.container(key="page-after", width="content"):
                st.page_link(f"pages/{after.name}.py", label=label, icon=forward, icon_position="right")
        else:
            st.page_link(
                "pages/learn.py", label="That was the last: all the questions", icon=":material/school:"
            )


def _shared(this: Lesson) -> list[tuple[str, str]]:
    """The choices that Explore has too: what the visitor chose here is open there."""
    if this.sentence != TEXT:  # another model's layers, heads and words
        return [(TEXT.name, text) for _, text in link.along(this.sentence)]
    return link.along(TEXT, LAYER, HEAD, QUERY)


_GLOSSARY = f"""
- **Token**: what a model reads: a word, a piece of one (`##ized`), or a sign. **[CLS]** and **[SEP]** are
  tokens that BERT adds at the beginning and the end; many heads look mostly there (Clark et al. 2019).
  The translator's are **[START]**, from which it begins to write, and **[END]**.
- **Vector**: a list of numbers. **Length** of a vector: the root of its summed squares.
- **BERT**: a transformer that reads a whole text. The one here is small (6 layers with 12 heads each, vectors
  of 384 numbers): it was {catalogue.MINILM_LEARNED}.
- **Transformer**: a model made of **layers**; each takes all tokens' vectors and hands new ones on. An
  **encoder** reads a whole text; a **decoder** writes one, token by token: of its own text it sees only
  what is written so far. An **encoder–decoder** has both, and **cross-attention** between them: what is
  written reads what was read. The translator is a small one, English into French, trained for attnviz.
- **Attention**: how a token takes from the tokens that it looks at: a weighted mix of what they hand over.
  **Head**: one of the attentions side by side in a layer; `4-2` is the second head of the fourth layer.
- :blue[**Query**], :red[**key**], :green[**value**]: what a token looks for, what it offers to be found
  by, and what it hands over. In a matrix of weights, queries are rows and keys are columns: the **row** of a
  token is what that token looks at.
- **Score**: how well a query fits a key. **Softmax**: *e* to the power of each score, divided by the sum of
  all. :violet[**Weights**]: what softmax makes of a row of scores: shares that sum to 100 %.
- **Trained**: its numbers were changed in small steps until it did its task. **Gradient**: how strongly, and
  which way, a result reacts if a number is changed a little; training is guided by it. **Bias**: a
  number that is added. **Held out**: kept from the training, to test with.
"""


def glossary() -> None:
    """Draw a button that opens the list."""
    with st.popover("Glossary"):
        cited_markdown(_GLOSSARY)
