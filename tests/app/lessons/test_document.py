"""Documents of lessons: escaping, and translations with all parts of the English text."""

import re

import pytest
from jinja2 import UndefinedError

from attnviz.app.lessons import document as documents
from attnviz.app.lessons.contents import LESSONS
from attnviz.app.lessons.document import Document, document, languages
from attnviz.app.markdown import code

TRANSLATED = [(each.name, code) for each in LESSONS for code in languages(each.name) if code != "en"]
_PLACEHOLDER = re.compile(r"{{(.+?)}}")


def make_document(**parts: str) -> Document:
    return Document("made", "en", {"labels": {"of": "{{ text }}"}}, dict.fromkeys(parts, "Heading"), parts)


def test_visitors_text_is_escaped_and_markdown_is_not() -> None:
    text = make_document(intro="{{ text }} {{ token }}").render("intro", text="*a* <b>", token=code("*a*"))
    assert text == "\\*a\\* \\<b\\> `*a*`"
    assert make_document(intro="").label("of", text="*a*") == "*a*"  # widgets show labels as plain text


def test_missing_value_or_part_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        make_document(intro="{{ absent }}").render("intro")
    with pytest.raises(KeyError):
        make_document(intro="").render("absent")


def test_options_of_a_question_are_plain_and_distinct() -> None:
    source = "Which is {{ a }}?\n\n- [ ] {{ a }}\n- [x] {{ b }}\n- [ ] {{ a }}\n"
    found = make_document(predict=source).predict(a="*x*", b=2)
    assert (found.text, found.options, found.correct) == ("Which is \\*x\\*?", ["*x*", "2"], "2")


@pytest.mark.parametrize(("name", "language"), TRANSLATED)
def test_translation_has_all_parts_labels_and_placeholders(name: str, language: str) -> None:
    english, other = document(name), document(name, language)
    assert other.front_matter.keys() == english.front_matter.keys()
    labels, others = (each.front_matter["labels"] for each in (english, other))
    assert others.keys() == labels.keys()
    assert other.sources.keys() == english.sources.keys()
    for originals, translations in ((labels, others), (english.sources, other.sources)):
        for part, text in originals.items():
            assert sorted(_PLACEHOLDER.findall(translations[part])) == sorted(_PLACEHOLDER.findall(text)), (
                part
            )


def test_unknown_language_falls_back_to_english() -> None:
    assert document("masks", "xx") is document("masks")
    assert documents.document("masks", "de").title != document("masks").title
