"""The corpus is written to files that anybody can read, and the same seed writes the same files."""

from pathlib import Path

import pytest

from attnviz.trained.translator import corpus
from attnviz.trained.translator.splits import SPLITS


@pytest.fixture(autouse=True)
def _short_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "TEST_SIZE", 20)


def lines(file: Path) -> list[list[str]]:
    return [line.split("\t") for line in file.read_text("utf-8").splitlines()]


def test_what_is_written(tmp_path: Path) -> None:
    files = corpus.write(tmp_path / "corpus", size=50, seed=1)
    assert [file.name for file in files] == [f"{name}.tsv" for name in ("train", *SPLITS, "minimal_pairs")]
    assert [len(lines(file)) for file in files] == [50, 20, 20, 20, 40]
    for file in files:
        for english, french in lines(file):
            assert english.isascii()
            assert english.endswith(".")
            assert french.endswith(".")
            assert english[0].isupper()
            assert french[0].isupper()


def test_the_same_seed_writes_the_same_files(tmp_path: Path) -> None:
    one, same, other = (
        [file.read_bytes() for file in corpus.write(tmp_path / name, size=30, seed=seed)]
        for name, seed in (("one", 1), ("same", 1), ("other", 2))
    )
    assert one == same
    assert one != other
