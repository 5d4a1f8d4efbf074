"""Tests of pronouns: whether a head attends from a pronoun to its referent, in pairs of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from attnviz.analysis.words import positions, weight_between
from attnviz.experiments import pairs
from attnviz.experiments.pairs import Pair, SentenceOfPair
from attnviz.experiments.scoring import HeadTest, Scored, Source
from attnviz.experiments.sentences import UnusableSentence
from attnviz.trace import Floats, Kind, Mask, Trace

Query = Literal["pronoun", "nouns"]

_BASELINE = "chance level: half of the pairs in which the head favours different nouns count as right"

_NO_TOKENS = "The model’s tokenizer has no token for the pronoun, a noun, or the deciding words."
_ONLY_BACK = "This model attends only to earlier tokens, and the deciding words come after the pronoun."


@dataclass(frozen=True, eq=False)
class PairWeights:
    """Attention weights between the pronoun and both candidate words, in both sentences of a pair.

    Attributes:
        pair: The pair.
        weights: float32 [query, sentence, word, layer, head], weights from the pronoun to each word, and from
            each word to the pronoun; special tokens are not excluded.
        allowed: bool [query, layer], whether the mask allows these weights.
    """

    pair: Pair
    weights: Floats
    allowed: Mask


def weights_of(pair: Pair, traces: Sequence[Trace], kind: Kind) -> PairWeights:
    """Return the weights in both sentences of a pair.

    Raises:
        UnusableSentence: a marked word has no token, or the pronoun cannot attend to the deciding words.
    """
    read = [_sentence_weights(*each, kind) for each in zip(pair.readings, traces, strict=True)]
    weights, allowed = zip(*read, strict=True)
    return PairWeights(pair, np.stack(weights, axis=1), np.all(allowed, axis=0))


def _sentence_weights(sentence: SentenceOfPair, trace: Trace, kind: Kind) -> tuple[Floats, Mask]:
    """Return the weights of one sentence, [query, word, layer, head], and whether the mask allows them."""
    blocks = trace.of_kind(kind)
    tokens = blocks[0].query_tokens
    pronoun = positions(tokens, sentence.pronoun)
    words = [positions(tokens, span) for span in sentence.candidates]
    deciding = positions(tokens, sentence.deciding)
    if not (pronoun and all(words) and deciding):
        raise UnusableSentence(_NO_TOKENS)
    if not any(block.mask[np.ix_(pronoun, deciding)].any() for block in blocks):
        raise UnusableSentence(_ONLY_BACK)
    weights = trace.stack(kind)
    queries = [[(pronoun, word) for word in words], [(word, pronoun) for word in words]]
    allowed = [
        [any(block.mask[np.ix_(*each)].any() for each in links) for block in blocks] for links in queries
    ]
    found = [np.stack([weight_between(weights, *each) for each in links]) for links in queries]
    return np.stack(found), np.array(allowed)


def _score(query: Query, read: PairWeights) -> Scored:
    """Score 1 if the referent has more weight than the other noun in both sentences, else 0."""
    at = 0 if query == "pronoun" else 1
    weights = read.weights[at].astype(np.float64)
    referents = [sentence.right for sentence in read.pair.readings]
    right = np.array([each[word] > each[1 - word] for each, word in zip(weights, referents, strict=True)])
    scores = np.where(read.allowed[at][:, None], right.all(axis=0), np.nan)[None]
    # A head that favours a different noun in each sentence is right in both sentences or in neither;
    # by chance, it is right in half of these pairs, as in McNemar's test.
    changes = (right[0] == right[1])[None] / 2
    # Mean over both sentences of the total weight from the pronoun, or of the mean weight to it.
    attention = weights.sum(axis=(0, 1))[None] / (2 if query == "pronoun" else 4)
    return Scored(scores, attention, {_BASELINE: changes})


SOURCE = Source(
    name="pronouns",
    unit="pair",
    example=pairs.EXAMPLE,
    file=pairs.FILE,
    parse=lambda corpus: pairs.parse(corpus.text),
    texts=lambda pair: [sentence.text for sentence in pair.readings],
    read=weights_of,
)


def _test(name: str, query: Query, question: str) -> HeadTest[PairWeights]:
    question = (
        f"Fraction of pairs (“… too tired” and “… too narrow”) in which {question} in both sentences; "
        "a pair in which the head favours the same noun twice counts as 0"
    )
    return HeadTest(name, question, SOURCE, partial(_score, query), "right")


TESTS = (
    _test(
        "pronoun to noun", "pronoun", "the pronoun attends more to the correct noun than to the other noun"
    ),
    _test(
        "noun to pronoun", "nouns", "the correct noun attends more to the pronoun than the other noun does"
    ),
)
"""Tests on pairs that differ in the words that determine the pronoun's referent (Levesque et al. 2012)."""
