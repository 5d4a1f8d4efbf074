"""Writes the sentences to files: those to learn from, those to test with, and the minimal pairs."""

from collections.abc import Iterable
from pathlib import Path

from attnviz.trained.translator import splits
from attnviz.trained.translator.grammar import Pair, written

TEST_SIZE = 1000
"""Sentences in each file to test with, and pairs of sentences among the minimal pairs."""


def write(folder: Path, size: int, seed: int) -> list[Path]:
    """Writes train.tsv, pair.tsv, description.tsv, triple.tsv and minimal_pairs.tsv into a folder.

    Every line has the English sentence, a tabulator and the French one; the two sentences of a minimal pair
    stand one below the other.

    Args:
        folder: is made if it does not exist.
        size: how many sentences to learn from.
        seed: the same one gives the same files.

    Returns:
        The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    contents = {
        "train": splits.training(size, seed),
        **{split: splits.held_out(split, TEST_SIZE, seed) for split in splits.SPLITS},
        "minimal_pairs": [pair for pairs in splits.minimal_pairs(TEST_SIZE, seed) for pair in pairs],
    }
    return [_write(folder / f"{name}.tsv", pairs) for name, pairs in contents.items()]


def _write(file: Path, pairs: Iterable[Pair]) -> Path:
    lines = (f"{written(pair.source)}\t{written(pair.target)}\n" for pair in pairs)
    file.write_text("".join(lines), "utf-8")
    return file
