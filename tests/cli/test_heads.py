"""`python -m attnviz heads`: the scores of all heads in a table and in a file, and the error messages."""

import csv
import io
from functools import partial
from pathlib import Path

import pytest

from attnviz.experiments import head_tests, on_ray, pairs
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.scoring import COLUMNS, Share, measure, rows
from attnviz.text import percent
from tests.cli.conftest import ClosedPipe, Output, Run

LINES = ["The dog, it was tired.", "", "A cat sat on a mat.", "word " * 600, "It rains.", "Oh, oh!", "Hello."]
STRANGE = "The [sphinx] saw the [hydra] as *it* {sat > sphinx | ran > hydra}."


@pytest.fixture(autouse=True)
def _working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("corpus.txt").write_text("\n".join(LINES), "utf-8")
    Path("pairs.txt").write_text(f"{pairs.EXAMPLE}\n{STRANGE}\n", "utf-8")


@pytest.fixture
def heads(run: Run) -> Run:
    """Return a function that runs `python -m attnviz heads`."""
    return partial(run, "heads")


@pytest.mark.parametrize(
    ("file", "group"), [("corpus.txt", "rules"), ("pairs.txt", "pronouns"), (None, "grammar")]
)
def test_every_score_of_every_head_is_in_the_table(file: str | None, group: str, output_of: Output) -> None:
    printed = output_of("heads", *([file] if file else []), "--test", group, "--out", "heads.csv", "--top", 2)
    assert "Saved: heads.csv" in printed
    tests = head_tests.find(group)
    text = Path(file).read_text("utf-8") if file else tests[0].source.bundled()
    *_, last = measure(tests, Corpus.from_text(text), "minilm")
    expected = [row for test in tests for row in rows(test.name, last.found[test.name])]
    found = list(csv.reader(io.StringIO(Path("heads.csv").read_text("utf-8"))))
    assert tuple(found[0]) == COLUMNS
    assert found[1:] == [list(map(str, row)) for row in expected]
    for test in tests:
        scores = last.found[test.name]
        layer, head = scores.ranking[0]
        if scores.examples:
            begin = printed.index(f"{test.name.upper()}: ")
            first = printed[begin:].splitlines()[2].split()
            assert first[0] == f"{layer + 1}-{head + 1}"
            assert " ".join(first[1:]).startswith(percent(float(scores.mean[layer, head]), 1))


def test_the_table_is_written_when_the_output_pipe_is_closed(heads: Run, closed_pipe: ClosedPipe) -> None:
    with closed_pipe():
        assert heads("corpus.txt", "--out", "heads.csv").status == 0
    assert len(Path("heads.csv").read_text("utf-8").splitlines()) > 72


def test_workers_and_address_are_passed_to_ray(output_of: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, str | None]] = []

    def share(workers: int, address: str | None) -> Share:
        calls.append((workers, address))
        return map

    monkeypatch.setattr(on_ray, "share", share)
    output_of("heads", "corpus.txt", "--ray", 3)
    output_of("heads", "corpus.txt", "--ray", 2, "--address", "there:6379")
    assert calls == [(3, None), (2, "there:6379")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.txt"], "No such file"),
        (["latin.txt"], "is not UTF-8 text"),
        (["empty.txt"], "no sentence"),
        (["corpus.txt", "--test", "dance"], "not a test of heads"),
        (["corpus.txt", "--test", "pronouns"], "Line 1: a pair needs"),
        (["corpus.txt", "--address", "there:6379"], "--address requires --ray"),
        (["long.txt"], "cannot read any of the sentences"),
    ],
)
def test_errors_are_reported(arguments: list[str], message: str, error_of: Output) -> None:
    Path("latin.txt").write_bytes("Où ?\nLà.".encode("latin-1"))
    Path("empty.txt").write_text("\n \n")
    Path("long.txt").write_text("word " * 600)
    assert message in error_of("heads", *arguments)
