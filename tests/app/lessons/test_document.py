"""Lessons' documents: escaping, and translations that have everything the English text has."""

import re

import pytest
from jinja2 import UndefinedError

from attnviz.app.lessons import document as documents
from attnviz.app.lessons.contents import LESSONS
from attnviz.app.lessons.document import Document, document, languages
from attnviz.app.markdown import code

TRANSLATED = [(each.name, code) for each in LESSONS for code in languages(each.name) if code != "en"]
_PLACEHOLDER = re.compile(r"{{(.+?)}}")


def made_of(**parts: str) -> Document:
    return Document("made", "en", {"labels": {"of": "{{ text }}"}}, dict.fromkeys(parts, "Heading"), parts)


def test_a_visitors_text_is_escaped_and_markdown_is_not() -> None:
    text = made_of(intro="{{ text }} {{ token }}").render("intro", text="*a* <b>", token=code("*a*"))
    assert text == "\\*a\\* \\<b\\> `*a*`"
    assert made_of(intro="").label("of", text="*a*") == "*a*"  # widgets show labels as plain text


def test_a_missing_value_or_part_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        made_of(intro="{{ absent }}").render("intro")
    with pytest.raises(KeyError):
        made_of(intro="").render("absent")


def test_options_of_a_question_are_plain_text_and_different() -> None:
    source = "Which is {{ a }}?\n\n- [ ] {{ a }}\n- [x] {{ b }}\n- [ ] {{ a }}\n"
    found = made_of(predict=source).predict(a="*x*", b=2)
    assert (found.text, found.options, found.correct) == ("Which is \\*x\\*?", ["*x*", "2"], "2")


@pytest.mark.parametrize(("name", "language"), TRANSLATED)
def test_a_translation_has_the_parts_labels_and_placeholders_of_the_english_text(
    name: str, language: str
) -> None:
    english, other = document(name), document(name, language)
    assert other.front_matter.keys() == english.front_matter.keys()
    labels, others = (each.front_matter["labels"] for each in (english, other))
    assert others.keys() == labels.keys()
    assert other.sources.keys() == english.sources.keys()
    for ours, theirs in ((labels, others), (english.sources, other.sources)):
        for part, text in ours.items():
            assert sorted(_PLACEHOLDER.findall(theirs[part])) == sorted(_PLACEHOLDER.findall(text)), part


def test_an_unknown_language_is_english() -> None:
    assert document("masks", "xx") is document("masks")
    assert documents.document("masks", "de").title != document("masks").title
