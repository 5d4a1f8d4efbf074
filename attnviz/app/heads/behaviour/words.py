"""What every number on the page means, in plain words, with the model's own special tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attnviz.analysis.tally import Rule
from attnviz.app import markdown
from attnviz.text import joined
from attnviz.trace import Token

_DOES = {
    "previous": "gives the token before it {score} of its attention",
    "next": "gives the token after it {score} of its attention",
    "itself": "gives itself {score} of its attention",
    "first": "gives {first} {score} of its attention",
    "separator": "gives {separators} {score} of its attention",
    "punctuation": "gives punctuation {score} of its attention",
    "same word": "gives its own word elsewhere in the sentence {score} of its attention",
    "focused": "gives the one token that it looks at most {score} of its attention",
    "broad": "stands at {score} between one token alone (0 %) and all tokens alike (100 %)",
    "distance": "looks {score} away",
    "relative distance": "looks {score} of the longest distance in the sentence away",
}
_IN_SHORT = {
    "previous": "the token before",
    "next": "the token after",
    "itself": "the token itself",
    "first": "{first}",
    "separator": "{separators}",
    "punctuation": "full stops, commas and so on",
    "same word": "the same word elsewhere",
    "focused": "the one token looked at most",
    "broad": "0 %: one token, 100 %: all alike",
    "distance": "how far away it looks",
    "relative distance": "the same, 100 %: end to end",
}
_IN_FULL = {
    "punctuation": "Only tokens count that may look at some. ",
    "same word": "Only tokens count that may look at their word elsewhere; capitals do not matter. ",
    "broad": "It is the entropy of the weights, divided by the largest that is possible. ",
    "distance": "Each distance counts by its weight. ",
    "relative distance": "Each distance counts by its weight. ",
}
_RESTING = ("first", "separator")
"""Rules that count what special tokens get."""


@dataclass(frozen=True)
class Special:
    """The tokens that the model's tokenizer adds to each sentence.

    Attributes:
        first: the first token, where it is one of them ("[CLS]"); "" where it is the sentence's own.
        separators: those behind the first, each once ("[SEP]").
    """

    first: str
    separators: tuple[str, ...]

    @classmethod
    def of(cls, tokens: Sequence[Token]) -> Special:
        """Those among the tokens of a sentence."""
        behind = dict.fromkeys(token.text for token in tokens[1:] if token.special)
        return cls(tokens[0].text if tokens[0].special else "", tuple(behind))

    @property
    def markdown(self) -> Special:
        """The same with names that stay as they are inside Markdown."""
        return Special(markdown.plain(self.first), tuple(map(markdown.plain, self.separators)))


def does(rule: Rule, score: str, special: Special) -> str:
    """What a head does, as the end of a sentence: "gives the token before it 71 % of its attention"."""
    first = f"the first token, {special.first}," if special.first else "the first token"
    return _DOES[rule.name].format(score=score, first=first, separators=_separators(special))


def in_short(rule: Rule, special: Special) -> str:
    """What a head's number is about, in few words: "the token before"."""
    first = f"the first token, {special.first}" if special.first else "the first token"
    return _IN_SHORT[rule.name].format(first=first, separators=_separators(special))


def in_full(rule: Rule, special: Special) -> str:
    """How the rule treats special tokens, and what else decides its numbers; as Markdown."""
    names = joined([name for name in (special.markdown.first, *special.markdown.separators) if name])
    told = _IN_FULL.get(rule.name, "")
    if rule.name in _RESTING:
        told += "Such a token is often a place to rest: a look at it may do little (Clark et al. 2019). "
        return told + (f"Not counted: what is looked at by {names}. " if names else "")
    if not names:
        return told
    telling = joined(["*first*"] * bool(special.first) + ["*separator*"] * bool(special.separators))
    return (
        f"{told}Left out: {names}; the rest counts as 100 %. What a head gives there is told by {telling}. "
    )


def _separators(special: Special) -> str:
    return joined(special.separators) if special.separators else "special tokens behind the first"
