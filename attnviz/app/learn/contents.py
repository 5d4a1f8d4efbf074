"""All lessons in reading order, each with the question that it answers."""

from dataclasses import dataclass
from typing import Any, Literal

from attnviz.app import cards
from attnviz.app.cards import Card
from attnviz.app.state.choice import Choice
from attnviz.app.state.choices import (
    ENGLISH,
    FIND,
    KIND,
    MODEL,
    PROBE,
    PROMPT,
    REPEATED,
    STAGE,
    TEXT,
    UNFINISHED,
    VIEW,
)
from attnviz.models.catalogue import STORYTELLER, TRANSLATOR

Group = Literal["attention", "translator", "storyteller"]


@dataclass(frozen=True)
class Lesson:
    """One Learn page.

    Attributes:
        name: its address, and the name of its files.
        title: what the menu calls it.
        question: what it answers.
        summary: what one does there, in a sentence.
        explore: what to open on Explore to see the same idea at work, as parameters of a link.
        explore_label: what that link says.
        sentence: the choice of its sentence; the translator knows few words, so its pages have their own.
        group: whether it is about attention itself, or about a whole transformer: the translator, or the
            storyteller, which writes on.
    """

    name: str
    title: str
    question: str
    summary: str
    explore: tuple[tuple[str, str], ...]
    explore_label: str
    sentence: Choice[Any] = TEXT
    group: Group = "attention"


_TRANSLATOR = ((MODEL.name, TRANSLATOR), (KIND.name, "cross"))

LESSONS = (
    Lesson(
        "weighted_average",
        "Weighted average",
        "What is attention?",
        "Mix the words of a sentence by how alike they are: attention with nothing learned yet.",
        (),
        "See real heads do it",
    ),
    Lesson(
        "scale",
        "Why divide by √d",
        "Why are the scores divided by √d?",
        "Draw thousands of random vectors, and watch the softmax freeze without the root.",
        ((STAGE.name, "scaled"), (VIEW.name, "Matrix")),
        "See the scaled scores of a head",
    ),
    Lesson(
        "query_key_value",
        "Query, key, value",
        "What are query, key and value?",
        "Six steps from one word's vector to what a head reads, every number a real one.",
        (),
        "See every head of the model",
    ),
    Lesson(
        "many_heads",
        "Many heads",
        "Why many heads?",
        "Split, attend, join: what each head adds to the output, and what it costs.",
        ((FIND.name, "previous"),),
        "Find the heads that look one word back",
    ),
    Lesson(
        "masks",
        "Masks",
        "Who may look at whom?",
        "Draw a mask cell by cell; the real model is run again under it.",
        ((VIEW.name, "Matrix"),),
        "See the model without a mask",
    ),
    Lesson(
        "positions",
        "Positions",
        "How does attention know the order?",
        "Shuffle the words, with and without positions; four ways to tell a model where a word stands.",
        ((FIND.name, "previous"),),
        "Find the heads that look one word back",
    ),
    Lesson(
        "cross_attention",
        "Cross-attention",
        "How does one sequence read another?",
        "Queries from one text, keys and values from another.",
        (),
        "See a sequence read itself",
    ),
    Lesson(
        "block",
        "Inside a block",
        "What happens inside a block?",
        "Follow one word's vector through attention, Add & Norm, and the feed-forward network.",
        (),
        "See the attention of every layer",
    ),
    Lesson(
        "translate",
        "Translate",
        "How does a transformer translate?",
        "English in, French out, word by word; *it* becomes *il* or *elle* by what it refers to.",
        _TRANSLATOR,
        "See every head of the translator",
        sentence=ENGLISH,
        group="translator",
    ),
    Lesson(
        "cause",
        "Cause",
        "Is the picture the cause?",
        "Drag the arrow from *dog* to *road*, or silence a head, and see what becomes of the translation.",
        _TRANSLATOR,
        "See every head of the translator",
        sentence=ENGLISH,
        group="translator",
    ),
    Lesson(
        "watch_it_learn",
        "Watch it learn",
        "Where do the weights come from?",
        "Slide through a training from random numbers to French, or train a translator yourself.",
        _TRANSLATOR,
        "See the trained heads",
        sentence=PROBE,
        group="translator",
    ),
    Lesson(
        "long_distances",
        "Long distances",
        "Why attention, and not memory?",
        "Stretch a sentence, and see what a network with a memory and one with attention make of it.",
        _TRANSLATOR,
        "See every head of the translator",
        sentence=ENGLISH,
        group="translator",
    ),
    Lesson(
        "write",
        "Write",
        "How does a model write?",
        "Word by word: what each was chosen from, what the heads read for it, and what need not be computed "
        "again.",
        ((MODEL.name, STORYTELLER),),
        "See every head of the storyteller",
        sentence=PROMPT,
        group="storyteller",
    ),
    Lesson(
        "induction",
        "Induction heads",
        "What is an induction head?",
        "Say random words twice, find the heads that copy them by measure, and silence these.",
        ((MODEL.name, STORYTELLER),),
        "See every head of the storyteller",
        sentence=REPEATED,
        group="storyteller",
    ),
    Lesson(
        "who_gets_the_book",
        "Who gets the book?",
        "Who gets the book?",
        "Two words, one answer: find the heads that add to it, and make them write the other word.",
        ((MODEL.name, STORYTELLER),),
        "See every head of the storyteller",
        sentence=UNFINISHED,
        group="storyteller",
    ),
    Lesson(
        "watch_a_circuit_form",
        "Watch a circuit form",
        "How does a circuit form?",
        "Slide through a training to the steps where induction heads appear, or train a model yourself.",
        ((MODEL.name, STORYTELLER),),
        "See the trained heads",
        sentence=REPEATED,
        group="storyteller",
    ),
)
"""In reading order."""


def draw(group: Group) -> None:
    """Draw the lessons of a group, in order, each with the question that it answers."""
    found = [
        Card(
            lesson.name,
            lesson.question,
            lesson.summary,
            f"{number} · {lesson.title}",
            ":material/arrow_forward:",
        )
        for number, lesson in enumerate(LESSONS, 1)
        if lesson.group == group
    ]
    cards.draw(found, in_a_row=4)
