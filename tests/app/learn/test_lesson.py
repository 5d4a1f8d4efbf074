"""What all Learn pages share: they open, they end in the next one, and they show the code that ran."""

import importlib
import inspect
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app import caches
from attnviz.app.examples import OPENING
from attnviz.app.learn import english, lesson
from attnviz.app.learn.contents import LESSONS
from attnviz.app.learn.lesson import source_of
from tests.app.learn.conftest import VisitLesson

NAMES = [each.name for each in LESSONS]


def clean(app: AppTest) -> None:
    assert not app.exception, app.exception[0].value
    assert not app.error


@pytest.mark.parametrize("name", NAMES)
def test_a_page_opens_on_the_opening_sentence_and_has_nothing_to_complain_of(
    visit_lesson: VisitLesson, name: str
) -> None:
    app = visit_lesson(name)
    clean(app)
    assert not app.warning
    number = NAMES.index(name)
    assert app.title[0].value == f"{number + 1} · {LESSONS[number].question}"
    sentence = LESSONS[number].sentence
    opening = OPENING.text if sentence == "text" else english.OPENING
    assert app.session_state[sentence] == opening
    links = [element.proto.page for element in app.get("page_link")]
    neighbours = [NAMES[at] for at in (number - 1, number + 1) if 0 <= at < len(NAMES)]
    assert set(links) >= {*neighbours, "", "learn"}


@pytest.mark.parametrize("name", NAMES)
def test_a_page_says_what_its_link_asked_for_in_vain(visit_lesson: VisitLesson, name: str) -> None:
    app = visit_lesson(name, rubbish="1")
    clean(app)
    assert "rubbish" in app.warning[0].value


@pytest.mark.parametrize("name", NAMES)
def test_a_page_says_what_it_does_not_show(visit_lesson: VisitLesson, name: str) -> None:
    headings = [heading.value for heading in visit_lesson(name).header]
    assert "What this picture does not show" in headings


@pytest.mark.parametrize("name", NAMES)
def test_the_teachers_view_draws_the_picture_outside_of_what_is_hidden(
    visit_lesson: VisitLesson, name: str
) -> None:
    app = visit_lesson(name, teacher="true")
    clean(app)
    assert app.toggle(key="teacher").value
    assert not app.warning


@contextmanager
def called() -> Iterator[set[CodeType]]:
    """The code of every Python function that other threads call meanwhile: the app runs in one of its own."""
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            seen.add(frame.f_code)

    threading.setprofile(note)
    try:
        yield seen
    finally:
        threading.setprofile(None)


def definition(module: str, name: str) -> Any:
    """The function or class itself; `attnviz.app.x:y` of its source is beside the point."""
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = inspect.getattr_static(found, part)
    return inspect.unwrap(getattr(found, "__func__", found))


def codes(thing: Any) -> set[CodeType]:
    """The code of a function, or of a class's own methods."""
    if not inspect.isclass(thing):
        return {thing.__code__}
    members = (getattr(member, "fget", member) for member in vars(thing).values())
    return {inspect.unwrap(member).__code__ for member in members if inspect.isfunction(member)}


CHOICES: dict[str, list[dict[str, str]]] = {
    "masks": [{"mask": kind} for kind in ("none", "causal", "padding", "prefix", "window", "by hand")],
    "positions": [{"encoding": kind} for kind in ("Sinusoidal", "Learned", "Rotary", "ALiBi")],
    "weighted_average": [
        {"scoring": how} for how in ("Dot product", "Scaled dot product", "Cosine", "Additive")
    ],
}


# What computed numbers that are stored with attnviz; the tests of these functions compute them again.
RAN_EARLIER = {
    *("translation_loss", "attention_loss", "Training.step"),
    *("watch", "glance", "Examination.snapshot"),
    "reactions",
}


@pytest.mark.parametrize(
    ("name", "choices"), [(name, choices) for name in NAMES for choices in CHOICES.get(name, [{}])]
)
def test_the_code_that_is_shown_is_the_code_that_ran(
    visit_lesson: VisitLesson, name: str, choices: dict[str, str]
) -> None:
    shown: list[tuple[str, str]] = []
    visit_lesson(name)  # the model is loaded now, and what is lazily imported
    caches.clear()

    def note(module: str, function: str) -> str:
        shown.append((module, function))
        return source_of(module, function)

    with patch.object(lesson, "source_of", note), called() as seen:
        app = visit_lesson(name, choices)
    clean(app)
    assert not app.warning
    assert shown
    ran = {(code.co_filename, code.co_firstlineno) for code in seen}
    for module_name, function in shown:
        thing = definition(module_name, function)
        assert source_of(module_name, function) == inspect.cleandoc("\n" + inspect.getsource(thing)).strip(
            "\n"
        )
        places = {(code.co_filename, code.co_firstlineno) for code in codes(thing)}
        assert places & ran or function in RAN_EARLIER, f"{module_name}.{function} is shown but did not run"


def test_a_function_that_does_not_exist_cannot_be_shown() -> None:
    with pytest.raises(LookupError):
        source_of("attnviz.transformer.masks", "no_such_mask")


def test_the_shown_source_of_a_method_is_dedented() -> None:
    source = source_of("attnviz.app.components.component", "component")
    assert source.startswith("def component(")
    assert source_of("attnviz.transformer.bert", "Bert.from_folder").startswith(
        "@classmethod\ndef from_folder("
    )


def test_a_guess_is_judged_by_what_is_right() -> None:
    def page() -> None:
        from attnviz.app.learn.lesson import guess

        guess("Which?", ["dog", "road"], right="dog", because="Because 0.7 > 0.1.", key="guess_test")

    app = AppTest.from_function(page).run()
    assert not app.markdown
    app.button_group(key="guess_test").set_value("road").run()
    assert app.markdown[0].value == "**Not quite.** Because 0.7 > 0.1."
    app.button_group(key="guess_test").set_value("dog").run()
    assert app.markdown[0].value == "**Yes.** Because 0.7 > 0.1."
