"""The lessons, in reading order."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from attnviz.app import cards
from attnviz.app.cards import Card
from attnviz.app.lessons.document import SHARED, Document, document
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
    """A lesson; its document has the texts.

    Attributes:
        name: Name of the folder, and of the page in links.
        explore: URL parameters of the link to Explore.
        sentence: Link parameter of the sentence; the translator and the storyteller have their own.
        group: Topic: attention itself, the translator or the storyteller.
    """

    name: str
    explore: tuple[tuple[str, str], ...] = ()
    sentence: Choice[Any] = TEXT
    group: Group = "attention"

    @property
    def text(self) -> Document:
        """The document with the lesson's texts."""
        return document(self.name)

    @property
    def title(self) -> str:
        """The title in menus."""
        return self.text.title


_about_translator = partial(
    Lesson, explore=((MODEL.name, TRANSLATOR), (KIND.name, "cross")), group="translator"
)
_about_storyteller = partial(Lesson, explore=((MODEL.name, STORYTELLER),), group="storyteller")

LESSONS = (
    Lesson("weighted_average"),
    Lesson("query_key_value"),
    Lesson("scale", explore=((STAGE.name, "scaled"), (VIEW.name, "Matrix"))),
    Lesson("many_heads", explore=((FILTER.name, "previous"),)),
    Lesson("masks", explore=((VIEW.name, "Matrix"),)),
    Lesson("positions", explore=((FILTER.name, "previous"),)),
    Lesson("cross_attention"),
    Lesson("block"),
    _about_translator("translate", sentence=ENGLISH),
    _about_translator("cause", sentence=ENGLISH),
    _about_translator("watch_it_learn", sentence=PROBE),
    _about_translator("long_distances"),
    _about_storyteller("write", sentence=PROMPT),
    _about_storyteller("induction", sentence=REPEATED),
)
"""All lessons, in reading order."""

TITLES = {
    lesson.name: SHARED.label("numbered", number=number, title=lesson.title)
    for number, lesson in enumerate(LESSONS, 1)
}
"""Numbered title of each lesson, by name."""


def draw(group: Group) -> None:
    """Draw a card with question and summary for each lesson of a group."""
    found = [
        Card(
            lesson.name,
            TITLES[lesson.name],
            f"{lesson.text.question} {lesson.text.summary}",
            TITLES[lesson.name],
            ":material/arrow_forward:",
        )
        for lesson in LESSONS
        if lesson.group == group
    ]
    cards.draw(found)
