"""What the page on causes is about: a sentence, an arrow in it, and what the visitor changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.app import markdown
from attnviz.app.components.arrow import NOTHING, Change, Interference
from attnviz.app.lessons.cause import compute
from attnviz.app.lessons.computed import translated
from attnviz.app.lessons.english import choose_variant, english, outside_note
from attnviz.app.state import link, memory
from attnviz.app.state.choices import CAUSE_HEAD, CAUSE_WORD, EDITS
from attnviz.errors import InvalidEdit
from attnviz.interventions.edit import Edit
from attnviz.models import catalogue
from attnviz.text import head_name
from attnviz.trace import Kind
from attnviz.trained.translator import reading

_readers = translated(compute.readers)

PRONOUNS = ("il", "elle")
HEAD = "encoder 2-1"
_ABOUT = "the sentence that the changes were made for"
_GO_TO = "the arrow to show next"


@dataclass(frozen=True)
class Place:
    """One row of one head: `kind`, and `layer`, `head` and `query` from 0."""

    kind: Kind
    layer: int
    head: int
    query: int

    @property
    def head_name(self) -> str:
        """As the choice of heads writes it: "encoder 2-1"."""
        return f"{self.kind} {head_name(self.layer, self.head)}"

    @property
    def head_in_words(self) -> str:
        """As one says it: "encoder head 2-1"."""
        part = "cross-attention" if self.kind == "cross" else self.kind
        return f"{part} head {head_name(self.layer, self.head)}"


@dataclass(frozen=True, eq=False)
class ArrowSelection:
    """What the page is about.

    Attributes:
        text, model: the English sentence, and the translator's name in the catalogue.
        place: whose arrow.
        edits: all that is changed, there and elsewhere, as a link holds it.
        interference: what of that is changed in this row.
        experiment: the two translations, and the row in both.
    """

    text: str
    model: str
    place: Place
    edits: tuple[str, ...]
    interference: Interference
    experiment: compute.Experiment

    @property
    def reader(self) -> str:
        """The word that looks, in Markdown."""
        word = markdown.code(self.experiment.queries[self.place.query])
        return word if self.place.kind == "encoder" else f"the French {word}"

    @property
    def strongest(self) -> int:
        """The word that it looks at most, unchanged."""
        return int(self.experiment.row_before.argmax())

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """What is changed in other rows."""
        return tuple(edit for edit in self.edits if not _is_at(Edit.parse(edit), self.place))

    @property
    def also(self) -> tuple[str, ...]:
        """What is changed beside `interference`, each in words, in Markdown."""
        shown = written(self.place, self.interference)
        edits = [Edit.parse(edit) for edit in self.edits]
        return tuple(self._in_words(edit) for edit in edits if str(edit) != shown and not _moot(edit, edits))

    def key(self, place: int) -> str:
        """A word that can be looked at, in Markdown."""
        return named(place, self.experiment.keys)

    def _in_words(self, edit: Edit) -> str:
        place = Place(edit.kind, edit.layer, edit.head, edit.query or 0)
        head = "this head" if place.head_name == self.place.head_name else place.head_in_words
        if edit.query is None:
            return f"the whole {head}, ablated"
        reader = named(edit.query, _readers(self.model, self.text, edit.kind))
        if edit.source is None or edit.target is None:
            return f"the row of {reader} in {head}, ablated"
        keys = _readers(self.model, self.text, "decoder" if edit.kind == "decoder" else "encoder")
        ends = f"from {named(edit.source, keys)} to {named(edit.target, keys)}"
        return f"the arrow of {reader} in {head}, {ends}"


@translated
def _experiment(model: str, text: str, place: Place, edits: tuple[str, ...]) -> compute.Experiment:
    return compute.experiment(model, text, place.kind, place.layer, place.head, place.query, edits)


# The choices


def choose_sentence() -> tuple[str, str, DeltaGenerator]:
    """Draw the sentence and the translator; return both, and the place for what is chosen in them.

    A change made in another sentence is undone.
    """
    left, middle, right = st.columns([11, 7, 9])
    with left:
        text = english()
    outside_note(reading.outside([token.text for token in reading.tokens(text) if not token.special]))
    if memory.get(_ABOUT, text) != text:
        EDITS.set([])
    memory.put(_ABOUT, text)
    with middle:
        model = choose_variant()
    return text, model, right


def choose_changes() -> tuple[str, ...]:
    """Draw the changes as text, as a link holds them; return each."""
    typed: list[str] = EDITS.draw(
        "The changes, as text",
        [],
        accept_new_options=True,
        placeholder="Nothing is changed",
        on_change=_typed,
        help="“encoder 2-1 9 2>7”: in layer 2, head 1 of the encoder, what word 9 gives to word 2 goes to "
        "word 7. Without “2>7”, the row of word 9 is ablated; without “9” too, the whole head.",
    )
    return tuple(map(str.strip, typed))


def choose(text: str, model: str, edits: tuple[str, ...]) -> ArrowSelection:
    """Draw the choice of head and word; return them with what the model makes of them and of these edits.

    A link that names no arrow shows the first one that it changes. Where something cannot be changed, this is
    said, and nothing is.
    """
    asked = _asked(text, model, edits)
    if asked and not CAUSE_HEAD.is_set and not link.requested(CAUSE_HEAD):
        go_to(asked[0].kind, asked[0].layer, asked[0].head, asked[0].query)
    head_to_show, word_to_show = memory.forget(_GO_TO) or (None, None)
    if head_to_show:
        CAUSE_HEAD.set(head_to_show)
    left, right = st.columns([5, 6])
    with left:
        kind, layer, head = _choose_head(model)
    with right:
        query = _choose_word(_readers(model, text, kind), kind, word_to_show)
    place = Place(kind, layer, head, query)
    made = tuple(str(edit) for edit in asked)
    here = [edit for edit in asked if _is_at(edit, place)]
    found = _experiment(model, text, place, made)
    # The last one made, unless the row or the whole head is ablated: then no move matters.
    shown = min(reversed(here), key=_reach, default=None)
    return ArrowSelection(text, model, place, made, _interference(shown) if shown else NOTHING, found)


def go_to(kind: Kind, layer: int, head: int, query: int | None) -> None:
    """Show this arrow next: all numbers from 0; query None: of any word."""
    memory.put(_GO_TO, (f"{kind} {head_name(layer, head)}", query))


def _typed() -> None:
    """Who types a change sees its arrow."""
    for edit in EDITS.get([])[-1:]:
        try:
            last = Edit.parse(edit.strip())
        except InvalidEdit:
            return
        go_to(last.kind, last.layer, last.head, last.query)


def _asked(text: str, model: str, edits: tuple[str, ...]) -> tuple[Edit, ...]:
    """The changes, if they can be made; else a word about it, and none."""
    try:
        asked = tuple(Edit.parse(edit) for edit in edits)
        _refuse_pointing(asked)
        _experiment(model, text, Place("encoder", 0, 0, 0), edits)
    except InvalidEdit as error:
        st.warning(f"**Nothing is changed.** {markdown.plain(str(error))}", icon=":material/link_off:")
        return ()
    return asked


def _refuse_pointing(edits: Sequence[Edit]) -> None:
    for edit in edits:
        if edit.target is not None and edit.source is None:
            raise InvalidEdit(f"“{edit}” points a whole row at one word. Here a weight moves: name two.")


def _choose_head(model: str) -> tuple[Kind, int, int]:
    entry = catalogue.entry(model)
    options = [
        f"{kind} {layer}-{head}"
        for kind in entry.kinds
        for layer in range(1, entry.layers_of(kind) + 1)
        for head in range(1, entry.heads + 1)
    ]
    kind, numbers = CAUSE_HEAD.select("Head", options, HEAD).split(" ")
    layer, head = (int(number) - 1 for number in numbers.split("-"))
    return cast("Kind", kind), layer, head


def _choose_word(readers: Sequence[str], kind: Kind, goal: int | None) -> int:
    options = [f"{number} {word}" for number, word in enumerate(readers, start=1)]
    opening = options[_opening(readers, kind)]
    if goal is not None and goal < len(options):
        CAUSE_WORD.set(options[goal])
    return options.index(CAUSE_WORD.select("Word that looks", options, opening))


def _opening(readers: Sequence[str], kind: Kind) -> int:
    """The English "it"; of the French words, the one after which *il* or *elle* is chosen."""
    if kind == "encoder":
        return readers.index("it") if "it" in readers else len(readers) // 2
    pronouns = [place for place, word in enumerate(readers) if word in PRONOUNS]
    return pronouns[0] - 1 if pronouns else len(readers) - 1


# The changes


def run(chosen: ArrowSelection, model: str, edits: tuple[str, ...]) -> compute.Experiment:
    """The same sentence and the same arrow, in a translator of this name and with these changes.

    Raises:
        InvalidEdit: that translator has no such head.
    """
    return _experiment(model, chosen.text, chosen.place, edits)


def change(chosen: ArrowSelection, interference: Interference) -> None:
    """Put this change in place of what was changed in the same row."""
    EDITS.set(list(filter(None, [*chosen.elsewhere, written(chosen.place, interference)])))


def undo() -> None:
    """Change nothing any more, in no row."""
    EDITS.set([])


def _is_at(edit: Edit, place: Place) -> bool:
    """Whether an edit changes this row."""
    same_head = (edit.kind, edit.layer, edit.head) == (place.kind, place.layer, place.head)
    return same_head and edit.query in (None, place.query)


def _reach(edit: Edit) -> int:
    """0 where a head is ablated, 1 where a row is, 2 where a weight moves."""
    return 0 if edit.query is None else 1 if edit.source is None else 2


def _moot(edit: Edit, edits: Sequence[Edit]) -> bool:
    """Whether the same row is ablated anyway, by a change that reaches further."""
    place = Place(edit.kind, edit.layer, edit.head, edit.query or 0)
    return any(_is_at(other, place) and _reach(other) < _reach(edit) for other in edits)


def _interference(edit: Edit) -> Interference:
    change: Change = "head" if edit.query is None else "row" if edit.source is None else "move"
    return {"change": change, "source": edit.source, "target": edit.target}


def written(place: Place, interference: Interference) -> str:
    """The change as a link holds it; "" for none."""
    change, source, target = interference["change"], interference["source"], interference["target"]
    if change == "none":
        return ""
    row = "" if change == "head" else f" {place.query + 1}"
    move = f" {source + 1}>{target + 1}" if source is not None and target is not None else ""
    return f"{place.head_name}{row}{move}"


def named(place: int, words: Sequence[str]) -> str:
    """A word, in Markdown; with its number where the sentence has it twice."""
    word = words[place]
    return markdown.code(f"{word} (word {place + 1})" if words.count(word) > 1 else word)
