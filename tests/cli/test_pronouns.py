"""The commands `pronouns` and `relations`: the same digits as the pairs and sentences counted apart."""

import csv
from pathlib import Path

import numpy as np
import pytest
from attnviz.experiments.coreference import Verdicts, resolve

from attnviz.analysis.intervals import wilson
from attnviz.capture import loading
from attnviz.experiments import pairs, syntax
from tests.cli.conftest import Run, Say, Unread

LINES = [line for line in pairs.FILE.read_text("utf-8").splitlines() if line.strip() and line[0] != "#"]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven pairs, the first and some others."""
    written = tmp_path_factory.mktemp("pairs") / "few.txt"
    written.write_text("\n".join(LINES[:1] + LINES[9::26]), "utf-8")
    return written


@pytest.fixture(scope="module")
def found(file: Path) -> Verdicts:
    """Counted without the command."""
    *_, end = resolve(pairs.read(file), loading.load("minilm").trace, "encoder")
    return end.found


def test_the_table_has_all_heads_with_intervals_and_baselines(
    say: Say, file: Path, found: Verdicts, tmp_path: Path
) -> None:
    said = say("pronouns", "--pairs", file, "--out", tmp_path / "heads.csv")
    expected = found.scores()
    total = expected.total
    lines = said.splitlines()
    assert lines[0] == f"minilm: {total} pairs, {2 * total} sentences; the pronoun looks at the two nouns."
    table = [line.split() for line in lines[3 : 3 + 72]]
    assert {row[0] for row in table} == {f"{layer}-{head}" for layer in range(1, 7) for head in range(1, 13)}
    assert [int(row[1]) for row in table] == sorted(expected.pairs.ravel().tolist(), reverse=True)
    [known] = [row for row in table if row[0] == "4-2"]
    right = int(expected.pairs[3, 1])
    low, high = wilson(right, total)
    assert known[1:5] == [str(right), f"{100 * right / total:.1f}", "%", f"{100 * low:.1f}–{100 * high:.1f}"]
    assert "Baseline, nearest noun: both right 0.0 %, sentences 50.0 %." in lines
    assert "Baseline, first noun: both right 0.0 %, sentences 50.0 %." in lines
    assert "Baseline, a coin: both right 25.0 %, sentences 50.0 %." in lines
    assert "The best of 72 independent coins would be right" in said
    with (tmp_path / "heads.csv").open(encoding="utf-8") as opened:
        rows = {(int(row["layer"]), int(row["head"])): row for row in csv.DictReader(opened)}
    for (layer, head), row in rows.items():
        place = layer - 1, head - 1
        assert int(row["both_right"]) == expected.pairs[place]
        assert int(row["sentences_right"]) == expected.sentences[place]
        assert int(row["both_wrong"]) == expected.wrong[place]
        assert int(row["leans"]) == expected.leans[place]
        assert float(row["weight"]) == pytest.approx(expected.given[place], abs=1e-6)
    assert len(rows) == 72


def test_the_nouns_may_look_instead(say: Say, file: Path, found: Verdicts) -> None:
    best = found.scores("nouns").pairs.max()
    said = say("pronouns", "--pairs", file, "--looks", "nouns")
    assert said.splitlines()[3].split()[1] == str(best)
    assert "the two nouns look at the pronoun" in said


def test_what_the_model_cannot_read_is_counted_and_named(say: Say, file: Path) -> None:
    lines = say("pronouns", "--model", "translator", "--pairs", file).splitlines()
    assert lines[0].startswith("translator: 1 pair, 2 sentences")
    assert lines[1] == f"Left out: {2 * (len(pairs.read(file)) - 1)} more sentences."
    assert "This model has never seen" in lines[2]
    assert lines[5].strip() == f"… and {2 * (len(pairs.read(file)) - 1) - 3} more."


@pytest.mark.parametrize("command", ["pronouns", "relations"])
def test_whoever_stops_reading_loses_no_table(
    command: str, run: Run, unread: Unread, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = syntax.bundled()[:3]
    monkeypatch.setattr(syntax, "bundled", lambda: few)
    out = tmp_path / "heads.csv"
    with unread():
        assert (
            run(command, *(["--pairs", file] if command == "pronouns" else ["--all"]), "--out", out).status
            == 0
        )
    assert len(out.read_text("utf-8").splitlines()) > 72
    assert not list(tmp_path.glob(".*"))


def test_wrong_files_and_models_are_told(refuse: Say, tmp_path: Path) -> None:
    wrong, unknown, other = (tmp_path / name for name in ("wrong.txt", "unknown.txt", "other.csv"))
    wrong.write_text("The dog slept.\n", "utf-8")
    unknown.write_text("The [sphinx] saw the [hydra] as *it* {sat > sphinx | ran > hydra}.", "utf-8")
    other.write_text("name,place\n", "utf-8")
    for arguments, why in (
        (("pronouns", "--pairs", wrong), "Line 1: it needs two words in [ ]"),
        (("pronouns", "--pairs", unknown, "--model", "translator"), "The model can read none of the pairs. "),
        (("pronouns", "--pairs", tmp_path / "nowhere.txt"), "No such file"),
        (("pronouns", "--pairs", wrong, "--out", wrong), "is what is read here, and it would be lost"),
        (("pronouns", "--pairs", wrong, "--out", wrong, "--force"), "is what is read here"),
        (("pronouns", "--out", other), "is there already and is no table of"),
        (("relations", "--out", other), "is there already and is no table of"),
    ):
        assert why in refuse(*arguments)
    assert wrong.read_text("utf-8") == "The dog slept.\n"


def test_the_relations_are_told_with_the_best_offset(
    say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences = syntax.bundled()[::8]
    monkeypatch.setattr(syntax, "bundled", lambda: sentences)
    out = tmp_path / "grammar.csv"
    said = say("relations", "--out", out)
    *_, end = syntax.measure(syntax.bundled(), loading.load("minilm").trace, "encoder")
    found = end.found
    lines = said.splitlines()
    assert lines[0] == f"minilm: {found.sentences} sentences; the dependent word looks."
    for sort, (name, line) in enumerate(zip(syntax.CALLED.values(), lines[3:9], strict=True)):
        total, hits = int(found.totals[sort]), found.hits[0, sort]
        layer, head = np.unravel_index(hits.argmax(), hits.shape)
        low, high = wilson(int(hits.max()), total)
        offset, by_offset = found.best_offset(sort)
        assert line.startswith(name)
        assert line.removeprefix(name).split() == [
            str(total),
            f"{layer + 1}-{head + 1}",
            f"{100 * hits.max() / total:.1f}",
            "%",
            f"{100 * low:.1f}–{100 * high:.1f}",
            "%",
            f"{offset:+d}",
            f"{100 * by_offset / total:.1f}",
            "%",
        ]
    assert len(out.read_text("utf-8").splitlines()) == 1 + len(syntax.SORTS) * 72
