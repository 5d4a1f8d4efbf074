"""The tokens of a text at which a head does most: examples of what it does, not a proof of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from attnviz.capture import loading
from attnviz.experiments.ablation import turned
from attnviz.experiments.neighbours import TextVectors
from attnviz.experiments.progress import Progress
from attnviz.experiments.sentences import input_of
from attnviz.interventions.edit import Edit
from attnviz.models import resolve
from attnviz.trace import Floats

MOST_SILENCED = 2_000
"""In how many lines of a text a head is silenced at most: each is read again."""

_AT_ONCE = 16  # lines, between two steps


class Strongest(NamedTuple):
    """Tokens, the strongest first.

    Attributes:
        tokens: their places in the text, at most one of a line, and no special ones.
        values: how strong each is.
        median: how strong the token in the middle is, of all.
    """

    tokens: tuple[int, ...]
    values: tuple[float, ...]
    median: float


def strongest(text: TextVectors, values: Floats, most: int = 24) -> Strongest:
    """The tokens with the largest values.

    Args:
        text: the text.
        values: [token], of the text's first tokens, such as the functions below return.
        most: how many at most.
    """
    words = np.flatnonzero(~text.special[: len(values)])
    lines = np.searchsorted(text.starts, words, side="right")
    order = np.argsort(-values[words], kind="stable")
    _, first = np.unique(lines[order], return_index=True)
    tokens = words[order[np.sort(first)[:most]]]
    median = float(np.median(values[words])) if len(words) else 0.0
    return Strongest(tuple(tokens.tolist()), tuple(values[tokens].tolist()), median)


def sharpness(text: TextVectors, head: int) -> Floats:
    """[token], the largest weight that each gives to one token, special ones left out."""
    weights: Floats = text.weight[head].astype(np.float32)
    return weights


def contribution(text: TextVectors, head: int, projection: Floats) -> Floats:
    """[token], the length of the vector that the head adds to each (Kobayashi et al. 2020).

    `projection` is the head's slice of W_O, [d_head, d_model].
    """
    lengths: Floats = np.linalg.norm(text.output[head].astype(np.float32) @ projection, axis=-1)
    return lengths


def change(text: TextVectors, silenced: Edit) -> Iterator[Progress[Floats]]:
    """How far the model's output turns at each token if a head is silent: 1 − cosine, [token].

    Yields:
        Every few lines, the numbers of all lines up to there; `done` and `total` count lines.

    Raises:
        AttnvizError: the head cannot be silenced.
    """
    entry, loaded = resolve.entry(text.model), loading.load(text.model)
    lines = text.sentences[:MOST_SILENCED]
    found: list[Floats] = []
    for start in range(0, len(lines), _AT_ONCE):
        for line in lines[start : start + _AT_ONCE]:
            outcomes = loaded.outcomes(input_of(entry, line), [(), (silenced,)])
            states = outcomes.states if outcomes.source is None else outcomes.source
            found.append(turned(states[0], states[1:])[0].astype(np.float32))
        yield Progress(len(found), len(lines), np.concatenate(found))
