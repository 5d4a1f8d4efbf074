"""`--json`: the rows of the CSV table and nothing else, numbers as numbers, layers and heads from 1."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attnviz.experiments import pairs
from tests.cli.conftest import Run, Say

Table = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def table(say: Say) -> Table:
    """Run a command with `--json`, and return its rows."""

    def table(*arguments: object) -> list[dict[str, Any]]:
        said: list[dict[str, Any]] = json.loads(say(*arguments, "--json"))
        return said

    return table


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """Small inputs for all commands, with a text that is too long; there are `pairs.txt` and `corpus.txt`."""
    long = "word " * 600
    (tmp_path / "pairs.txt").write_text(f"{pairs.EXAMPLE}\n", "utf-8")
    (tmp_path / "corpus.txt").write_text(f"A cat sat on a mat.\n{long}\nIt rains.\n", "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [("heads", "pairs.txt", "--test", "pronouns"), ("heads", "corpus.txt")],
    ids=["pronouns", "rules"],
)
def test_the_rows_are_those_of_the_file(command: tuple[str, ...], table: Table, few: Path) -> None:
    asked = [few / word if word.endswith(".txt") else word for word in command]
    told = table(*asked, "--out", few / "table.csv")
    with (few / "table.csv").open(encoding="utf-8") as opened:
        stored = list(csv.DictReader(opened))
    assert [{name: "" if cell is None else str(cell) for name, cell in row.items()} for row in told] == stored
    assert {(row["layer"], row["head"]) for row in told} == {
        (n, h) for n in range(1, 7) for h in range(1, 13)
    }
    for name in ("", *(cell for row in told for cell in row.values() if isinstance(cell, str))):
        with pytest.raises(ValueError, match="could not convert"):
            float(name)  # what is a number is told as one


def test_what_was_not_read_is_told_beside_it(run: Run, few: Path) -> None:
    asked, said = ("heads", few / "corpus.txt"), "Skipped: 1 sentence.\n  word word "
    assert said in run(*asked).out
    answer = run(*asked, "--json")
    assert json.loads(answer.out)
    assert said in answer.err
