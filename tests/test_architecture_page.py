"""docs/architecture.md describes the house as it stands."""

import re
from pathlib import Path

from tests.test_architecture import STEPS

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "architecture.md").read_text("utf-8")
MOST_FILES_OF_A_WALK = 20


def test_the_arrows_are_those_that_are_kept() -> None:
    [chain] = re.findall(r"`(app\.py → [^`]+)`", TEXT)
    rows = [row.split(" | ") for row in " ".join(chain.split()).split(" → ")]
    steps = [{STEPS[part] for part in row} for row in rows]
    assert all(len(row) == 1 for row in steps)
    order = [step for [step] in steps]
    assert order == sorted(set(order), reverse=True)
    assert {part for row in rows for part in row} == STEPS.keys() - {"attnviz", "__main__"}


def test_every_part_is_told() -> None:
    for part in STEPS.keys() - {"attnviz", "__main__", "app.py", "pages"}:
        there = f"{part}/" if (ROOT / "attnviz" / part).is_dir() else f"{part}.py"
        assert re.search(rf"^  {there} ", TEXT, re.MULTILINE), part


def test_every_file_that_is_named_exists() -> None:
    named = re.findall(r"`((?:attnviz|pages|tests|docs)/[\w/.]+)`", TEXT)
    assert len(named) > MOST_FILES_OF_A_WALK
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_walk_of_one_sentence_is_short_and_in_order() -> None:
    walk = re.findall(r"^(\d+)\. `([\w/.]+)`", TEXT, re.MULTILINE)
    assert [int(number) for number, _ in walk] == list(range(1, len(walk) + 1))
    assert len(walk) <= MOST_FILES_OF_A_WALK
