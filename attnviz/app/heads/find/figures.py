"""How shares, intervals, heads and marked sentences are written on this page."""

from __future__ import annotations

from collections.abc import Sequence

from attnviz.analysis.intervals import wilson
from attnviz.analysis.words import Span
from attnviz.app import markdown
from attnviz.text import head_name, joined, percent

FEW = 30
"""Of fewer, no share is told: a share of one half could then be anything from a third to two thirds."""

MOST_NAMED = 3
"""Of more heads, only so many are named."""


def interval(right: int, total: int) -> str:
    """Wilson's interval: "12–23 %", on one line."""
    return f"{_ends(right, total)} %"


def rate(right: int, total: int) -> str:
    """The same with its share, on one short line, as phones need it: "16 % (12–23)"; of few, the count."""
    if total < FEW:
        return f"{right}\N{NO-BREAK SPACE}of\N{NO-BREAK SPACE}{total}"
    return f"{percent(right / total)}\N{NO-BREAK SPACE}({_ends(right, total)})"


def names(heads: Sequence[tuple[int, int]]) -> str:
    """Some heads, the first of many: "head 4-2", "heads 4-2 and 4-4", "heads 1-1, 1-2, 1-3 and 5 more"."""
    named = [head_name(*each) for each in heads[:MOST_NAMED]]
    more = len(heads) - len(named)
    numbers = joined([*named, *([f"{more} more"] if more else [])])
    return f"{'head' if len(heads) == 1 else 'heads'} {numbers}"


def marked(text: str, marks: Sequence[tuple[Span, str]]) -> str:
    """A sentence as Markdown, with signs around some of its words: "*", "**", or a directive, ":red[".

    A directive is closed by its bracket.
    """
    written, begin = "", 0
    for span, sign in sorted(marks):
        written += markdown.plain(text[begin : span.start])
        word = text[span.start : span.end].strip()
        written += f"{sign}{markdown.plain(word)}{']' if sign.endswith('[') else sign}" if word else ""
        begin = span.end
    return written + markdown.plain(text[begin:])


def _ends(right: int, total: int) -> str:
    """The ends of the interval, which no line break parts."""
    low, high = wilson(right, total)
    return f"{100 * low:.0f}–\N{WORD JOINER}{100 * high:.0f}"
