"""What the page is about: a text that breaks off, a head, and what the visitor changed in the last row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.app import markdown
from attnviz.app.components.arrow import NOTHING, Change, Interference
from attnviz.app.learn import story
from attnviz.app.learn.computed import storytold
from attnviz.app.learn.computed import who_gets_the_book as compute
from attnviz.app.page import stop
from attnviz.app.state import memory
from attnviz.app.state.choices import BOOK_HEAD, EXCHANGED, UNFINISHED
from attnviz.errors import AttnvizError, InvalidEdit, quoted
from attnviz.interventions.edit import Edit
from attnviz.models import catalogue
from attnviz.text import head_name
from attnviz.trained.storyteller.reading import beginning

_read, direct = storytold(compute.read), storytold(compute.direct)
_experiment = storytold(compute.experiment)

OPENING = "When Mary and John went to the shop, John gave a book to"
EXAMPLES = {
    "John gives": OPENING,
    "Karim gives": "When Mary and John went to the shop, Karim gave a book to",
    "she or he": "John called Mary because",
    "was or were": "The keys near the book",
}
_FORMAT = (
    "“decoder 2-2 15 3<>5”: in layer 2, head 2, word 15 exchanges its weights of words 3 and 5. Without "
    "“3<>5”, its row is silenced; without “15” too, the whole head. Several changes have commas between them."
)
NOTICEABLE = 0.05  # of a weight or a probability; less is not worth asking about
_ABOUT = "the text that the exchanges were made in"


@dataclass(frozen=True, eq=False)
class UnfinishedText:
    """What the page is about.

    Attributes:
        text: as it was typed.
        read: what it asks.
        layer, head: whose row of the last word is shown, from 0.
        edits: all that is changed, in this head and in others.
        found: both runs.
        model: who reads it: a name in the catalogue.
    """

    text: str
    read: compute.Unfinished
    layer: int
    head: int
    edits: tuple[Edit, ...]
    found: compute.Experiment
    model: str

    @property
    def direct(self) -> compute.Direct:
        """The difference of the two words' logits, taken apart."""
        return direct(self.text, model=self.model)

    @property
    def name(self) -> str:
        """The head's: "2-2"."""
        return head_name(self.layer, self.head)

    @property
    def last(self) -> str:
        """The last word, in Markdown."""
        return markdown.code(self.read.words[-1])

    @property
    def pair(self) -> tuple[str, str]:
        """The two words between which the model chooses, in Markdown."""
        one, other = map(markdown.code, self.read.choices)
        return one, other

    @property
    def exchange(self) -> Edit:
        """This head's exchange of its weights of the two words that lead to either."""
        end = len(self.read.words) - 1
        return Edit("decoder", self.layer, self.head, end, *self.read.cues, exchange=True)

    @property
    def elsewhere(self) -> tuple[Edit, ...]:
        """What is changed in other heads."""
        return tuple(edit for edit in self.edits if (edit.layer, edit.head) != (self.layer, self.head))

    @property
    def interference(self) -> Interference:
        """What is changed in this row."""
        for edit in self.edits:
            if edit not in self.elsewhere:
                change: Change = "head" if edit.query is None else "row" if edit.source is None else "move"
                return {"change": change, "source": edit.source, "target": edit.target}
        return NOTHING


def choose_text() -> tuple[str, str, DeltaGenerator]:
    """Draw the box for a text that breaks off where one of two words comes.

    Return the text, who reads it, and the place for what is chosen in it.
    """
    build = partial(beginning, tasks=("indirect object, lead-in", "pronoun", "agreement"))
    left, right = st.columns([6, 1])
    with left:
        text, model = story.prompt("Text that breaks off", UNFINISHED, EXAMPLES, build)
        try:
            _read(text)
        except AttnvizError as error:
            stop(error)
    about = text, model
    if memory.get(_ABOUT, about) != about:
        EXCHANGED.set("")
        BOOK_HEAD.set(first_head(text, model))
    memory.put(_ABOUT, about)
    return *about, right


def choose_changes() -> str:
    """Draw the changes as text, as a link holds them; return it."""
    return EXCHANGED.draw("What is changed, as text", placeholder="nothing is changed", help=_FORMAT)


def first_head(text: str, model: str = catalogue.STORYTELLER) -> str:
    """The head that adds most to the likelier of the two words."""
    parts = direct(text, model=model)
    return head_name(*divmod(int((parts.heads * parts.difference).argmax()), parts.heads.shape[1]))


def choose(text: str, model: str, typed: str) -> UnfinishedText:
    """Draw the choice of the head; return it and these changes with what the model makes of them.

    Where something cannot be changed, this is said, and nothing is.
    """
    heads = [head_name(*head) for head in np.ndindex(direct(text, model=model).heads.shape)]
    name = BOOK_HEAD.select("Head", heads, first_head(text, model))
    read = _read(text)
    try:
        edits = [_parsed(each.strip(), read) for each in typed.split(",") if each.strip()]
        return selected(text, name, tuple(edits), model)
    except InvalidEdit as error:
        st.warning(f"**Nothing is changed.** {markdown.plain(str(error))}", icon=":material/link_off:")
        return selected(text, name, model=model)


def selected(
    text: str, name: str, edits: tuple[Edit, ...] = (), model: str = catalogue.STORYTELLER
) -> UnfinishedText:
    """This head and these changes in a text.

    Raises:
        AttnvizError: as `compute.experiment`.
    """
    layer, head = (int(number) - 1 for number in name.split("-"))
    found = _experiment(text, layer, head, tuple(map(str, edits)), model=model)
    return UnfinishedText(text, _read(text), layer, head, edits, found, model)


def _parsed(written: str, read: compute.Unfinished) -> Edit:
    try:
        edit = Edit.parse(written)
    except InvalidEdit as error:
        raise InvalidEdit(f"{quoted(written)} is no change. Write {_FORMAT}") from error
    if edit.query not in (None, len(read.words) - 1) or (edit.target is not None and not edit.exchange):
        raise InvalidEdit(
            f"“{edit}” does something else. Here the last word, {len(read.words)}, exchanges two weights, or "
            "its row or a head is silenced."
        )
    return edit


def without(chosen: UnfinishedText, edits: tuple[Edit, ...]) -> compute.Experiment:
    """The same text and head, with these changes alone."""
    return _experiment(chosen.text, chosen.layer, chosen.head, tuple(map(str, edits)), model=chosen.model)


def change(chosen: UnfinishedText, interference: Interference) -> None:
    """Put this change in place of what was changed in the same head."""
    made = list(chosen.elsewhere)
    whole = Edit("decoder", chosen.layer, chosen.head)
    row = replace(whole, query=len(chosen.read.words) - 1)
    if interference["change"] == "move":
        ends = interference["source"], interference["target"]
        made.append(replace(row, source=ends[0], target=ends[1], exchange=True))
    elif interference["change"] != "none":
        made.append(whole if interference["change"] == "head" else row)
    EXCHANGED.set(", ".join(map(str, made)))


def exchange_in(chosen: UnfinishedText, heads: list[tuple[int, int]]) -> None:
    """Let these heads, and no others, exchange their weights of the two words."""
    edits = [replace(chosen.exchange, layer=layer, head=head) for layer, head in heads]
    EXCHANGED.set(", ".join(map(str, edits)))


def worth_asking(chosen: UnfinishedText) -> UnfinishedText:
    """A text with one change to ask about.

    The head on show exchanges its two weights, if they differ; else another does, the one in which that
    changes most; and where it changes little in all, the row on show is silenced.
    """

    def exchanged(head: tuple[int, ...]) -> UnfinishedText:
        layer, number = head
        edit = replace(chosen.exchange, layer=layer, head=number)
        return selected(chosen.text, head_name(layer, number), (edit,), chosen.model)

    def differ(asked: UnfinishedText) -> bool:
        one, other = asked.found.row_before[list(asked.read.cues)]
        return bool(abs(one - other) >= NOTICEABLE)

    def effect(asked: UnfinishedText) -> float:
        return abs(asked.found.now[0] - asked.found.before[0])

    if differ(own := exchanged((chosen.layer, chosen.head))):
        return own
    others = filter(differ, map(exchanged, np.ndindex(chosen.direct.heads.shape)))
    best = max(others, key=effect, default=None)
    if best and effect(best) >= NOTICEABLE:
        return best
    row = replace(chosen.exchange, source=None, target=None, exchange=False)
    return selected(chosen.text, chosen.name, (row,), chosen.model)


def undo() -> None:
    """Change nothing any more."""
    EXCHANGED.set("")
