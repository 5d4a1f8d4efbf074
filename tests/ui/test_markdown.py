"""A visitor's words stay letters inside Markdown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from attnviz.ui.markdown import code

SHOWN_AS_TYPED = [
    "dog",
    "**bold**",
    "![x](http://example.invalid/a.png)",
    "<script>alert(1)</script>",
    "$\\LaTeX$",
    ":red[x] :smile: :material/home:",
    "`",
    "``a`b``",
    "` lead",
    "trail `",
    "www.example.invalid",
    "\\",
]


@pytest.mark.parametrize("text", SHOWN_AS_TYPED)
def test_text_is_one_code_span_and_nothing_else(text: str) -> None:
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


def test_blank_text_is_still_a_code_span() -> None:
    assert code("  \n ") == "`   `"
