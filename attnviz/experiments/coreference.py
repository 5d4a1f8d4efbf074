"""Which head resolves the pronoun: whether it looks at the word that the pronoun stands for, pair by pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from attnviz.analysis.intervals import chance_of_as_many, expected_best, wilson
from attnviz.analysis.words import positions, weight_between
from attnviz.experiments.pairs import Pair, SentenceOfPair
from attnviz.experiments.progress import Progress
from attnviz.experiments.sentences import CANNOT_READ, SkippedSentence, UnusableSentence
from attnviz.trace import Counts, Doubles, Floats, Kind, Mask, Trace

Looks = Literal["pronoun", "nouns"]
LOOKS: tuple[Looks, ...] = ("pronoun", "nouns")
"""Who looks: the pronoun at the two nouns, or the two nouns at the pronoun."""

COLUMNS = (
    *("layer", "head", "pairs", "both_right", "both_right_share", "both_right_low", "both_right_high"),
    *("sentences_right", "sentences_right_share", "sentences_right_low", "sentences_right_high"),
    *("both_wrong", "leans", "weight"),
)
"""The columns of the CSV table of all heads; shares are 0 to 1, layer and head count from 1."""

_ROUNDING = 1e-3


_NO_TOKENS = (
    "The model’s tokenizer keeps nothing of the pronoun, of one of the two words, or of the words that "
    "decide."
)
_ONLY_BACK = (
    "This model looks only back, and the words that decide stand behind the pronoun: when it reads the "
    "pronoun, it cannot know them."
)


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What every head did with the pairs that were read so far.

    Attributes:
        pairs: those that the model could read, [pair].
        weights: [looks, pair, reading, candidate, layer, head]: between the pronoun and each of the two
            words, the model's own, special tokens counted, nothing rescaled.
        unread: the sentences of the other pairs, each with the reason.
    """

    pairs: tuple[Pair, ...]
    weights: Floats
    unread: tuple[SkippedSentence, ...]

    def right(self, looks: Looks = "pronoun") -> Mask:
        """[pair, reading, layer, head]: whether the word that is meant has more weight; no tie is right."""
        right, wrong = self._right_and_wrong(looks)
        found: Mask = right > wrong
        return found

    def _right_and_wrong(self, looks: Looks) -> tuple[Doubles, Doubles]:
        """The weights of the word that is meant and of the other one, both [pair, reading, layer, head]."""
        weights = self.weights[LOOKS.index(looks)].astype(np.float64)
        meant = np.array([[reading.right for reading in pair.readings] for pair in self.pairs], dtype=int)
        meant = meant.reshape(-1, 2)
        each, which = np.ogrid[: len(self.pairs), :2]
        return weights[each, which, meant], weights[each, which, 1 - meant]

    def scores(self, looks: Looks = "pronoun") -> Scores:
        """How often each head is right."""
        right = self.right(looks)
        return Scores(
            total=len(self.pairs),
            sentences=right.sum(axis=(0, 1)),
            pairs=right.all(axis=1).sum(axis=0),
            wrong=(~right).all(axis=1).sum(axis=0),
            leans=self.leans(looks).sum(axis=0),
            given=self.given(looks),
        )

    def given(self, looks: Looks) -> Doubles:
        """[layer, head]: the pronoun's weight on both words together, or their mean weight on it; the mean.

        A head may well prefer the right word of two that it hardly looks at.
        """
        weights = self.weights[LOOKS.index(looks)].sum(axis=(0, 1, 2), dtype=np.float64)
        rows = 2 * len(self.pairs) * (1 if looks == "pronoun" else 2)
        return np.asarray(weights / max(rows, 1))

    def leans(self, looks: Looks = "pronoun") -> Mask:
        """[pair, layer, head]: whether each word has a larger share of both words' weight where it is meant.

        Of the shares r/(r + w) of the right word in one sentence and w'/(r' + w') of the same word in the
        other, where it is wrong, the first is larger exactly if r·r' > w·w'. Less than a thousandth more is
        no more: in the first layer, where words know nothing of each other, it would be rounding.
        """
        right, wrong = self._right_and_wrong(looks)
        leans: Mask = right.prod(axis=1) > wrong.prod(axis=1) * (1 + _ROUNDING)
        return leans


@dataclass(frozen=True, eq=False)
class Scores:
    """How often each head is right.

    Attributes:
        total: how many pairs, each of two sentences.
        sentences: [layer, head], in how many of the sentences.
        pairs: [layer, head], in how many pairs in both sentences: there the head changes sides.
        wrong: [layer, head], in how many pairs in neither: there it changes sides the wrong way.
        leans: [layer, head], in how many pairs each word has a larger share where it is meant, though not
            always the largest.
        given: [layer, head], how much of its weight a head gives to what is compared, 0 to 1, on average.
    """

    total: int
    sentences: Counts
    pairs: Counts
    wrong: Counts
    leans: Counts
    given: Doubles

    @property
    def ranking(self) -> list[tuple[int, int]]:
        """All heads, as layer and head from 0: by pairs, then by sentences, then in their order."""
        layers, heads = np.indices(self.pairs.shape)
        order = np.lexsort([heads.ravel(), layers.ravel(), -self.sentences.ravel(), -self.pairs.ravel()])
        return [(int(layers.flat[place]), int(heads.flat[place])) for place in order]

    @property
    def turns(self) -> Counts:
        """[layer, head]: in how many pairs a head changes sides, the right way or the wrong way."""
        return self.pairs + self.wrong

    @property
    def best_by_chance(self) -> float:
        """In how many pairs the best head would be right if all changed sides as often as they do, blindly.

        What a head turns to is then a coin's choice, so that it is right in half of its turns on average; of
        many heads, the luckiest is right more often.
        """
        return expected_best(self.turns.ravel().tolist(), 1 / 2)

    def by_chance(self, layer: int, head: int) -> float:
        """At most how probable it is that a head of this model turns the right way so often by chance.

        A sign test (as McNemar's of 1947, exact) of the turns of this head, with Bonferroni's correction for
        all heads of the model: whoever looks for the best of many finds a lucky one.
        """
        return chance_of_as_many(
            int(self.pairs[layer, head]), int(self.turns[layer, head]), 1 / 2, self.pairs.size
        )


def table_rows(scores: Scores) -> list[tuple[int | float, ...]]:
    """The rows of the CSV table under `COLUMNS`, the best head first; low and high are Wilson's interval."""

    def counted(right: int, total: int) -> tuple[int | float, ...]:
        return (right, *(round(each, 6) for each in (right / total, *wilson(right, total))))

    return [
        (
            *(layer + 1, head + 1, scores.total),
            *counted(int(scores.pairs[layer, head]), scores.total),
            *counted(int(scores.sentences[layer, head]), 2 * scores.total),
            int(scores.wrong[layer, head]),
            int(scores.leans[layer, head]),
            round(float(scores.given[layer, head]), 6),
        )
        for layer, head in scores.ranking
    ]


@dataclass(frozen=True, slots=True)
class Baseline:
    """Somebody who looks at no weights.

    Attributes:
        name: what it does.
        sentences, pairs: in what share of the sentences it is right, and of the pairs in both, 0 to 1.
    """

    name: str
    sentences: float
    pairs: float


def baselines(pairs: Sequence[Pair]) -> tuple[Baseline, ...]:
    """The nearest noun, the first noun, and a coin for each sentence; the coin's shares are expected ones."""

    def always(name: str, takes: Callable[[SentenceOfPair], int]) -> Baseline:
        right = np.array([[takes(each) == each.right for each in pair.readings] for pair in pairs])
        return Baseline(name, float(right.mean()), float(right.all(axis=1).mean()))

    coin = Baseline("a coin", 1 / 2, 1 / 4)
    return (
        always("nearest noun", lambda reading: reading.nearest),
        always("first noun", lambda _reading: 0),
        coin,
    )


def resolve(pairs: Sequence[Pair], trace: Callable[[str], Trace], kind: Kind) -> Iterator[Progress[Verdicts]]:
    """Read the pairs, one after the other; after each, what every head did so far.

    Args:
        pairs: what is read; a pair of which a sentence cannot be read, or cannot be known, is left out.
        kind: the attention that is looked at, as `sentences.self_attention` tells.
    """
    read: list[Pair] = []
    unread: list[SkippedSentence] = []
    found: Floats | None = None  # room for all pairs; what was yielded sees the part that is filled
    for done, pair in enumerate(pairs, 1):
        try:
            seen = np.stack([look(reading, trace(reading.text), kind) for reading in pair.readings], axis=1)
        except CANNOT_READ as error:
            unread += [SkippedSentence(reading.text, str(error)) for reading in pair.readings]
        else:
            if found is None:
                found = np.zeros((len(LOOKS), len(pairs), *seen.shape[1:]), dtype=np.float32)
            found[:, len(read)] = seen
            read.append(pair)
        so_far = np.zeros((len(LOOKS), 0, 2, 2, 0, 0), np.float32) if found is None else found[:, : len(read)]
        so_far = so_far.view()
        so_far.setflags(write=False)
        yield Progress(done, len(pairs), Verdicts(tuple(read), so_far, tuple(unread)))


def look(reading: SentenceOfPair, trace: Trace, kind: Kind) -> Floats:
    """The weights between the pronoun and the two words in one sentence.

    Returns:
        float32 [looks, candidate, layer, head].

    Raises:
        UnusableSentence: the pronoun, one of the words or what decides has no token, or no layer lets the
            pronoun look at what decides.
    """
    blocks = trace.of_kind(kind)
    tokens = blocks[0].query_tokens
    pronoun = positions(tokens, reading.pronoun)
    words = [positions(tokens, span) for span in reading.candidates]
    deciding = positions(tokens, reading.deciding)
    if not (pronoun and all(words) and deciding):
        raise UnusableSentence(_NO_TOKENS)
    if not any(block.mask[np.ix_(pronoun, deciding)].any() for block in blocks):
        raise UnusableSentence(_ONLY_BACK)
    weights = trace.stack(kind)
    return np.stack(
        [
            np.stack([weight_between(weights, pronoun, word) for word in words]),
            np.stack([weight_between(weights, word, pronoun) for word in words]),
        ]
    )
