"""The English sentence chosen from menus: who did not do what, and why; and its other reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import cache
from itertools import chain

import streamlit as st

from attnviz.app.state import memory
from attnviz.app.state.choices import ENGLISH
from attnviz.trained.translator import menu
from attnviz.trained.translator.lexicon import VERB

_KEYS = ("menu_subject", "menu_verb", "menu_object", "menu_predicate")
_READING = "menu_reading"


@dataclass(frozen=True)
class Choices:
    """The four choices behind a sentence of the menu."""

    subject: str
    verb: str
    object: str
    predicate: str

    @property
    def text(self) -> str:
        """The sentence as one writes it."""
        words = menu.canonical(self.subject, self.verb, self.object, self.predicate).source
        return f"{' '.join(words).capitalize()}."

    @property
    def readings(self) -> tuple[str, str]:
        """Two adjectives, one of them its own: by the first *it* is the subject, by the other the object."""
        of_subject, of_object = menu.predicates(self.subject, self.verb, self.object)
        if self.predicate in of_subject:
            return self.predicate, of_object[of_subject.index(self.predicate) % len(of_object)]
        return of_subject[of_object.index(self.predicate) % len(of_subject)], self.predicate


@cache
def choices_of(text: str) -> Choices | None:
    """The choices that make this sentence; None if the menu does not have it."""
    words = text.lower().rstrip(" .").split()
    if len(words) < len(_KEYS) or words[1] not in menu.SUBJECTS:
        return None
    subject, predicate = words[1], words[-1]
    for verb in menu.verbs(subject):
        for object_ in set(words[2:]).intersection(menu.objects(subject, verb)):
            said = chain(*menu.predicates(subject, verb, object_))
            found = Choices(subject, verb, object_, predicate)
            if predicate in said and found.text.lower() == f"{' '.join(words)}.":
                return found
    return None


def menus(text: str) -> None:
    """Draw the four menus, set to this sentence; another choice writes another one."""
    now = choices_of(text)
    values = astuple(now) if now else (None,) * len(_KEYS)
    options: tuple[Sequence[str], ...] = (menu.SUBJECTS, (), (), ())
    if now:
        options = (
            menu.SUBJECTS,
            menu.verbs(now.subject),
            menu.objects(now.subject, now.verb),
            tuple(chain(*menu.predicates(now.subject, now.verb, now.object))),
        )
    labels = ("The …", "did not …", "the …", "as it was too …")
    for key, label, offered, value in zip(_KEYS, labels, options, values, strict=True):
        memory.put(key, value)
        st.selectbox(
            label,
            offered,
            index=offered.index(value) if value else None,
            key=key,
            on_change=_write,
            disabled=not offered,
            placeholder="not of this menu" if offered else "choose a subject first",
            format_func=_said if key == "menu_verb" else str,
        )


def other_reading(text: str) -> None:
    """Draw the switch between the sentence's two readings, if it is one of the menu."""
    now = choices_of(text)
    if now is None:
        return
    memory.put(_READING, now.predicate)
    st.segmented_control(
        "The sentence ends with",
        now.readings,
        key=_READING,
        on_change=_read_otherwise,
        args=(now,),
        required=True,
        format_func=lambda adjective: f"too {adjective}",
        label_visibility="collapsed",
        width="content",
    )


def _said(verb: str) -> str:
    """The verb, and what stands before its object."""
    return " ".join(filter(None, (verb, VERB[verb].english_preposition)))


def _write() -> None:
    subject, *asked = (memory.get(key) for key in _KEYS)
    verb = _kept(asked[0], menu.verbs(subject))
    object_ = _kept(asked[1], menu.objects(subject, verb))
    predicate = _kept(asked[2], tuple(chain(*menu.predicates(subject, verb, object_))))
    ENGLISH.set(Choices(subject, verb, object_, predicate).text)


def _kept(asked: str | None, offered: Sequence[str]) -> str:
    """What was asked for, where it is still offered; else the first that is."""
    return asked if asked is not None and asked in offered else offered[0]


def _read_otherwise(now: Choices) -> None:
    ENGLISH.set(Choices(now.subject, now.verb, now.object, memory.get(_READING)).text)
