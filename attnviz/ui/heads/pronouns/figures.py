"""How shares, intervals and sentences are written on this page."""

from __future__ import annotations

from attnviz.analysis.intervals import wilson
from attnviz.heads.pairs import Reading
from attnviz.heads.pronouns import Looks, Scores
from attnviz.ui import markdown

HARDLY = 0.05
"""A head that gives less of its weight than this hardly looks there."""

_LUCKY = 0.05  # what is more probable than this is put down to luck


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


def name_of(place: tuple[int, int]) -> str:
    """A head's name, as in Clark et al. 2019: "4-2"."""
    return f"{place[0] + 1}-{place[1] + 1}"


def whom(looks: Looks) -> str:
    """What is looked at: "the two nouns", or "the pronoun"."""
    return "the two nouns" if looks == "pronoun" else "the pronoun"


def at_most(chance: float) -> str:
    """A bound of a probability: "at most 0.7 %", "at most 23 %", or "less than 0.1 %"."""
    if chance < 0.001:
        return f"less than {_percent('0.1')}"
    return f"at most {_percent(f'{100 * chance:.1f}' if chance < 0.1 else f'{100 * chance:.0f}')}"


def luck(scores: Scores, place: tuple[int, int]) -> str:
    """Whether luck explains how often the head turns the right way, with so many heads to choose from."""
    heads, chance = scores.pairs.size, scores.by_chance(*place)
    if chance > _LUCKY:
        return f"With {heads} heads to choose from, luck explains that."
    return f"That any of {heads} blind heads does so well has a probability of {at_most(chance)} (sign test)."


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
