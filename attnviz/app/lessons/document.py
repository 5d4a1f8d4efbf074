"""A lesson's texts: `lesson.md`, or a translation such as `lesson.fr.md`, with placeholders for values.

The file begins with YAML front matter: title, question, summary, and the labels of controls and pictures. The
parts follow, each below a heading with an identifier: `## Heading {#name}` begins a section,
`### Note {#name}` a text that the page places elsewhere. Placeholders are in Jinja syntax:
`{{ weight | percent }}`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined, Template

from attnviz.app import markdown
from attnviz.app.markdown import Markdown
from attnviz.text import decimal, percent, plural, scientific

_FOLDER = Path(__file__).parent
_FRONT_MATTER = re.compile(r"\A---\n(?P<yaml>.*?)\n---\n(?P<body>.*)\Z", re.DOTALL)
_HEADING = re.compile(r"^##{1,2} (?P<heading>.+?) \{#(?P<name>[\w-]+)\}$", re.MULTILINE)
_OPTION = re.compile(r"^- \[(?P<mark>[ x])\] (?P<option>.+)$", re.MULTILINE)

ENGLISH = "en"


@dataclass(frozen=True)
class Predict:
    """A question that asks for a prediction.

    Attributes:
        text: Markdown.
        options: Options without duplicates, in plain text.
        correct: The correct option.
    """

    text: str
    options: list[str]
    correct: str


@dataclass(frozen=True)
class Document:
    """The texts of a lesson in one language.

    Attributes:
        name: Name of the lesson.
        language: Language code, such as "fr".
        front_matter: Title, question, summary, language, and the labels by name.
        headings: Headings of the parts, by name.
        sources: Markdown of the parts with placeholders, by name.
    """

    name: str
    language: str
    front_matter: dict[str, Any]
    headings: dict[str, str]
    sources: dict[str, str]

    @property
    def title(self) -> str:
        """The title, as in menus."""
        return str(self.front_matter["title"])

    @property
    def question(self) -> str:
        """The question that the lesson answers."""
        return str(self.front_matter["question"])

    @property
    def summary(self) -> str:
        """One Markdown sentence about the lesson's activity."""
        return str(self.front_matter["summary"])

    def label(self, name: str, /, **values: object) -> str:
        """Return a label of a control or picture, as plain text.

        Raises:
            KeyError: the label is missing from the front matter.
            jinja2.UndefinedError: a placeholder has no value.
        """
        return _template(self.front_matter["labels"][name], plain=True).render(values)

    def render(self, part: str, /, **values: object) -> str:
        """Return a part as Markdown. Values that are plain strings are escaped.

        Raises:
            KeyError: the part is missing from the document.
            jinja2.UndefinedError: a placeholder has no value.
        """
        return _template(self.sources[part]).render(values)

    def predict(self, **values: object) -> Predict:
        """Return the part "predict"; `[x]` marks the correct option in its final task list."""
        source = self.sources["predict"]
        found = list(_OPTION.finditer(_template(source, plain=True).render(values)))
        correct = next(option["option"] for option in found if option["mark"] == "x")
        different = list(dict.fromkeys(option["option"] for option in found))
        text, *_ = _OPTION.split(_template(source).render(values), maxsplit=1)
        return Predict(text.strip(), different, correct)


def document(name: str, language: str = ENGLISH) -> Document:
    """Return a lesson's document in a language, or in English if there is no translation."""
    return _read(name, language if language in languages(name) else ENGLISH)


@cache
def languages(name: str) -> dict[str, str]:
    """Return the languages of a lesson, English first: {"en": "English", "fr": "Français"}."""
    translated = sorted(file.suffixes[0][1:] for file in (_FOLDER / name).glob("lesson.*.md"))
    return {code: str(_read(name, code).front_matter["language"]) for code in (ENGLISH, *translated)}


@cache
def _read(name: str, language: str) -> Document:
    suffix = "" if language == ENGLISH else f".{language}"
    file = (_FOLDER / name / f"lesson{suffix}.md").read_text("utf-8")
    found = _FRONT_MATTER.match(file)
    if not found:
        raise ValueError(f"lesson{suffix}.md of {name} has no front matter between two “---” lines.")
    _, *parts = _HEADING.split(found["body"])
    headings, names, texts = parts[::3], parts[1::3], parts[2::3]
    return Document(
        name,
        language,
        yaml.safe_load(found["yaml"]),
        dict(zip(names, headings, strict=True)),
        {part: text.strip() for part, text in zip(names, texts, strict=True)},
    )


def _escaped(value: object) -> object:
    """Escape a string for Markdown, unless it is marked as Markdown."""
    return markdown.plain(value) if isinstance(value, str) and not isinstance(value, Markdown) else value


def _number(value: float, digits: int = 2) -> Markdown:
    return Markdown(decimal(value, digits))


def _percent(value: float, digits: int = 0) -> Markdown:
    return Markdown(percent(value, digits))


def _environment(*, plain: bool) -> Environment:
    environment = Environment(  # noqa: S701 - the result is Markdown, escaped by `_escaped`, never HTML
        undefined=StrictUndefined, finalize=None if plain else _escaped, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "percent": _percent,
        "number": _number,
        "code": markdown.code,
        "count": lambda value, thing: Markdown(plural(value, thing)),
        "scientific": lambda value: Markdown(scientific(value)),
    }
    return environment


_MARKDOWN, _PLAIN = _environment(plain=False), _environment(plain=True)


@cache
def _template(source: str, *, plain: bool = False) -> Template:
    return (_PLAIN if plain else _MARKDOWN).from_string(source)


SHARED = document("shared")
"""Texts shared by several lessons."""
