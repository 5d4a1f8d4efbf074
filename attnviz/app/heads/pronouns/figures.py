"""How shares, intervals and sentences are written on this page."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from attnviz.analysis.intervals import wilson
from attnviz.analysis.words import Span
from attnviz.app import markdown
from attnviz.experiments.coreference import Looks, Scores
from attnviz.text import NO_NUMBER, head_name, joined, percent

FEW = 30
"""Of fewer, no share is told: a share of one half could then be anything from a third to two thirds."""

MOST_NAMED = 3
"""Of more heads, only so many are named."""

_LUCKY = 0.05  # what is more probable than this is put down to luck


def share(right: float, total: int) -> str:
    """A share without decimals: "16 %"; of nothing, "–"."""
    return percent(right / total) if total else NO_NUMBER


def fine(weight: float) -> str:
    """A weight, which may be small: "66 %", "1.3 %", or "< 0.1 %"."""
    return percent(weight, 0 if weight >= 0.0995 else 1)


def few(total: int) -> bool:
    """Whether a share of so many says little."""
    return total < FEW


def of_few(total: int) -> str:
    """What a title adds where there are few: ", of only 8"."""
    return f", of only {total}" if few(total) else ""


def short(right: float, total: int) -> str:
    """A share, "16 %"; of few, the count: "8 of 8"."""
    return f"{right:.0f}\N{NO-BREAK SPACE}of\N{NO-BREAK SPACE}{total}" if few(total) else share(right, total)


def interval(right: int, total: int) -> str:
    """Wilson's interval: "12–23 %", on one line."""
    return f"{_ends(right, total)} %"


def rate(right: int, total: int) -> str:
    """The same with its interval, on one short line, as phones need it: "16 % (12–23)"; of few, the count."""
    beside = "" if few(total) else f"\N{NO-BREAK SPACE}({_ends(right, total)})"
    return f"{short(right, total)}{beside}"


def names(heads: Sequence[tuple[int, int]]) -> str:
    """Some heads, the first of many: "head 4-2", "heads 4-2 and 4-4", "heads 1-1, 1-2, 1-3 and 5 more"."""
    return f"{'head' if len(heads) == 1 else 'heads'} {numbers(heads)}"


def numbers(heads: Sequence[tuple[int, int]]) -> str:
    """The same without the word: "4-2 and 4-4"."""
    named = [head_name(*each) for each in heads[:MOST_NAMED]]
    more = len(heads) - len(named)
    return joined([*named, *([f"{more} more"] if more else [])])


def whom(looks: Looks) -> str:
    """What is looked at: "the two nouns", or "the pronoun"."""
    return "the two nouns" if looks == "pronoun" else "the pronoun"


def at_most(chance: float) -> str:
    """A bound of a probability, never rounded down: "at most 0.7 %", "at most 23 %", "less than 0.1 %"."""
    if chance < 0.001:
        return "less than 0.1 %"
    step = 0.001 if chance < 0.1 else 0.01
    return f"at most {percent(ceil(chance / step) * step, 1 if chance < 0.1 else 0)}"


def luck(scores: Scores, place: tuple[int, int]) -> str:
    """Whether luck explains how often the head turns the right way, with so many heads to choose from."""
    if few(scores.total):
        return "Of so few pairs, that says little."
    heads, chance = scores.pairs.size, scores.by_chance(*place)
    if chance > _LUCKY:
        return f"With {heads} heads to choose from, luck could explain that."
    return (
        f"If all {heads} heads turned blindly, the probability that any did so well would be "
        f"{at_most(chance)} (sign test)."
    )


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
