"""All lessons in reading order, each with the question that it answers."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from attnviz.app import cards
from attnviz.app.cards import Card
from attnviz.app.state.choice import Choice
from attnviz.app.state.choices import (
    ENGLISH,
    FILTER,
    KIND,
    MODEL,
    PROBE,
    PROMPT,
    REPEATED,
    STAGE,
    TEXT,
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
        explore_label: what the link to Explore says, where the same idea is at work.
        explore: what to open there, as parameters of the link.
        sentence: the choice of its sentence; the translator knows few words, so its pages have their own.
        group: whether it is about attention itself, or about a whole transformer: the translator, or the
            storyteller, which writes on.
    """

    name: str
    title: str
    question: str
    summary: str
    explore_label: str
    explore: tuple[tuple[str, str], ...] = ()
    sentence: Choice[Any] = TEXT
    group: Group = "attention"


_about_translator = partial(
    Lesson, explore=((MODEL.name, TRANSLATOR), (KIND.name, "cross")), group="translator"
)
_about_storyteller = partial(Lesson, explore=((MODEL.name, STORYTELLER),), group="storyteller")

LESSONS = (
    Lesson(
        "weighted_average",
        "Weighted average",
        "What is attention?",
        "Mix the words of a sentence by how alike they are: attention with nothing learned yet.",
        "See real heads do it",
    ),
    Lesson(
        "scale",
        "Why divide by √d",
        "Why are the scores divided by √d?",
        "Draw thousands of random vectors, and watch the softmax freeze without the root.",
        "See the scaled scores of a head",
        explore=((STAGE.name, "scaled"), (VIEW.name, "Matrix")),
    ),
    Lesson(
        "query_key_value",
        "Query, key, value",
        "What are query, key and value?",
        "Six steps from one word's vector to what a head reads, every number a real one.",
        "See every head of the model",
    ),
    Lesson(
        "many_heads",
        "Many heads",
        "Why many heads?",
        "Split, attend, join: what each head adds to the output, and what it costs.",
        "Find the heads that look one word back",
        explore=((FILTER.name, "previous"),),
    ),
    Lesson(
        "masks",
        "Masks",
        "Who may look at whom?",
        "Draw a mask cell by cell; the real model is run again under it.",
        "See the model without a mask",
        explore=((VIEW.name, "Matrix"),),
    ),
    Lesson(
        "positions",
        "Positions",
        "How does attention know the order?",
        "Shuffle the words, with and without positions; four ways to tell a model where a word stands.",
        "Find the heads that look one word back",
        explore=((FILTER.name, "previous"),),
    ),
    Lesson(
        "cross_attention",
        "Cross-attention",
        "How does one sequence read another?",
        "Queries from one text, keys and values from another.",
        "See a sequence read itself",
    ),
    Lesson(
        "block",
        "Inside a block",
        "What happens inside a block?",
        "Follow one word's vector through attention, Add & Norm, and the feed-forward network.",
        "See the attention of every layer",
    ),
    _about_translator(
        "translate",
        "Translate",
        "How does a transformer translate?",
        "English in, French out, word by word; *it* becomes *il* or *elle* by what it refers to.",
        "See every head of the translator",
        sentence=ENGLISH,
    ),
    _about_translator(
        "cause",
        "Cause",
        "Is the picture the cause?",
        "Drag the arrow from *dog* to *road*, or silence a head, and see what becomes of the translation.",
        "See every head of the translator",
        sentence=ENGLISH,
    ),
    _about_translator(
        "watch_it_learn",
        "Watch it learn",
        "Where do the weights come from?",
        "Slide through a training from random numbers to French, or train a translator yourself.",
        "See the trained heads",
        sentence=PROBE,
    ),
    _about_translator(
        "long_distances",
        "Long distances",
        "Why attention, and not memory?",
        "Stretch a sentence, and see what a network with a memory and one with attention make of it.",
        "See every head of the translator",
        sentence=ENGLISH,
    ),
    _about_storyteller(
        "write",
        "Write",
        "How does a model write?",
        "Word by word: what each was chosen from, what the heads read for it, and what need not be computed "
        "again.",
        "See every head of the storyteller",
        sentence=PROMPT,
    ),
    _about_storyteller(
        "induction",
        "Induction heads",
        "What is an induction head?",
        "Say random words twice, find the heads that copy them by measure, and silence these.",
        "See every head of the storyteller",
        sentence=REPEATED,
    ),
    _about_storyteller(
        "watch_a_circuit_form",
        "Watch a circuit form",
        "How does a circuit form?",
        "Slide through a training to the steps where induction heads appear, or train a model yourself.",
        "See the trained heads",
        sentence=REPEATED,
    ),
)
"""In reading order."""

TITLES = {lesson.name: f"{number} · {lesson.title}" for number, lesson in enumerate(LESSONS, 1)}
"""What the menus call each lesson, with its number."""


def draw(group: Group) -> None:
    """Draw the lessons of a group, in order, each with the question that it answers."""
    found = [
        Card(
            lesson.name,
            f"{number} · {lesson.question}",
            lesson.summary,
            TITLES[lesson.name],
            ":material/arrow_forward:",
        )
        for number, lesson in enumerate(LESSONS, 1)
        if lesson.group == group
    ]
    cards.draw(found)
