"""How shares, intervals and sentences are written on this page."""

from __future__ import annotations

from attnviz.analysis.intervals import wilson
from attnviz.heads.pairs import Reading
from attnviz.ui import markdown

HARDLY = 0.05
"""A head that gives less of its weight than this hardly looks there."""


def share(right: float, total: int) -> str:
    """A share without decimals: "16 %"; of nothing, "–"."""
    return _percent(f"{100 * right / total:.0f}") if total else "–"


def fine(weight: float) -> str:
    """A weight, which may be small: "66 %", "1.3 %", or "<0.1 %"."""
    if 0 < weight < 0.001:
        return _percent("<0.1")
    return _percent(f"{100 * weight:.0f}" if weight >= 0.0995 else f"{100 * weight:.1f}")


def interval(right: int, total: int) -> str:
    """Wilson's interval: "12–23 %"."""
    low, high = wilson(right, total)
    return _percent(f"{100 * low:.0f}–{100 * high:.0f}")


def probability(chance: float) -> str:
    """A probability: "0.7 %", "23 %", or "less than 0.1 %"."""
    if chance < 0.001:
        return f"less than {_percent('0.1')}"
    return _percent(f"{100 * chance:.1f}" if chance < 0.1 else f"{100 * chance:.0f}")


def sentence(reading: Reading) -> str:
    """The sentence as Markdown: the pronoun in italics, what decides in bold letters."""
    marks = sorted([(reading.pronoun, "*"), (reading.deciding, "**")])
    written, begin = "", 0
    for span, sign in marks:
        written += markdown.plain(reading.text[begin : span.start])
        word = reading.word(span).strip()
        written += f"{sign}{markdown.plain(word)}{sign}" if word else ""
        begin = span.end
    return written + markdown.plain(reading.text[begin:])


def _percent(number: str) -> str:
    """The number with its sign, which no line break parts."""
    return f"{number}\N{NO-BREAK SPACE}%"
