"""Escaping of a visitor's text in Markdown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from attnviz.app.markdown import code, plain

SHOWN_AS_TYPED = [
    *("**bold**", "![x](http://example.invalid/a.png)", "<script>alert(1)</script>", "$\\LaTeX$", "`", "\\"),
    *(":red[x] :smile: :material/home:", "``a`b``", "` lead", "trail `", "www.example.invalid"),
    *("&lt;b&gt; &amp; &#60;", "a@b.invalid"),
]


@pytest.mark.parametrize("text", SHOWN_AS_TYPED)
def test_special_text_is_one_code_span(text: str) -> None:
    tokens = MarkdownIt().parseInline(code(text))[0].children
    assert tokens is not None
    assert [token.type for token in tokens] == ["code_inline"]
    assert tokens[0].content.replace("\u2060", "").strip() == text.strip()
    assert ":material/" not in tokens[0].content


@given(st.text(min_size=1).filter(lambda text: text.strip()))
def test_any_text_is_one_code_span(text: str) -> None:
    tokens = MarkdownIt().parseInline(code(text))[0].children
    assert tokens is not None
    assert [token.type for token in tokens] == ["code_inline"]


@pytest.mark.parametrize("text", SHOWN_AS_TYPED)
def test_message_that_quotes_text_has_no_formatting(text: str) -> None:
    tokens = MarkdownIt().parseInline(plain(f"It says {text} here."))[0].children
    assert tokens is not None
    assert "".join(token.content for token in tokens).replace("\u2060", "") == f"It says {text} here."
    assert {token.type for token in tokens} <= {"text", "text_special"}


@pytest.mark.parametrize(
    "text", ["1. one", "2) two", "- three", "+ four", "# five", "> six", "===", "a\n---"]
)
def test_message_that_begins_with_a_markdown_sign_is_a_paragraph(text: str) -> None:
    paragraph, *others = MarkdownIt().parse(plain(text))
    assert paragraph.type == "paragraph_open"
    assert [token.type for token in others] == ["inline", "paragraph_close"]
