"""Five questions from a seed and a student's own sentence, and a code for the result."""

from __future__ import annotations

import re
from base64 import b32encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import cycle, islice
from math import cos, exp, log, log10, sin, sqrt
from random import Random
from typing import Any

import numpy as np

from attnviz.analysis.display_tokens import DisplayToken
from attnviz.analysis.sentence import name_of, to_guess_from
from attnviz.app import markdown
from attnviz.errors import InvalidQuestion
from attnviz.text import decimal, percent, plural
from attnviz.trace import Floats

COUNT = 5
_VERSION = "3"  # of the questions: raise it where the same lesson, number and sentence lead to other ones
_TRIES = 40  # tokens and keys to draw, until five questions differ
_NOTICED = 0.02  # a smaller weight is not asked about, nor one that leaves the others less
_APART = 2  # places, at least, between tokens whose distance is asked for
_BASE = 10_000  # of the sinusoidal encoding (Vaswani et al. 2017, §3.5)
_CHECK = 6  # letters of a code's check sum
_DASH = r"\s*[-–—]\s*"  # as phones write it
_CODE = (  # the first ones had no version
    rf"\b(\w{{1,40}}){_DASH}(\d{{1,9}}){_DASH}(\d){_DASH}(?:(\d){_DASH})?([A-Z2-7]{{{_CHECK}}})\.?"
)
_FLAGS = re.ASCII | re.IGNORECASE
_AROUND = " \t\n,;:"  # a name
_NO_CODE = "This is no result code. One looks like masks-1-4-3-ABCDEF: copy the whole of it."


@dataclass(frozen=True)
class Row:
    """What one token does in one attention.

    Attributes:
        looker: what it is called, as plain text.
        place: where it stands among the keys, from 0; None: it is of another text.
        keys: the tokens that it looks at.
        weights: [key], its row.
        dot_products: [key], its query times each key.
        d: how many numbers a query has.
        scale: what a dot product is multiplied by to be a score.
        facts: what else a lesson asks about this token; see the kinds that do.
    """

    looker: str
    place: int | None
    keys: Sequence[DisplayToken]
    weights: Floats
    dot_products: Floats
    d: int
    scale: float
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def who(self) -> str:
        """The token that looks, in Markdown."""
        return markdown.code(self.looker)

    def name(self, key: int) -> str:
        """A key, as plain text."""
        return name_of(key, self.keys)

    def shown(self, key: int) -> str:
        """A key, in Markdown."""
        return markdown.code(self.name(key))


@dataclass(frozen=True)
class Task:
    """A question, in Markdown; what one can answer and what is right, as plain text; and why, in Markdown."""

    question: str
    options: tuple[str, ...]
    right: str
    because: str


Kind = Callable[[Row, Random], Task | None]
"""Makes a question about a row, its right option first; None where this row has nothing to ask."""


def most(row: Row, _: Random) -> Task | None:
    """Which token gets the largest weight?"""
    best = int(row.weights.argmax())
    others = [key for key in to_guess_from(row.weights, row.keys) if key != best]
    if sum(_shown(weight) == _shown(row.weights[best]) for weight in row.weights) > 1:
        return None
    return _task(
        f"Which token does {row.who} look at most?",
        [row.name(key) for key in (best, *others)],
        f"It gives {row.shown(best)} {_shown(row.weights[best])}, the most of its row.",
    )


def share(row: Row, random: Random) -> Task | None:
    """How much does one token get?"""
    keys = _noticed(row)
    if not keys:
        return None
    key = random.choice(keys)
    weight = row.weights[key]
    others = random.sample(keys, len(keys))
    wrong = [_shown(row.weights[other]) for other in others if _shown(row.weights[other]) != _shown(weight)]
    return _task(
        f"How much of its weight does {row.who} give {row.shown(key)}?",
        [_shown(weight), *wrong[:2], percent(1 - _printed(weight), 1)],
        "So it stands in its row of weights.",
    )


def rest(row: Row, random: Random) -> Task | None:
    """How much do all the others get together?"""
    keys = _noticed(row)
    if not keys:
        return None
    key = random.choice(keys)
    weight = _printed(row.weights[key])
    right = percent(1 - weight, 1)
    return _task(
        f"{row.who} gives {row.shown(key)} {percent(weight, 1)} of its weight. "
        "How much do all other tokens get together?",
        [right, percent(weight, 1), percent(1 / len(row.keys), 1), percent(1, 1)],
        f"A row sums to 100 %, and 100 % − {percent(weight, 1)} = {right}.",
    )


def scaled(row: Row, random: Random) -> Task | None:
    """What is the score of a dot product?"""
    key = random.randrange(len(row.keys))
    product = round(float(row.dot_products[key]), 2)
    right = decimal(product / sqrt(row.d))
    return _task(
        f"The query of {row.who} and the key of {row.shown(key)} have {row.d} numbers "
        f"each, and their dot product is {decimal(product)}. What is their score?",
        [right, decimal(product), decimal(product / row.d), decimal(product * sqrt(row.d))],
        f"The score is the dot product divided by √{row.d}: {decimal(product)} / √{row.d} = {right}.",
    )


def ratio(row: Row, random: Random) -> Task | None:
    """How many times as much weight has the larger of two scores?"""
    keys = _noticed(row)
    if len(keys) < 2:
        return None
    low, high = sorted(random.sample(keys, 2), key=lambda key: float(row.weights[key]))
    less, more = (round(float(row.dot_products[key]) * row.scale, 2) for key in (low, high))
    times = exp(more - less)
    right, *wrong = (
        f"{decimal(each, 1)} times" for each in (times, more - less, (more - less) ** 2, times / 2)
    )
    return _task(
        f"To {row.who}, the score of {row.shown(high)} is {decimal(more)}, and that of {row.shown(low)} "
        f"{decimal(less)}. How many times as much weight does the first one get?",
        [right, *wrong],
        f"Softmax raises *e* to the power of each score, and *e* to the power of their difference, "
        f"{decimal(more - less)}, is {decimal(times, 1)}.",
    )


def closed(row: Row, random: Random) -> Task | None:
    """What does a causal mask close?"""
    if row.place is None or row.place + 1 >= len(row.keys):
        return None
    after = row.name(random.randrange(row.place + 1, len(row.keys)))
    before = [row.name(key) for key in range(row.place + 1)]
    return _task(
        f"Under a causal mask, at which of these may {row.who} not look?",
        [after, *random.sample(before, min(3, len(before)))],
        "A causal mask closes all that comes later, and leaves open what came before and the token itself.",
    )


def renormalised(row: Row, random: Random) -> Task | None:
    """What becomes of a weight when others of its row are closed?"""
    keys = [key for key in _noticed(row) if row.place is not None and key <= row.place < len(row.keys) - 1]
    if not keys or row.place is None:
        return None
    key = random.choice(keys)
    part, of = _printed(row.weights[key]), _printed(row.weights[: row.place + 1].sum())
    right = percent(part / of, 1)
    return _task(
        f"{row.who} gives {row.shown(key)} {percent(part, 1)}, and {percent(of, 1)} to "
        "all tokens up to itself. The scores stay, and all cells after its own are closed. How much does "
        f"{row.shown(key)} get now?",
        [right, percent(part, 1), percent(part + 1 - of, 1), percent(0, 1)],
        f"What stays open shares the 100 % as before: {percent(part, 1)} / {percent(of, 1)} = {right}.",
    )


def cells(row: Row, random: Random) -> Task | None:
    """How many weights has a head?"""
    tokens = random.randrange(3, 30)
    return _task(
        f"How many weights does one head have for a text of {tokens} tokens that reads itself?",
        [str(tokens**2), str(tokens), str(2 * tokens), str(tokens * row.d)],
        f"A row for each token, with a weight for each token: {tokens} × {tokens}.",
    )


def shape(_: Row, random: Random) -> Task | None:
    """How many weights has cross-attention?"""
    reader, source = random.sample(range(3, 30), 2)
    return _task(
        f"A reader of {reader} tokens reads a source of {source}. How large is the matrix of weights, rows × "
        "columns?",
        [f"{reader} × {source}", f"{source} × {reader}", f"{reader} × {reader}", f"{source} × {source}"],
        "A row for each token that reads, a column for each that is read.",
    )


def narrow(_: Row, random: Random) -> Task | None:
    """How wide is one of several heads?"""
    heads, d = random.choice([2, 3, 4, 6, 8, 12, 16]), random.choice([192, 384, 768, 1536])
    return _task(
        f"{heads} heads share vectors of {d} numbers. How many numbers has each head's query?",
        [str(d // heads), str(d), str(heads), str(d * heads)],
        f"They share them out equally: {d} / {heads} = {d // heads}.",
    )


def wave(row: Row, random: Random) -> Task | None:
    """What is a number of the sinusoidal encoding?"""
    if row.place is None:
        return None
    place = random.randrange(1, len(row.keys))
    right = decimal(sin(place))
    return _task(
        f"{row.shown(place)} stands at place {place}, counted from 0. What is the first number of its "
        "sinusoidal encoding?",
        [right, decimal(cos(place)), decimal(sin(place / _BASE), 4), str(place)],
        f"It is sin({place} / {_BASE:,}^0) = sin({place}) = {right}, in radians.",
    )


def distance(row: Row, random: Random) -> Task | None:
    """Which two places are as far apart?"""
    count = len(row.keys)
    if row.place is None or count < 5:
        return None
    gap = random.randrange(1, count // 2)
    (first, _), same = ((start, start + gap) for start in random.sample(range(count - gap), 2))
    other = [(start, end) for start in range(count) for end in range(start + 1, count) if end - start != gap]
    pairs = [f"{row.name(a)} and {row.name(b)}" for a, b in (same, *random.sample(other, 3))]
    return _task(
        f"Rotary positions turn the query of {row.shown(first)} and the key of {row.shown(first + gap)} by "
        "different angles. For which query and key is the difference of the angles the same?",
        pairs,
        f"It is the distance that counts, {plural(gap, 'place')} here as there.",
    )


def added(row: Row, random: Random) -> Task | None:
    """What is a number of a vector after the Add? `facts`: the vector "came in", and the "update"."""
    at = random.randrange(len(row.facts["update"]))
    old, update = (round(float(row.facts[name][at]), 2) for name in ("came in", "update"))
    right = decimal(old + update)
    return _task(
        f"Number {at + 1} of the vector of {row.who} is {decimal(old)} as it comes in; that of attention's "
        f"update is {decimal(update)}. What is it after the first Add?",
        [right, decimal(old), decimal(update), decimal(old - update)],
        f"The update is added, and nothing replaced: {decimal(old)} + {_bracketed(update)} = {right}.",
    )


def normed(row: Row, random: Random) -> Task | None:
    """What is a number of a sum after the norm? `facts`: as for `added`."""
    total = row.facts["came in"] + row.facts["update"]
    mean, deviation = round(float(total.mean()), 2), round(float(total.std()), 2)
    value = round(float(random.choice(list(total))), 2)
    right = decimal((value - mean) / deviation)
    return _task(
        f"After the first Add, the {len(total)} numbers of {row.who} have mean {decimal(mean)} and standard "
        f"deviation {decimal(deviation)}. One of them is {decimal(value)}. What does the norm make of it, "
        "before its learned factor and offset?",
        [right, decimal(value - mean), decimal((value - mean) * deviation), decimal(value + mean)],
        f"The mean is taken away, and what is left divided by the deviation: ({decimal(value)} − "
        f"{_bracketed(mean)}) / {decimal(deviation)} = {right}.",
    )


def widened(_: Row, random: Random) -> Task | None:
    """How many numbers has a feed-forward network?"""
    d = random.choice([64, 128, 192, 384, 512, 768, 1024])
    return _task(
        f"A feed-forward network makes {4 * d} numbers of a token's {d}, and {d} of these again. How many "
        "numbers do its two matrices have together?",
        [f"{count:,}" for count in (8 * d * d, 4 * d * d, 8 * d, 16 * d * d)],
        f"One is {d} × {4 * d}, the other {4 * d} × {d}: together {8 * d * d:,}.",
    )


def likely(row: Row, _: Random) -> Task | None:
    """How probable are all other words? `facts`: the most probable next words, "choices"."""
    (word, first), (second, other) = ((word, _printed(share)) for word, share in row.facts["choices"][:2])
    right = percent(1 - first - other, 1)
    return _task(
        f"After {row.who} the model gives {markdown.code(word)} {percent(first, 1)} and "
        f"{markdown.code(second)} {percent(other, 1)}. How probable are all other words together?",
        [right, percent(1 - first, 1), percent(abs(first - other), 1), percent(first + other, 1)],
        f"A softmax over all words sums to 100 %: 100 % − {percent(first, 1)} − {percent(other, 1)} = "
        f"{right}.",
    )


def loss(row: Row, random: Random) -> Task | None:
    """What is the loss of a word? `facts`: the most probable next words, "choices"."""
    word, share = random.choice(row.facts["choices"])
    share = _printed(share)
    if share < _NOTICED:
        return None
    right = decimal(-log(share))
    return _task(
        f"After {row.who} the model gives {markdown.code(word)} {percent(share, 1)}. If this is the right "
        "next word, what is its loss?",
        [right, decimal(share), decimal(1 - share), decimal(-log10(share))],
        f"It is −ln of the right word's probability: −ln {decimal(share, 3)} = {right}.",
    )


def studied(row: Row, random: Random) -> Task | None:
    """How many texts did it learn from? `facts`: those of a step, "batch"."""
    batch, steps = row.facts["batch"], random.randrange(50, 4000, 50)
    return _task(
        f"This model learned from {batch} texts a step. From how many had it learned after {steps:,} steps, "
        "each time a text came counted?",
        [f"{count:,}" for count in (batch * steps, steps, batch + steps, 2 * batch * steps)],
        f"{steps:,} × {batch} = {batch * steps:,}.",
    )


def descended(_: Row, random: Random) -> Task | None:
    """What is a number after one step of gradient descent?"""
    weight, gradient, rate = random.randint(-9, 9) / 10, random.choice([-4, -3, -2, 2, 3, 4]), 0.1
    right = decimal(weight - rate * gradient)
    return _task(
        f"A learned number is {decimal(weight)}, the gradient of the loss there {decimal(gradient)}, the "
        f"learning rate {decimal(rate)}. What is it after one step of plain gradient descent?",
        [right, decimal(weight + rate * gradient), decimal(weight - gradient), decimal(weight)],
        f"It goes against the gradient: {decimal(weight)} − {decimal(rate)} × {_bracketed(gradient)} = "
        f"{right}.",
    )


def decides(row: Row, random: Random) -> Task | None:
    """In which head does it matter most to silence the row? `facts`: "pronoun", "unchanged", "silenced"."""
    silenced = {head: percent(_printed(share), 1) for head, share in row.facts.get("silenced", {}).items()}
    if not silenced:
        return None
    least = min(silenced, key=lambda head: row.facts["silenced"][head])
    if list(silenced.values()).count(silenced[least]) > 1 or silenced[least] == percent(
        row.facts["unchanged"], 1
    ):
        return None
    options = [least, *random.sample([head for head in silenced if head != least], 3)]
    return _task(
        f"In each of these heads in turn, the row of {row.who} is silenced. In which of them does "
        f"{markdown.code(row.facts['pronoun'])} then become least probable?",
        options,
        ", ".join(f"In {head} it gets {silenced[head]}" for head in options)
        + f"; with nothing silenced {percent(row.facts['unchanged'], 1)}.",
    )


def moved(row: Row, random: Random) -> Task | None:
    """What does a key get when the arrow moves there? `facts`: the "head"."""
    source, target = random.sample(range(len(row.keys)), 2)
    first, other = _printed(row.weights[source]), _printed(row.weights[target])
    right = percent(first + other, 1)
    return _task(
        f"In head {row.facts['head']} {row.who} gives {row.shown(source)} {percent(first, 1)} and "
        f"{row.shown(target)} {percent(other, 1)}. The arrow is dragged from the first to the second. How "
        f"much does {row.shown(target)} get then?",
        [right, percent(first, 1), percent(other, 1), percent((first + other) / 2, 1)],
        f"What the first one had moves, and the row's sum stays: {percent(first, 1)} + {percent(other, 1)} "
        f"= {right}.",
    )


def effect(row: Row, random: Random) -> Task | None:
    """By how many percentage points does the pronoun change? `facts`: as for `decides`."""
    if not row.facts.get("silenced"):
        return None
    head, share = random.choice(list(row.facts["silenced"].items()))
    before, now = (round(100 * float(each), 1) for each in (row.facts["unchanged"], share))
    right = f"{decimal(now - before, 1)} points"
    return _task(
        f"{markdown.code(row.facts['pronoun'])} has {percent(before / 100, 1)}. With the row of {row.who} "
        f"in head {head} silenced, it has {percent(now / 100, 1)}. How large is the effect, in "
        "percentage points?",
        [right, *(f"{decimal(each, 1)} points" for each in (before - now, now, before))],
        f"It is the difference of the two: {decimal(now, 1)} − {decimal(before, 1)} = "
        f"{decimal(now - before, 1)}.",
    )


def heated(row: Row, _: Random) -> Task | None:
    """What does a temperature do to two words? `facts`: the most probable next words, "choices"."""
    (word, first), (second, other) = ((word, _printed(share)) for word, share in row.facts["choices"][:2])
    if other < _NOTICED:
        return None
    times = round(first / other, 1)
    right, *wrong = (f"{decimal(each, 1)} times" for each in (sqrt(times), times, 2 * times, times**2))
    return _task(
        f"After {row.who}, {markdown.code(word)} is {decimal(times, 1)} times as probable as "
        f"{markdown.code(second)}. How many times is it at temperature 2?",
        [right, *wrong],
        "The scores are divided by 2 before the softmax, and so is the difference of the two: "
        f"√{decimal(times, 1)} = {right}.",
    )


def followed(row: Row, _: Random) -> Task | None:
    """Where does an induction head look? Of a text that stands there twice."""
    label, place = row.keys[row.place or 0].label, row.place or 0
    before = [key for key in range(place) if row.keys[key].label == label]
    if len(before) != 1:
        return None
    [first] = before
    return _task(
        f"An induction head is at {row.who}, said again. Which token does it look for?",
        [row.name(key) for key in (first + 1, first, place - 1, place)],
        f"It looks for what followed the same word the first time: behind {row.shown(first)} stood "
        f"{row.shown(first + 1)}.",
    )


def back(row: Row, _: Random) -> Task | None:
    """Where does a head look that looks one word back?"""
    place = row.place or 0
    if place < _APART:
        return None
    before = row.name(place - 1)
    return _task(
        f"A head looks one word back, as induction needs it. At which token does it look from {row.who}?",
        [before, row.name(place - _APART), row.name(place)],
        "The token right before it: so that its word is known where the next one stands.",
    )


def exchanged(row: Row, random: Random) -> Task | None:
    """What does a key get when two weights are exchanged? `facts`: the "head"."""
    keys = random.sample(range((row.place or 0) + 1), 2)
    first, other = (_printed(row.weights[key]) for key in keys)
    name, second = map(row.shown, keys)
    return _task(
        f"In head {row.facts['head']} {row.who} gives {name} {percent(first, 1)} and {second} "
        f"{percent(other, 1)}. These two weights are exchanged. How much does {name} get then?",
        [percent(share, 1) for share in (other, first, first + other, (first + other) / 2)],
        f"What {second} had: {percent(other, 1)}. All other weights stay, and so does the row's sum.",
    )


def kept(row: Row, _: Random) -> Task | None:
    """How much does attention keep of a text?"""
    tokens = len(row.keys)
    right = 2 * row.d * tokens
    return _task(
        f"In one head each token has a key and a value, {row.d} numbers each. How many numbers is that for "
        f"the {tokens} tokens of this sentence?",
        [f"{count:,}" for count in (right, row.d * tokens, 2 * row.d, tokens**2)],
        f"{row.d} and {row.d} for each of the {tokens} tokens: it grows with the text, as a memory of fixed "
        "size does not.",
    )


def path(row: Row, random: Random) -> Task | None:
    """How many steps lie between two tokens?"""
    if len(row.keys) < _APART + 1:
        return None
    first, last = _apart(row, random)
    return _task(
        f"A memory is passed on from token to token. How many steps is it from {row.shown(first)} to "
        f"{row.shown(last)}?",
        [str(count) for count in (last - first, 1, last - first + 1, len(row.keys))],
        f"One step a token: {last} − {first}, counted from 0. Attention needs one, however far they are "
        "apart.",
    )


def faded(row: Row, random: Random) -> Task | None:
    """How much is left of what fades from step to step?"""
    if len(row.keys) < _APART + 1:
        return None
    first, last = _apart(row, random)
    share, steps = random.choice([0.8, 0.9, 0.95]), last - first
    right = percent(share**steps, 1)
    return _task(
        f"If a memory keeps {percent(share)} of a number at each token, how much of what it had at "
        f"{row.shown(first)} is left {plural(steps, 'token')} later, at {row.shown(last)}?",
        [right, percent(share, 1), percent(max(0, 1 - (1 - share) * steps), 1), percent(share / steps, 1)],
        f"{percent(share)} of what is left, {plural(steps, 'time')}: {decimal(share)} to the power of "
        f"{steps} is {right}.",
    )


KINDS: dict[str, tuple[Kind, ...]] = {
    "weighted_average": (most, share, rest, ratio),
    "scale": (scaled, ratio, scaled, rest),
    "query_key_value": (most, scaled, ratio, share),
    "many_heads": (most, narrow, share, cells),
    "masks": (closed, renormalised, rest),
    "positions": (wave, distance),
    "cross_attention": (most, shape, share, ratio),
    "block": (added, normed, widened),
    "translate": (most, likely, shape, rest),
    "cause": (decides, moved, effect),
    "watch_it_learn": (loss, studied, descended),
    "long_distances": (path, faded, cells, kept),
    "write": (likely, heated, closed, rest),
    "induction": (followed, back, share, rest),
    "who_gets_the_book": (decides, exchanged, effect, rest),
    "watch_a_circuit_form": (loss, followed, studied, descended),
}
"""What the assignment of each lesson asks, by its name."""


def tasks(lesson: str, seed: int, text: str, rows: Sequence[Row]) -> tuple[Task, ...]:
    """The five questions: the same ones for the same lesson, seed and sentence.

    Args:
        lesson: a name in `KINDS`.
        seed: the teacher's.
        text: the student's sentence.
        rows: what its tokens do.

    Raises:
        InvalidQuestion: the sentence is too short for five questions.
    """
    random = Random(f"{lesson} {seed} {' '.join(text.split())}")  # noqa: S311 - a game, no secret
    found: list[Task] = []
    for kind in islice(cycle(KINDS[lesson]), _TRIES if rows else 0):
        task = kind(random.choice(rows), random)
        options = tuple(random.sample(task.options, len(task.options))) if task else ()
        if task and task.question not in {each.question for each in found}:
            found.append(replace(task, options=options))
        if len(found) == COUNT:
            return tuple(found)
    raise InvalidQuestion("This sentence is too short for five questions. Write a longer one.")


def code(lesson: str, seed: int, score: int, text: str) -> str:
    """What a student hands in: lesson, seed, score, version, and a check sum of these and of the sentence."""
    told = f"{lesson}-{seed}-{score}-{_VERSION}"
    # Spaces, and a stop at the end, come and go as a sentence is copied.
    digest = sha256(f"{told} {''.join(text.split()).rstrip('.')}".encode()).digest()
    return f"{told}-{b32encode(digest).decode()[:_CHECK]}"


@dataclass(frozen=True)
class Result:
    """What a code says that was handed in.

    Attributes:
        before: what stands before the code or in the line above, such as a name; with the code, or alone,
            where it is not accepted.
        lesson: a name in `KINDS`; "" where the code is not accepted.
        seed, score: the number of the assignment, and how many answers were right.
        trouble: why it is not accepted; "" where it is.
    """

    before: str
    lesson: str = ""
    seed: int = 0
    score: int = 0
    trouble: str = ""


def results(handed_in: str) -> list[Result]:
    """What all codes say, in their order, and what belongs to none.

    Each code begins in a line of its own, with its sentence behind it. A name stands before it, or in the
    line above: what the check sum shows not to be a sentence's end belongs to the next code.
    """
    code_ahead = re.sub(r"\((?!\?)", "(?:", _CODE)
    found: list[Result] = []
    above: list[str] = []  # lines that belong to no code yet
    for part in re.split(rf"\n(?=[^\n]*?{code_ahead})", handed_in, flags=_FLAGS):
        match = re.search(_CODE, part, _FLAGS)
        lines = [line for line in part[match.end() if match else 0 :].splitlines() if line.strip()]
        if match is None:
            above = lines
            continue
        name = part[: match.start()].strip(_AROUND)
        named_above = not name and bool(above)
        if named_above:
            name = above.pop().strip(_AROUND)
        found += _unread(above)
        fits = (count for count in range(len(lines), 0, -1) if _trouble(match, lines[:count]) == "")
        count = next(fits, len(lines) - (named_above and len(lines) > 1))
        trouble, above = _trouble(match, lines[:count]), lines[count:]
        found.append(
            Result(f"{name} {match[0]}".strip(), trouble=trouble)
            if trouble
            else Result(name, match[1].lower(), int(match[2]), int(match[3]))
        )
    return [*found, *_unread(above)]


def _unread(lines: Sequence[str]) -> list[Result]:
    return [Result(" ".join(lines), trouble=_NO_CODE)] if lines else []


def _trouble(match: re.Match[str], lines: Sequence[str]) -> str:
    """Why a code is not accepted with these lines behind it; "" where it is."""
    lesson, seed, score, version, check = match.groups()
    if lesson.lower() not in KINDS:
        return _NO_CODE
    if version != _VERSION:
        return (
            "This code comes from another version of attnviz, which asked other questions. It may be right, "
            "but cannot be checked here: let the student answer the questions of this version."
        )
    if not lines:
        return "The student's sentence is missing: it stands behind the code. Paste both."
    if code(lesson.lower(), int(seed), int(score), " ".join(lines)).rpartition("-")[2] != check.upper():
        return (
            "This code does not fit this sentence. Compare both with what the student sent, letter by "
            "letter: spaces and a stop at the end do not matter."
        )
    return ""


def _task(question: str, options: Sequence[str], because: str) -> Task | None:
    """The question, with its options, the right one first; None where two of them are the same."""
    if len(options) < 2 or len(set(options)) < len(options):
        return None
    return Task(question, tuple(options), options[0], because)


def _noticed(row: Row) -> list[int]:
    return [int(key) for key in np.flatnonzero((row.weights >= _NOTICED) & (row.weights <= 1 - _NOTICED))]


def _printed(weight: float) -> float:
    """A share as precisely as it is printed, so that the printed numbers give the printed answer."""
    return round(float(weight), 3)


def _shown(weight: float) -> str:
    return percent(float(weight), 1)


def _apart(row: Row, random: Random) -> tuple[int, int]:
    """Two keys with at least one between them."""
    first = random.randrange(len(row.keys) - _APART)
    return first, random.randrange(first + _APART, len(row.keys))


def _bracketed(number: float) -> str:
    """A number behind a sign."""
    return f"({decimal(number)})" if number < 0 else decimal(number)
