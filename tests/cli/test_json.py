"""`--json` prints the rows of the CSV table, with JSON numbers; layers and heads are counted from 1."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attnviz.experiments import pairs
from tests.cli.conftest import Output, Run

Table = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def table(output_of: Output) -> Table:
    """A function that runs a command with `--json` and returns the rows."""

    def table(*arguments: object) -> list[dict[str, Any]]:
        printed: list[dict[str, Any]] = json.loads(output_of(*arguments, "--json"))
        return printed

    return table


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """A folder with `pairs.txt` and `corpus.txt`; one sentence of the corpus is too long for the model."""
    long = "word " * 600
    (tmp_path / "pairs.txt").write_text(f"{pairs.EXAMPLE}\n", "utf-8")
    (tmp_path / "corpus.txt").write_text(f"A cat sat on a mat.\n{long}\nIt rains.\n", "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [("heads", "pairs.txt", "--test", "pronouns"), ("heads", "corpus.txt")],
    ids=["pronouns", "rules"],
)
def test_printed_rows_equal_the_file(command: tuple[str, ...], table: Table, inputs: Path) -> None:
    arguments = [inputs / word if word.endswith(".txt") else word for word in command]
    printed = table(*arguments, "--out", inputs / "table.csv")
    with (inputs / "table.csv").open(encoding="utf-8") as opened:
        stored = list(csv.DictReader(opened))
    assert [
        {name: "" if cell is None else str(cell) for name, cell in row.items()} for row in printed
    ] == stored
    assert {(row["layer"], row["head"]) for row in printed} == {
        (n, h) for n in range(1, 7) for h in range(1, 13)
    }
    for name in ("", *(cell for row in printed for cell in row.values() if isinstance(cell, str))):
        with pytest.raises(ValueError, match="could not convert"):
            float(name)  # no number is printed as a string


def test_skipped_sentences_are_reported_on_standard_error(run: Run, inputs: Path) -> None:
    arguments, message = ("heads", inputs / "corpus.txt"), "Skipped: 1 sentence.\n  word word "
    assert message in run(*arguments).out
    result = run(*arguments, "--json")
    assert json.loads(result.out)
    assert message in result.err
