"""The README keeps its word."""

import doctest
from pathlib import Path

import pytest

from attnviz.app.learn.cause.compute import held_out
from attnviz.app.learn.cause.tried import UNTOLD
from attnviz.capture.model import MOST_WRITTEN
from attnviz.export.report.contents import MOST_WEIGHTS
from attnviz.models import catalogue, config
from attnviz.readable import MOST_CHARACTERS

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def test_the_python_example_gives_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # it writes a file
    results = doctest.testfile(str(README), module_relative=False, encoding="utf-8")
    assert results.attempted > 0
    assert results.failed == 0


def test_so_many_untold_translators_found_an_arrow_by_themselves() -> None:
    runs = [run for run in held_out() if run.variant == UNTOLD]
    found = [run for run in runs if run.found > 0.5]  # in both readings
    assert len(found) == 1
    assert found[0].silenced > 0.5  # it can do without
    assert len(runs) == 3
    assert "in one of three trainings it found such an arrow by itself" in README.read_text("utf-8")


def test_the_limits_are_those_that_are_kept() -> None:
    limits = " ".join(README.read_text("utf-8").partition("## Limits")[2].partition("\n## ")[0].split())
    minilm = catalogue.entry("minilm")
    assert f"which is {minilm.token_limit} tokens for the bundled one" in limits
    assert f"at most {config.MOST_TOKENS:,}" in limits
    assert f"no more than {MOST_CHARACTERS:,} characters" in limits
    assert f"writes at most {MOST_WRITTEN} tokens" in limits
    assert f"{MOST_WEIGHTS:,} weights" in limits
    for heads, whose in ((minilm.layers * minilm.heads, "with the bundled model"), (12 * 12, "with GPT-2")):
        assert f"{int((MOST_WEIGHTS / heads) ** 0.5)} {whose}" in limits.replace("tokens ", "")
