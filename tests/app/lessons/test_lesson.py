"""Common behaviour of the Learn pages: opening, links to the next lesson, and the shown code."""

import importlib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any
from unittest.mock import patch

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.examples import OPENING
from attnviz.app.folded import EVERYTHING, NOT_SHOWN, THE_CODE
from attnviz.app.lessons import english, plan, source_code
from attnviz.app.lessons.contents import LESSONS
from attnviz.app.lessons.document import Document, Predict, document
from attnviz.app.lessons.induction import page as induction
from attnviz.app.lessons.source_code import source_of
from attnviz.app.lessons.write import page as write
from attnviz.app.server import cache
from attnviz.app.state.choices import TEXT
from tests.app.shown import FOLDED, buttons, clean, open_page, page_text, paragraphs, press, visit

NAMES = [each.name for each in LESSONS]
BERT_LESSONS = [each.name for each in LESSONS if each.name in TEXT.pages]

# The correct option of each lesson's question, for the opening sentence.
CORRECT = {
    "weighted_average": "7.7 %",
    "scale": "32",
    "query_key_value": "dog",
    "many_heads": "the same number",
    "masks": "23.3 %",
    "positions": "the same vector as without shuffling",
    "cross_attention": "dog",
    "block": "the input vector",
    "translate": "il",
    "cause": "only the gender, such as “il” to “elle”",
    "watch_it_learn": "350",
    "long_distances": "LSTM",
    "write": "red",
    "induction": "the word after its first occurrence",
}

OPENINGS = {
    "text": OPENING.text,
    "english": english.OPENING,
    "probe": english.OPENING,
    "prompt": next(iter(write.PROMPTS.values())),
    "words_twice": induction.OPENING,
}

HOSTILE = (
    "😀 👩‍👩‍👧 שלום مرحبا <script>alert(1)</script> **bold** `code` ``b $trap$ :red[x] :material/home: "
    "![i](http://example.com/i.png) | it |"
)
TEXTS = ("a", "dog dog dog", "The dog did not cross the road. " * 30, HOSTILE)
OPTIONS_SHOWING_TEXT = {
    "positions": [{"encoding": kind} for kind in ("learned", "rotary", "alibi")],
    "weighted_average": [{"split": kind} for kind in ("Characters", "Words", "Bytes")],
    "cross_attention": [{"reader": HOSTILE}],
}


def test_lesson_plans_fill_their_time_and_open_the_teachers_view() -> None:
    for title, steps in plan.PLANS.items():
        assert title.startswith(f"{sum(step.minutes for step in steps)} minutes")
    links = [
        each.proto.page
        for each in visit("classroom", open="Lesson plans").get("page_link")
        if each.proto.query_string == "teacher=true"
    ]
    assert links == [step.name for steps in plan.PLANS.values() for step in steps]


@pytest.mark.parametrize("name", NAMES)
def test_page_opens_with_the_opening_sentence_and_judges_a_guess(name: str) -> None:
    app = visit(name)
    assert not app.warning
    number = NAMES.index(name)
    assert app.title[0].value == f"{number + 1} · {LESSONS[number].title}"
    assert NOT_SHOWN in [heading.value for heading in app.header]
    sentence = LESSONS[number].sentence
    # Two pages have no text box.
    assert name in ("scale", "long_distances") or app.session_state[sentence.name] == OPENINGS[sentence.name]
    links = [element.proto.page for element in app.get("page_link")]
    neighbours = [NAMES[at] for at in (number - 1, number + 1) if 0 <= at < len(NAMES)]
    assert set(links) >= {*neighbours, "", "learn"}
    app.button_group(key=f"guess_{name}").set_value(CORRECT[name]).run()
    assert any(each.startswith("**Yes.**") for each in paragraphs(app))


@pytest.mark.parametrize("name", BERT_LESSONS)
def test_any_text_stays_text_and_too_long_text_is_refused(name: str) -> None:
    app = visit(name)
    for text in TEXTS:
        assert_no_markup(clean(app.text_input(key="text").set_value(text).run()))
    for choice in OPTIONS_SHOWING_TEXT.get(name, []):
        assert_no_markup(visit(name, {"text": HOSTILE, **choice}))
    app.text_input(key="text").set_value("x " * 5000).run()
    assert_refused(app, "text", "x " * 5000, "tokens")


def assert_no_markup(app: AppTest) -> None:
    assert app.header
    text_without_code = re.sub(r"(`+)(.*?)\1", "", page_text(app))
    assert not any(raw in text_without_code for raw in ("<script>", "$trap$", "example.com"))


@pytest.mark.parametrize(
    ("name", "box", "typed", "message"),
    [
        ("cross_attention", "reader", " ", "text is empty"),
        ("write", "prompt", " ", "no words"),
        ("write", "prompt", "Mary was " * 60, "96"),
        ("write", "prompt", "Mary saw the <b>zebra</b>.", "zebra"),
        ("induction", "words_twice", "The <b>zebra</b> sat.", "zebra"),
        ("induction", "words_twice", "lamp", "3 to 47 words"),
        ("induction", "words_twice", "lamp key " * 25, "50 words"),
        ("induction", "words_twice", "lamp key lamp", "only once"),
        *((name, "english", "The zebra was tired.", "zebra") for name in ("translate", "cause")),
    ],
)
def test_unreadable_text_is_refused_and_kept(name: str, box: str, typed: str, message: str) -> None:
    assert_refused(open_page(name, {box: typed}), box, typed, message)


def assert_refused(app: AppTest, box: str, typed: str, message: str) -> None:
    assert not app.exception
    [error] = app.error
    assert message in error.value
    assert app.text_input(key=box).value == typed


@contextmanager
def recorded_calls() -> Iterator[set[tuple[str, str]]]:
    """Record (file, name) of every function called in other threads; the app runs in its own thread."""
    calls: set[tuple[str, str]] = set()

    def record(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            calls.add((frame.f_code.co_filename, frame.f_code.co_qualname))

    threading.setprofile(record)
    try:
        yield calls
    finally:
        threading.setprofile(None)


CHOICES: dict[str, list[dict[str, str]]] = {
    "positions": [{"encoding": kind} for kind in ("learned", "rotary", "alibi", "relative")],
    "weighted_average": [
        {"scoring": how} for how in ("Dot product", "Scaled dot product", "Cosine", "Additive")
    ],
}
"""For lessons with several computations, the options that together run all of the shown code."""


# Functions that ran when the models were trained; their own tests run them.
TRAINING_FUNCTIONS = {*("translation_loss", "attention_loss", "train", "_loss")}


@pytest.mark.parametrize("name", NAMES)
def test_shown_code_is_the_code_that_ran(name: str) -> None:
    visit(name)  # load the model and lazy imports first
    cache.clear()
    shown: set[tuple[str, str]] = set()

    def record(module: str, function: str) -> str:
        shown.add((module, function))
        return source_of(module, function)

    with patch.object(source_code, "source_of", record), recorded_calls() as calls:
        for choices in CHOICES.get(name, [{}]):
            assert not visit(name, choices).warning
    assert shown or name == "long_distances"  # that lesson shows stored numbers and no code
    for module, function in shown:
        file = str(importlib.import_module(module).__file__)
        ran = any(
            name == function or name.startswith(f"{function}.") for where, name in calls if where == file
        )
        assert ran or function in TRAINING_FUNCTIONS, f"{module}.{function} did not run"


def test_source_of_a_method_is_dedented_and_unknown_names_raise() -> None:
    source = source_of("attnviz.transformer.bert", "Bert.from_folder")
    assert source.startswith("@classmethod\ndef from_folder(")
    with pytest.raises(LookupError):
        source_of("attnviz.transformer.masks", "no_such_mask")


def test_hidden_answer_is_judged_when_revealed() -> None:
    assert "Reveal" not in buttons(visit("scale"))
    app = visit("scale", predict="1")
    app.button_group(key="guess_scale").set_value("1").run()
    assert "Not quite" not in page_text(app)
    press(app, "Reveal")
    assert "**Not quite. Answer: 32.**" in page_text(app)
    press(app, "Cover the answer")
    assert "Not quite" not in page_text(app)
    assert app.button_group(key="guess_scale").value == "1"


def test_question_is_about_the_pronoun_and_offers_words_of_the_sentence() -> None:
    app = visit("query_key_value", text="The lawyer told the witness that she was late.")
    assert "does `she`\nattend to most?" in page_text(app)
    offered = app.button_group(key="guess_query_key_value").options
    assert {"lawyer", "witness"} <= set(offered)


def test_guess_is_cleared_with_its_sentence() -> None:
    app = visit("translate")
    app.button_group(key="guess_translate").set_value("elle").run()
    app.text_input(key="english").set_value("The dog did not cross the road as it was too narrow.").run()
    assert app.button_group(key="guess_translate").value is None


def test_revealed_answers_stay_revealed() -> None:
    def covered(app: AppTest) -> bool:
        return "Reveal" in buttons(app)

    app = visit("scale", teacher="true")
    press(app, "Reveal")
    assert not covered(app)
    assert covered(app.switch_page("pages/masks.py").run())
    press(app, "Reveal on every page")
    assert not covered(app.switch_page("pages/positions.py").run())
    assert not covered(app.switch_page("pages/scale.py").run())
    press(app, "Cover the answer")
    assert covered(app)
    assert not covered(app.switch_page("pages/masks.py").run())


MAX_WORDS, MAX_SECTIONS = 120, 5
_NOT_COUNTED = re.compile(r"\$\$.*?\$\$|\$.*?\$|`+.*?`+|:[\w-]+(?=\[)|\]\(.*?\)", re.DOTALL)
_WORD = re.compile(r"[^\W\d_][\w’'-]*")


@pytest.mark.parametrize("name", NAMES)
def test_lesson_has_few_visible_words_and_sections(name: str) -> None:
    drawn = {"question": document(name).question}
    render, predict = Document.render, Document.predict

    def record_part(self: Document, part: str, /, **values: object) -> str:
        drawn[part] = render(self, part, **values)
        return drawn[part]

    def record_question(self: Document, **values: object) -> Predict:
        question = predict(self, **values)
        drawn["predict"] = " ".join((question.text, *question.options))
        return question

    with patch.object(Document, "render", record_part), patch.object(Document, "predict", record_question):
        app = visit(name, FOLDED)
    for folded in ("answer", "glossary"):
        drawn.pop(folded)
    words = {part: len(_WORD.findall(_NOT_COUNTED.sub("", text))) for part, text in drawn.items()}
    assert sum(words.values()) <= MAX_WORDS, words
    [sections] = [group.options for group in app.button_group if group.key == "open"]
    assert len({*sections} - {EVERYTHING, THE_CODE, NOT_SHOWN}) <= MAX_SECTIONS
