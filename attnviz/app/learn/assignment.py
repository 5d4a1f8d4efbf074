"""Five questions from a seed and a student's own sentence, and a code for the result."""

from __future__ import annotations

from base64 import b32encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import cycle, islice
from math import cos, exp, sin, sqrt
from random import Random

import numpy as np

from attnviz.analysis.display_tokens import DisplayToken
from attnviz.analysis.sentence import name_of, to_guess_from
from attnviz.app import markdown
from attnviz.errors import InvalidCode, InvalidQuestion
from attnviz.text import decimal, percent, plural
from attnviz.trace import Floats

COUNT = 5
_TRIES = 40  # tokens and keys to draw, until five questions differ
_NOTICED = 0.02  # a smaller weight is not asked about
_BASE = 10_000  # of the sinusoidal encoding (Vaswani et al. 2017, §3.5)
_CHECK = 6  # letters of a code's check sum


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
    """

    looker: str
    place: int | None
    keys: Sequence[DisplayToken]
    weights: Floats
    dot_products: Floats
    d: int
    scale: float

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
"""Makes a question about a row; None where this row has nothing to ask."""


def most(row: Row, random: Random) -> Task | None:
    """Which token gets the largest weight?"""
    options = [row.name(key) for key in to_guess_from(row.weights, row.keys)]
    best = int(row.weights.argmax())
    return _task(
        f"Which token does {row.who} look at most?",
        options,
        row.name(best),
        f"It gives {row.shown(best)} {_shown(row.weights[best])}, the most of its row.",
        random,
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
        _shown(weight),
        "So it stands in its row of weights.",
        random,
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
        right,
        f"A row sums to 100 %, and 100 % − {percent(weight, 1)} = {right}.",
        random,
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
        right,
        f"The score is the dot product divided by √{row.d}: {decimal(product)} / √{row.d} = {right}.",
        random,
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
        right,
        f"Softmax raises *e* to the power of each score, and *e* to the power of their difference, "
        f"{decimal(more - less)}, is {decimal(times, 1)}.",
        random,
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
        after,
        "A causal mask closes all that comes later, and leaves open what came before and the token itself.",
        random,
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
        right,
        f"What stays open shares the 100 % as before: {percent(part, 1)} / {percent(of, 1)} = {right}.",
        random,
    )


def cells(row: Row, random: Random) -> Task | None:
    """How many weights has a head?"""
    tokens = random.randrange(3, 30)
    return _task(
        f"How many weights does one head have for a text of {tokens} tokens that reads itself?",
        [str(tokens**2), str(tokens), str(2 * tokens), str(tokens * row.d)],
        str(tokens**2),
        f"A row for each token, with a weight for each token: {tokens} × {tokens}.",
        random,
    )


def shape(_: Row, random: Random) -> Task | None:
    """How many weights has cross-attention?"""
    reader, source = random.sample(range(3, 30), 2)
    return _task(
        f"A reader of {reader} tokens reads a source of {source}. How large is the matrix of weights, rows × "
        "columns?",
        [f"{reader} × {source}", f"{source} × {reader}", f"{reader} × {reader}", f"{source} × {source}"],
        f"{reader} × {source}",
        "A row for each token that reads, a column for each that is read.",
        random,
    )


def narrow(_: Row, random: Random) -> Task | None:
    """How wide is one of several heads?"""
    heads, d = random.choice([2, 3, 4, 6, 8, 12, 16]), random.choice([192, 384, 768, 1536])
    return _task(
        f"{heads} heads share vectors of {d} numbers. How many numbers has each head's query?",
        [str(d // heads), str(d), str(heads), str(d * heads)],
        str(d // heads),
        f"They share them out equally: {d} / {heads} = {d // heads}.",
        random,
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
        right,
        f"It is sin({place} / {_BASE:,}^0) = sin({place}) = {right}, in radians.",
        random,
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
        pairs[0],
        f"It is the distance that counts, {plural(gap, 'place')} here as there.",
        random,
    )


KINDS: dict[str, tuple[Kind, ...]] = {
    "weighted_average": (most, share, rest, ratio),
    "scale": (scaled, ratio, scaled, rest),
    "query_key_value": (most, scaled, ratio, share),
    "many_heads": (most, narrow, share, cells),
    "masks": (closed, renormalised, rest),
    "positions": (wave, distance),
    "cross_attention": (most, shape, share, ratio),
}
"""What each lesson that has an assignment asks, by its name."""


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
    random = Random(f"{lesson} {seed} {_plain(text)}")  # noqa: S311 - a game, no secret
    found: list[Task] = []
    for kind in islice(cycle(KINDS[lesson]), _TRIES):
        task = kind(random.choice(rows), random)
        if task and task.question not in {each.question for each in found}:
            found.append(task)
        if len(found) == COUNT:
            return tuple(found)
    raise InvalidQuestion("This sentence is too short for five questions. Write a longer one.")


def code(lesson: str, seed: int, score: int, text: str) -> str:
    """What a student hands in: lesson, seed, score, and a check sum of these and of the sentence."""
    told = f"{lesson}-{seed}-{score}"
    digest = sha256(f"{told} {_plain(text)}".encode()).digest()
    return f"{told}-{b32encode(digest).decode()[:_CHECK]}"


def read(handed_in: str, text: str) -> tuple[str, int, int]:
    """Lesson, seed and score of a code.

    Raises:
        InvalidCode: it is no code, or not one for this sentence.
    """
    parts = handed_in.strip().rsplit("-", 3)
    if len(parts) != 4 or parts[0] not in KINDS or not parts[1].isdecimal() or not parts[2].isdecimal():
        raise InvalidCode("This is no result code. One looks like masks-1-4-ABCDEF: copy the whole of it.")
    lesson, seed, score = parts[0], int(parts[1]), int(parts[2])
    if code(lesson, seed, score, text) != "-".join([*parts[:3], parts[3].upper()]):
        raise InvalidCode(
            "This code does not fit this sentence. Compare both with what the student sent, sign by sign."
        )
    return lesson, seed, score


def _task(question: str, options: Sequence[str], right: str, because: str, random: Random) -> Task | None:
    """The question, with its options in any order; None where two of them are the same."""
    if len(options) < 2 or len(set(options)) < len(options):
        return None
    return Task(question, tuple(random.sample(options, len(options))), right, because)


def _noticed(row: Row) -> list[int]:
    return [int(key) for key in np.flatnonzero(row.weights >= _NOTICED)]


def _printed(weight: float) -> float:
    """A share as precisely as it is printed, so that the printed numbers give the printed answer."""
    return round(float(weight), 3)


def _shown(weight: float) -> str:
    return percent(_printed(weight), 1)


def _plain(text: str) -> str:
    return " ".join(text.split())
