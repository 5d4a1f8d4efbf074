"""What all Learn pages share: they open, they end in the next one, and they show the code that ran."""

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
from tests.app.shown import FOLDED, buttons, clean, paragraphs, press, try_page, visit, words

NAMES = [each.name for each in LESSONS]
READ_BY_BERT = [each.name for each in LESSONS if each.name in TEXT.pages]

# The correct option on the opening sentence.
CORRECT = {
    "weighted_average": "7.7 %",
    "scale": "32",
    "query_key_value": "dog",
    "many_heads": "the same number",
    "masks": "23.3 %",
    "positions": "the same vector as before",
    "cross_attention": "dog",
    "block": "the old vector",
    "translate": "il",
    "cause": "only genders, such as “il” and “elle”",
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
WITH_THE_TEXT_IN_THEM = {
    "positions": [{"encoding": kind} for kind in ("learned", "rotary", "alibi")],
    "weighted_average": [{"split": kind} for kind in ("Characters", "Words", "Bytes")],
    "cross_attention": [{"reader": HOSTILE}],
}


def test_the_plans_fill_their_time_and_open_the_teachers_view() -> None:
    for title, steps in plan.PLANS.items():
        assert title.startswith(f"{sum(step.minutes for step in steps)} minutes")
    links = [
        each.proto.page
        for each in visit("classroom", open="Lesson plans").get("page_link")
        if each.proto.query_string == "teacher=true"
    ]
    assert links == [step.name for steps in plan.PLANS.values() for step in steps]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_opens_on_the_opening_sentence_and_judges_a_guess(name: str) -> None:
    app = visit(name)
    assert not app.warning
    number = NAMES.index(name)
    assert app.title[0].value == f"{number + 1} · {LESSONS[number].title}"
    assert NOT_SHOWN in [heading.value for heading in app.header]
    sentence = LESSONS[number].sentence
    # On two pages nothing can be typed.
    assert name in ("scale", "long_distances") or app.session_state[sentence.name] == OPENINGS[sentence.name]
    links = [element.proto.page for element in app.get("page_link")]
    neighbours = [NAMES[at] for at in (number - 1, number + 1) if 0 <= at < len(NAMES)]
    assert set(links) >= {*neighbours, "", "learn"}
    app.button_group(key=f"guess_{name}").set_value(CORRECT[name]).run()
    assert any(each.startswith("**Yes.**") for each in paragraphs(app))


@pytest.mark.parametrize("name", READ_BY_BERT)
def test_any_text_is_read_and_stays_text_and_what_is_too_long_is_refused_and_kept(name: str) -> None:
    app = visit(name)
    for text in TEXTS:
        assert_only_text(clean(app.text_input(key="text").set_value(text).run()))
    for choice in WITH_THE_TEXT_IN_THEM.get(name, []):
        assert_only_text(visit(name, {"text": HOSTILE, **choice}))
    app.text_input(key="text").set_value("x " * 5000).run()
    assert_refused(app, "text", "x " * 5000, "tokens")


def assert_only_text(app: AppTest) -> None:
    assert app.header
    outside_of_code = re.sub(r"(`+)(.*?)\1", "", words(app))
    assert not any(raw in outside_of_code for raw in ("<script>", "$trap$", "example.com"))


@pytest.mark.parametrize(
    ("name", "box", "typed", "said"),
    [
        ("cross_attention", "reader", " ", "nothing here"),
        ("write", "prompt", " ", "nothing here"),
        ("write", "prompt", "Mary was " * 60, "96"),
        ("write", "prompt", "Mary saw the <b>zebra</b>.", "zebra"),
        ("induction", "words_twice", "The <b>zebra</b> sat.", "zebra"),
        ("induction", "words_twice", "lamp", "3 to 47 words"),
        ("induction", "words_twice", "lamp key " * 25, "50 words"),
        ("induction", "words_twice", "lamp key lamp", "different words"),
        *((name, "english", "The zebra was tired.", "zebra") for name in ("translate", "cause")),
    ],
)
def test_what_cannot_be_read_is_refused_kindly_and_kept(name: str, box: str, typed: str, said: str) -> None:
    assert_refused(try_page(name, {box: typed}), box, typed, said)


def assert_refused(app: AppTest, box: str, typed: str, said: str) -> None:
    assert not app.exception
    [error] = app.error
    assert said in error.value
    assert app.text_input(key=box).value == typed


@contextmanager
def called() -> Iterator[set[tuple[str, str]]]:
    """(file, name) of every function that other threads call meanwhile: the app runs in one of its own."""
    seen: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            seen.add((frame.f_code.co_filename, frame.f_code.co_qualname))

    threading.setprofile(note)
    try:
        yield seen
    finally:
        threading.setprofile(None)


CHOICES: dict[str, list[dict[str, str]]] = {
    "positions": [{"encoding": kind} for kind in ("learned", "rotary", "alibi", "relative")],
    "weighted_average": [
        {"scoring": how} for how in ("Dot product", "Scaled dot product", "Cosine", "Additive")
    ],
}
"""Those that, together, run all of the code that is shown."""


# What computed numbers that are stored with attnviz; the tests of these functions compute them again.
RAN_EARLIER = {
    *("translation_loss", "attention_loss", "train", "_loss"),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_code_that_is_shown_is_the_code_that_ran(name: str) -> None:
    visit(name)  # the model is loaded now, and what is lazily imported
    cache.clear()
    shown: set[tuple[str, str]] = set()

    def note(module: str, function: str) -> str:
        shown.add((module, function))
        return source_of(module, function)

    with patch.object(source_code, "source_of", note), called() as seen:
        for choices in CHOICES.get(name, [{}]):
            assert not visit(name, choices).warning
    assert shown or name == "long_distances"  # its numbers are stored
    for module, function in shown:
        file = str(importlib.import_module(module).__file__)
        ran = any(
            name == function or name.startswith(f"{function}.") for where, name in seen if where == file
        )
        assert ran or function in RAN_EARLIER, f"{module}.{function} did not run"


def test_the_source_of_a_method_is_shown_dedented_and_of_nothing_that_does_not_exist() -> None:
    source = source_of("attnviz.transformer.bert", "Bert.from_folder")
    assert source.startswith("@classmethod\ndef from_folder(")
    with pytest.raises(LookupError):
        source_of("attnviz.transformer.masks", "no_such_mask")


def test_a_hidden_answer_is_judged_when_it_is_revealed() -> None:
    assert "Reveal" not in buttons(visit("scale"))
    app = visit("scale", predict="1")
    app.button_group(key="guess_scale").set_value("1").run()
    assert "Not quite" not in words(app)
    press(app, "Reveal")
    assert "**Not quite: 32.**" in words(app)
    press(app, "Cover the answer")
    assert "Not quite" not in words(app)
    assert app.button_group(key="guess_scale").value == "1"


def test_what_is_asked_first_is_of_a_pronoun_and_of_the_words_of_the_sentence() -> None:
    app = visit("query_key_value", text="The lawyer told the witness that she was late.")
    assert "largest weight\nfrom `she`?" in words(app)
    offered = app.button_group(key="guess_query_key_value").options
    assert {"lawyer", "witness"} <= set(offered)


def test_a_guess_goes_with_its_sentence() -> None:
    app = visit("translate")
    app.button_group(key="guess_translate").set_value("elle").run()
    app.text_input(key="english").set_value("The dog did not cross the road as it was too narrow.").run()
    assert app.button_group(key="guess_translate").value is None


def test_an_answer_once_revealed_stays_so_on_its_page_or_on_every_page() -> None:
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
_NO_WORDS = re.compile(r"\$\$.*?\$\$|\$.*?\$|`+.*?`+|:[\w-]+(?=\[)|\]\(.*?\)", re.DOTALL)
_WORD = re.compile(r"[^\W\d_][\w’'-]*")


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_has_few_words_before_anything_is_opened_and_few_sections(name: str) -> None:
    drawn = {"question": document(name).question}
    render, predict = Document.render, Document.predict

    def note_part(self: Document, part: str, /, **values: object) -> str:
        drawn[part] = render(self, part, **values)
        return drawn[part]

    def note_question(self: Document, **values: object) -> Predict:
        asked = predict(self, **values)
        drawn["predict"] = " ".join((asked.text, *asked.options))
        return asked

    with patch.object(Document, "render", note_part), patch.object(Document, "predict", note_question):
        app = visit(name, FOLDED)
    for folded in ("answer", "glossary"):
        drawn.pop(folded)
    words = {part: len(_WORD.findall(_NO_WORDS.sub("", text))) for part, text in drawn.items()}
    assert sum(words.values()) <= MAX_WORDS, words
    [sections] = [group.options for group in app.button_group if group.key == "open"]
    assert len({*sections} - {EVERYTHING, THE_CODE, NOT_SHOWN}) <= MAX_SECTIONS
