"""Translations of lessons have the parts, labels and placeholders of the English text."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jinja2 import meta

from attnviz.app.learn import document
from attnviz.app.learn.contents import LESSONS
from attnviz.app.learn.document import ENGLISH, Document

_LABELS = {"title": "T", "first": "{{ a }} and {{ b }}"}
_PARTS = {"intro": "{{ x | percent }}", "limits": "None."}


def placeholders(texts: dict[str, str]) -> dict[str, set[str]]:
    """Return the names of the values in each text."""
    parse = document._MARKDOWN.parse
    return {name: meta.find_undeclared_variables(parse(text)) for name, text in texts.items()}


def differences(english: Document, other: Document) -> Iterator[str]:
    """Return the parts and labels that are missing, additional, or have other placeholders."""
    for kind, *texts in (
        ("label", english.front_matter["labels"], other.front_matter["labels"]),
        ("part", english.sources, other.sources),
        ("entry", *(dict.fromkeys(each.front_matter, "") for each in (english, other))),
    ):
        first, second = map(placeholders, texts)
        yield from (f"{kind} {name}" for name in first.keys() | second if first.get(name) != second.get(name))


def test_every_translation_has_all_parts_labels_and_placeholders() -> None:
    for lesson in LESSONS:
        english = document.document(lesson.name)
        for language in document.languages(lesson.name):
            other = document.document(lesson.name, language)
            assert [*differences(english, other)] == [], f"{lesson.name}, {language}"


def made_up(labels: dict[str, str], parts: dict[str, str]) -> Document:
    front_matter: dict[str, Any] = {"title": "T", "labels": labels}
    return Document("x", ENGLISH, front_matter, dict.fromkeys(parts, "H"), parts)


@pytest.mark.parametrize(
    ("labels", "parts", "found"),
    [
        (_LABELS, {"intro": "{{ x }} {{ x }}", "limits": "Rien."}, []),
        ({"title": "T"}, _PARTS, ["label first"]),
        ({**_LABELS, "first": "{{ a }}"}, _PARTS, ["label first"]),
        (_LABELS, {**_PARTS, "more": ""}, ["part more"]),
    ],
)
def test_what_a_translation_lacks_is_found(
    labels: dict[str, str], parts: dict[str, str], found: list[str]
) -> None:
    assert [*differences(made_up(_LABELS, _PARTS), made_up(labels, parts))] == found


def test_a_translation_is_read_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "_FOLDER", tmp_path)
    folder = tmp_path / "made_up"
    folder.mkdir()
    for suffix, language, text in (("", "English", "One"), (".fr", "Français", "Un")):
        front_matter = f"---\nlanguage: {language}\ntitle: {text}\nlabels: {{}}\n---\n"
        part = f"\n## {text} {{#intro}}\n\n{text}\n"
        (folder / f"lesson{suffix}.md").write_text(front_matter + part, "utf-8")
    assert document.languages("made_up") == {"en": "English", "fr": "Français"}
    assert document.document("made_up", "fr").render("intro") == "Un"
    assert document.document("made_up", "de").title == "One"
