"""Assignments: each kind of question against numbers worked out by hand, and the code of a result."""

import re
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1.element_tree import Radio

from attnviz.app.learn import assignment, english
from attnviz.app.learn.assignment import Result, Row, code, tasks
from attnviz.app.learn.contents import LESSONS, TITLES, Lesson
from attnviz.app.learn.who_gets_the_book import choices as book
from attnviz.errors import InvalidQuestion
from tests.analysis.texts import shown
from tests.app.shown import clean, press, try_page, visit, warnings, words

SENTENCE = "The lawyer told the witness that she was late."
OWN = {"translator": english.NARROW, "storyteller": next(iter(book.EXAMPLES.values()))}
"""What a small model reads instead, by the lesson's group."""


FACTS = {
    "came in": np.array(
        [0.5, -1.0, 2.0, 0.5]
    ),  # with the update: 1.5, −0.5, 2.5, 0.5, of mean 1 and deviation √1.25
    "update": np.array([1.0, 0.5, 0.5, 0.0]),
    "choices": (("il", 0.8), ("elle", 0.15), ("car", 0.01)),
    "batch": 64,
    "head": "2-1",
    "pronoun": "il",
    "unchanged": 0.9,
    "silenced": {"2-1": 0.25, "1-1": 0.9, "1-2": 0.85, "2-2": 0.89},
}


class First(Random):
    """Takes what stands first, so that one can work it out by hand."""

    def choice(self, seq: Any) -> Any:
        return seq[0]

    def sample(self, population: Any, k: int, *, counts: Any = None) -> list[Any]:  # noqa: ARG002 - as it is inherited
        return list(population)[:k]

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:  # noqa: ARG002
        return start if stop is not None else 0

    def randint(self, a: int, b: int) -> int:  # noqa: ARG002
        return a


def row(place: int | None = 1, weights: Sequence[float] = (0.1, 0.5, 0.2, 0.15, 0.05)) -> Row:
    """ "dog" looks at five tokens, with queries of 4 numbers; e^((9.22 − 6) / √4) = 5.0 = 50 % / 10 %."""
    groups = shown("the dog saw it .").groups
    products = np.array([6, 9.22, 7.39, 6.81, 4.61], np.float32)
    return Row("dog", place, groups, np.array(weights, np.float32), products, 4, 0.5, FACTS)


@pytest.mark.parametrize(
    ("kind", "asked", "right", "others"),
    [
        ("most", "does `dog` look at most?", "dog", {"the", "saw", "it", "."}),
        ("share", "does `dog` give `the`?", "10.0 %", {"50.0 %", "20.0 %", "90.0 %"}),
        ("rest", "gives `the` 10.0 % of its weight", "90.0 %", {"10.0 %", "20.0 %", "100.0 %"}),
        ("scaled", "their dot product is 6.00", "3.00", {"6.00", "1.50", "12.00"}),
        (
            "ratio",
            "of `dog` is 4.61, and that of `the` 3.00",
            "5.0 times",
            {"1.6 times", "2.6 times", "2.5 times"},
        ),
        ("closed", "may `dog` not look?", "saw", {"the", "dog"}),
        ("renormalised", "gives `the` 10.0 %, and 60.0 % to all", "16.7 %", {"10.0 %", "50.0 %", "0.0 %"}),
        ("cells", "a text of 3 tokens", "9", {"3", "6", "12"}),
        ("shape", "A reader of 3 tokens reads a source of 4", "3 × 4", {"4 × 3", "3 × 3", "4 × 4"}),
        ("narrow", "2 heads share vectors of 192", "96", {"192", "2", "384"}),
        ("wave", "`dog` stands at place 1", "0.84", {"0.54", "0.0001", "1"}),
        (
            "distance",
            "of `the` and the key of `dog`",
            "dog and saw",
            {"the and saw", "the and it", "the and ."},
        ),
        (
            "added",
            "is 0.50 as it comes in; that of attention's update is 1.00",
            "1.50",
            {"0.50", "1.00", "−0.50"},
        ),
        (
            "normed",
            "mean 1.00 and standard deviation 1.12. One of them is 1.50",
            "0.45",
            {"0.50", "0.56", "2.50"},
        ),
        ("widened", "makes 256 numbers of a token's 64", "32,768", {"16,384", "512", "65,536"}),
        ("likely", "gives `il` 80.0 % and `elle` 15.0 %", "5.0 %", {"20.0 %", "65.0 %", "95.0 %"}),
        ("loss", "gives `il` 80.0 %", "0.22", {"0.80", "0.20", "0.10"}),
        ("studied", "from 64 texts a step. From how many", "3,200", {"50", "114", "6,400"}),
        (
            "descended",
            "number is −0.90, the gradient of the loss there −4.00",
            "−0.50",
            {"−1.30", "3.10", "−0.90"},
        ),
        ("decides", "the row of `dog` is silenced", "2-1", {"1-1", "1-2", "2-2"}),
        (
            "moved",
            "head 2-1 `dog` gives `the` 10.0 % and `dog` 50.0 %",
            "60.0 %",
            {"10.0 %", "50.0 %", "30.0 %"},
        ),
        ("effect", "has 90.0 %. With the row", "−65.0 points", {"65.0 points", "25.0 points", "90.0 points"}),
        (
            "heated",
            "`il` is 5.3 times as probable as `elle`",
            "2.3 times",
            {"5.3 times", "10.6 times", "28.1 times"},
        ),
        (
            "exchanged",
            "head 2-1 `dog` gives `the` 10.0 % and `dog` 50.0 %",
            "50.0 %",
            {"10.0 %", "60.0 %", "30.0 %"},
        ),
        ("kept", "for the 5 tokens", "40", {"20", "8", "25"}),
        ("path", "from `the` to `saw`", "2", {"1", "3", "5"}),
        ("faded", "keeps 80 % of a number", "64.0 %", {"80.0 %", "60.0 %", "40.0 %"}),
    ],
)
def test_each_kind_asks_what_one_can_work_out_by_hand(
    kind: str, asked: str, right: str, others: set[str]
) -> None:
    task = getattr(assignment, kind)(row(), First())
    assert asked in task.question
    assert (task.right, set(task.options)) == (right, {right, *others})


def test_where_heads_look_that_copy_what_is_said_again() -> None:
    said = replace(row(place=4), keys=shown("the dog saw the dog").groups, looker="dog (token 5)")
    task = assignment.followed(said, First())
    assert task
    assert (task.right, set(task.options)) == (
        "saw",
        {"saw", "dog (token 2)", "the (token 4)", "dog (token 5)"},
    )
    task = assignment.back(said, First())
    assert task
    assert (task.right, set(task.options)) == ("the (token 4)", {"the (token 4)", "saw", "dog (token 5)"})
    assert assignment.followed(row(place=4), First()) is assignment.back(row(place=1), First()) is None


def test_nothing_is_asked_where_there_is_nothing_to_ask() -> None:
    last, across, alone = row(place=4), row(place=None), row(weights=(0.01, 0.96, 0.01, 0.01, 0.01))
    assert assignment.closed(last, First()) is assignment.renormalised(last, First()) is None
    for kind in (assignment.closed, assignment.renormalised, assignment.wave, assignment.distance):
        assert kind(across, First()) is None
    assert assignment.ratio(alone, First()) is None
    assert assignment.most(row(weights=(0.4, 0.4, 0.1, 0.05, 0.05)), First()) is None, "two are the most"
    without_pronoun = replace(row(), facts={"head": "2-1"})
    assert assignment.decides(without_pronoun, First()) is assignment.effect(without_pronoun, First()) is None
    unmoved = replace(row(), facts={**FACTS, "silenced": {"1-1": 0.9, "1-2": 0.9, "2-1": 0.9, "2-2": 0.9}})
    assert assignment.decides(unmoved, First()) is assignment.effect(unmoved, First()) is None


def test_seed_and_sentence_make_the_questions_and_a_sentence_can_be_too_short() -> None:
    first = tasks("scale", 1, SENTENCE, [row()])
    assert first == tasks("scale", 1, f" {SENTENCE} ", [row()])
    assert len({task.question for task in first}) == assignment.COUNT
    assert first != tasks("scale", 2, SENTENCE, [row()])
    assert first != tasks("scale", 1, "Another one.", [row()])
    with pytest.raises(InvalidQuestion, match="too short for five questions"):
        tasks("masks", 1, "dog", [row(place=4, weights=(0, 1, 0, 0, 0))])


def read(handed_in: str) -> Result:
    [result] = assignment.results(handed_in)
    return result


def test_a_code_is_read_again_and_a_slip_or_another_version_is_told() -> None:
    handed_in = code("masks", 42, 4, SENTENCE)
    accepted = Result("", "masks", 42, 4)
    for said in (f" {handed_in}\n{SENTENCE} ", f"{handed_in}{SENTENCE}", f"{handed_in}.\n{SENTENCE}"):
        assert read(said) == accepted
    for written in (handed_in.lower(), handed_in.upper()):
        assert read(f"{written} {SENTENCE}") == accepted
    for copied in (
        SENTENCE.rstrip("."),
        f" {SENTENCE.replace(' ', '  ')[:-1]} .",
        SENTENCE.replace(" ", "\u00a0"),
    ):
        assert read(f"{handed_in.replace('-', ' – ')} {copied}") == accepted
    assert "The student's sentence is missing" in read(f"{handed_in}\n ").trouble
    for slip, sentence in [
        (handed_in.replace("-4-", "-5-"), SENTENCE),
        (handed_in.replace("42", "43"), SENTENCE),
        (handed_in.replace("masks", "scale"), SENTENCE),
        (handed_in, SENTENCE.replace("late", "early")),
    ]:
        assert "does not fit this sentence" in read(f"{slip} {sentence}").trouble
    for other in ("masks-42-4-ABCDEF", "Masks – 42 – 4 – ABCDEF", "masks-42-4-9-ABCDEF"):
        assert "another version of attnviz" in read(f"{other} {SENTENCE}").trouble
    for nonsense in ("masks", "masks-x-4-ABCDEF", "gardening-1-4-ABCDEF", "masks-1-²-ABCDEF", "a-9" * 5000):
        assert "no result code" in read(nonsense).trouble


def test_the_codes_of_a_class_are_read_at_once_with_what_stands_before_them() -> None:
    right, longer = code("masks", 3, 5, SENTENCE), code("scale", 12, 0, "A dog. It slept.")
    slip = right.replace("masks", "mask")
    pasted = (
        f"Class 9b\nAnna: {right} {SENTENCE}\n\n{longer}\n A dog.\nIt slept\nBo\t{slip}{SENTENCE}\n{right}\n"
    )
    title, *read, missing = assignment.results(pasted)
    assert read[:2] == [Result("Anna", "masks", 3, 5), Result("", "scale", 12, 0)]
    assert [each.before for each in (title, read[2])] == ["Class 9b", f"Bo {slip}"]
    assert [re.split("[.:]", each.trouble)[0] for each in (title, read[2], missing)] == [
        "This is no result code",
        "This is no result code",
        "The student's sentence is missing",
    ]
    app = visit("classroom", open="Check results")
    app.text_area[0].set_value(pasted).run()
    assert "2 of 5 codes accepted." in words(app)
    [table] = app.table
    assert list(table.value["Name, or what was not accepted"][:2]) == ["Class 9b", "Anna"]
    assert list(table.value["Lesson"][1:3]) == ["5 · Masks", "2 · Why divide by √d"]
    assert list(table.value["Number"][:3]) == ["", "3", "12"]
    assert list(table.value["Right, of 5"][1:3]) == ["5", "0"]
    assert [button.proto.label for button in app.get("download_button")] == ["Results as CSV"]


def test_a_name_may_stand_in_the_line_above_a_code() -> None:
    right, longer = code("masks", 3, 5, SENTENCE), code("scale", 12, 0, "A dog. It slept.")
    pasted = (
        f"Class 9b\nAnna\n{right}\n{SENTENCE}\n\nBo:\n\n{longer} A dog.\nIt slept.\n"
        f"Cy\n{right}\nAnother sentence.\nDee\n{right} {SENTENCE}\nSent from a phone\n"
    )
    title, anna, bo, cy, dee, rest = assignment.results(pasted)
    assert (anna, bo) == (Result("Anna", "masks", 3, 5), Result("Bo", "scale", 12, 0))
    assert dee == replace(anna, before="Dee")  # although what stands before it cannot be told by its sum
    assert "does not fit" in cy.trouble
    assert [each.before for each in (title, cy, rest)] == ["Class 9b", f"Cy {right}", "Sent from a phone"]


def answer(radio: Radio[str]) -> None:
    radio.set_value(radio.options[0].replace("\\", ""))  # as it is before it becomes Markdown


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_student_checks_each_answer_and_the_teacher_reads_the_code(lesson: Lesson) -> None:
    name = lesson.name
    app = visit("assignment", lesson=TITLES[name], assignment="3")
    assert not app.radio
    app.text_input(key="own_sentence").set_value(OWN.get(lesson.group, SENTENCE)).run()
    assert "Choose an answer, then check it." in warnings(press(clean(app), "Check"))
    given = [radio.options[0] for radio in app.radio]
    assert len(given) == assignment.COUNT
    while app.radio:
        assert not app.code
        answer(app.radio[0])
        press(app, "Check")
    told = [each.value for each in (*app.success, *app.warning)]
    assert sorted(line.removeprefix("Your answer: ").split(". **")[0] for line in told) == sorted(given)
    right = len(app.success)
    assert all("**Yes.**" in each.value for each in app.success)
    assert all("**Not quite: " in each.value for each in app.warning)
    assert app.header[0].value == f"{right} of 5"
    checking = visit("classroom", open="Check results")
    checking.text_area[0].set_value(app.code[0].value).run()
    assert checking.success[0].value == f"{TITLES[name]}, number 3: {right} of 5 right."
    checking.text_area[0].set_value(f"{app.code[0].value}!").run()
    assert "does not fit this sentence" in warnings(checking)


def test_a_link_from_before_the_lessons_had_numbers_opens_its_lesson() -> None:
    assert visit("assignment", lesson="Masks").selectbox(key="lesson").value == TITLES["masks"]


def test_another_sentence_is_another_assignment_and_one_word_is_too_short() -> None:
    app = visit("assignment", lesson="Masks", text=SENTENCE)
    before = [text.value for text in app.markdown]
    app.text_input(key="own_sentence").set_value("The trophy did not fit into the suitcase.").run()
    assert before != [text.value for text in app.markdown]
    assert "too short" in try_page("assignment", lesson="Masks", text="dog").error[0].value
