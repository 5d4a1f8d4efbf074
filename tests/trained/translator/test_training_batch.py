"""Batches of token ids: an epoch contains each sentence once; all sources of a batch have the same length."""

from collections import Counter

import pytest

from attnviz.trained.translator import splits
from attnviz.trained.translator.grammar import Pair
from attnviz.trained.translator.training_batch import PADDING, Corpus, TrainingBatch
from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH
from attnviz.trained.vocabulary import END, START

BATCH = 7


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return splits.training(300, seed=5)


def words(batch: TrainingBatch) -> list[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]]:
    """Return the words of the ids: English source, decoder input, and next words."""
    return [
        (
            tuple(ENGLISH.word(number) for number in source),
            tuple(FRENCH.word(number) for number in target if number != PADDING),
            tuple(FRENCH.word(number) for number in following if number != PADDING),
        )
        for source, target, following in zip(
            batch.source.tolist(), batch.target.tolist(), batch.labels.tolist(), strict=True
        )
    ]


def test_ids_belong_to_the_words(pairs: list[Pair]) -> None:
    equally_long = [pair for pair in pairs if len(pair.source) == len(pairs[0].source)]
    assert len({len(pair.target) for pair in equally_long}) > 1  # some sentences need padding
    assert words(TrainingBatch.of(equally_long)) == [
        ((*pair.source, END), (START, *pair.target), (*pair.target, END)) for pair in equally_long
    ]


def test_epoch_has_every_sentence_once_in_full_batches(pairs: list[Pair]) -> None:
    corpus = Corpus(pairs, BATCH)
    batches = [corpus.batch(*place) for place in corpus.epoch(seed=1)]
    shown = Counter(source for batch in batches for source, _, _ in words(batch))
    assert shown == Counter((*pair.source, END) for pair in pairs)
    # At most one batch of each length is not full, and no batch has unnecessary padding.
    sizes = [(batch.source.shape[1], len(batch.source)) for batch in batches]
    assert all(size <= BATCH for _, size in sizes)
    not_full = [length for length, size in sizes if size < BATCH]
    assert len(not_full) == len(set(not_full))
    assert all((batch.labels[:, -1] != PADDING).any() for batch in batches)
