"""`python -m attnviz heads`: a table, files, errors in a sentence."""

import csv
import errno
import io
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from attnviz.analysis.rules import OF_WORDS
from attnviz.analysis.tally import COLUMNS, NAMES
from attnviz.experiments import behaviour, findings_file, on_ray
from attnviz.experiments.behaviour import BehaviourFindings, measure_corpus
from attnviz.experiments.corpus import Corpus
from attnviz.text import percent
from tests.cli.conftest import Run, Say, Unread

LINES = ["The dog, it was tired.", "", "A cat sat on a mat.", "word " * 600, "It rains.", "Oh, oh!", "Hello."]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(behaviour, "PART", 2)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("corpus.txt").write_text("\n".join(LINES), "utf-8")


@pytest.fixture
def heads(run: Run) -> Run:
    """Run the command."""
    return partial(run, "heads")


def expected() -> BehaviourFindings:
    *_, last = measure_corpus(Corpus.from_file(Path("corpus.txt")), "minilm")
    return last.found


def files() -> set[str]:
    return {file.name for file in Path().iterdir()}


def test_the_foremost_heads_are_told_with_spread_and_baseline(heads: Run) -> None:
    said = heads("corpus.txt", "--top", 2)
    found = expected()
    lines = said.out.splitlines()
    assert lines[0] == (
        f"minilm: 6 layers × 12 heads, over 5 sentences of corpus.txt ({int(found.tally.tokens)} tokens)"
    )
    assert lines[1] == "Empty lines: 1."
    assert lines[3].startswith("  line 4: This text has 602 tokens")
    assert lines[-1] == "Nothing was kept: --out FILE.csv or FILE.npz keeps the figures of all heads."
    for name in NAMES:
        figures = found.tally.of(name)
        begin = next(n for n, line in enumerate(lines) if line.startswith(f"{name.upper()}: "))
        layer, head = np.unravel_index(figures.mean.argmax(), figures.mean.shape)
        numbers = (figures.mean[layer, head], figures.deviation[layer, head], figures.baseline[layer])
        share = figures.rule.unit != "tokens"
        told = [percent(float(number), 1) if share else f"{number:.2f}" for number in numbers]
        first = re.sub(" +", " ", lines[begin + 2].strip())
        of_all = ""
        if figures.rule.of == OF_WORDS:
            raw, even = figures.raw[layer, head], figures.raw_baseline[layer]
            of_all = f"; {percent(float(raw), 1)} of its attention, even {percent(float(even), 1)}"
        assert first == f"head {layer + 1}-{head + 1} {told[0]} ± {told[1]} even attention {told[2]}{of_all}"
        assert [line.startswith("  head ") for line in lines[begin + 2 : begin + 5]] == [True, True, False]
    assert "7 of 7 lines" in said.err
    assert files() == {"corpus.txt"}


def test_every_figure_of_every_head_lies_in_the_table(heads: Run) -> None:
    assert "Written: heads.csv" in heads("corpus.txt", "--out", "heads.csv").out
    rows = list(csv.DictReader(io.StringIO(Path("heads.csv").read_text("utf-8"))))
    assert len(rows) == len(NAMES) * 6 * 12
    found = expected().tally
    for row in rows:
        figures, layer, head = found.of(row["rule"]), int(row["layer"]) - 1, int(row["head"]) - 1
        assert int(row["sentences"]) == figures.count[layer]
        told = [float(row[column]) for column in ("mean", "deviation", "even attention")]
        numbers = (figures.mean[layer, head], figures.deviation[layer, head], figures.baseline[layer])
        assert told == pytest.approx([float(number) for number in numbers], abs=1e-12)
        raw = figures.raw[layer, head] if figures.rule.of else np.nan
        of_all = float(row["share of its attention"] or "nan")
        assert of_all == pytest.approx(raw, abs=1e-12, nan_ok=True)
        assert row["unit"] == figures.rule.kind
    assert heads("corpus.txt", "--out", "heads.csv").status == 0  # a table may be written over
    Path("heads.csv").write_text(",".join(COLUMNS[:8]) + "\n1,1,next,share,5,0.1,0.1,0.1\n")
    assert heads("corpus.txt", "--out", "heads.csv").status == 0  # that of an earlier version, too


def assert_all_sums_are_there() -> None:
    job, found = findings_file.read(Path("heads.npz"))
    assert (job.model, job.lines, found.skipped, found.empty) == ("minilm", 7, 1, 1)
    for name, array in expected().tally.arrays().items():
        np.testing.assert_allclose(found.tally.arrays()[name], array, err_msg=name)


@pytest.mark.parametrize("out", ["heads.csv", "heads.npz"])
def test_a_full_disk_does_not_take_what_was_there(
    out: str, heads: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert heads("corpus.txt", "--out", out).status == 0
    before = Path(out).read_bytes()
    replace = Path.replace

    def full(file: Path, target: Path) -> Path:
        if target.name == out:
            raise OSError(errno.ENOSPC, "No space left on device")
        return replace(file, target)

    with monkeypatch.context() as disk:
        disk.setattr(Path, "replace", full)
        said = heads("corpus.txt", "--out", out)
    assert said.status == 2
    assert f"{out}: No space left on device." in said.err
    assert Path(out).read_bytes() == before
    assert files() == {"corpus.txt", out}


@pytest.mark.parametrize("out", ["heads.csv", "heads.npz"])
def test_whoever_stops_reading_has_the_file(out: str, heads: Run, unread: Unread) -> None:
    with unread():
        assert heads("corpus.txt", "--top", 1, "--out", out).status == 0
    assert files() == {"corpus.txt", out}


def test_a_text_that_cannot_be_read_at_all_is_refused(heads: Run) -> None:
    Path("corpus.txt").write_text(f"{'word ' * 600}\n\n" * 4, "utf-8")
    said = heads("corpus.txt", "--out", "heads.csv")
    assert (said.status, said.out) == (2, "")
    assert "“minilm” can read no sentence of “corpus.txt”. Line 1: This text has 602 tokens" in said.err
    assert "Line 5: " in said.err
    assert "Line 7: " not in said.err
    assert files() == {"corpus.txt"}


def test_one_sentence_may_come_through_the_pipe(heads: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"A dog sat.\n")))
    said = heads("-")
    assert "over 1 sentence of standard input (6 tokens)" in said.out
    assert "% ± – " in said.out
    assert "± 0.0" not in said.out
    assert "1 of 1 line" in said.err


@pytest.mark.parametrize("out", ["corpus.txt", "./corpus.txt", "link.csv", "link.npz"])
def test_the_text_itself_is_never_written_over(out: str, refuse: Say) -> None:
    for name in ("link.csv", "link.npz"):
        Path(name).symlink_to("corpus.txt")
    for force in ([], ["--force"]):
        said = refuse("heads", "corpus.txt", "--out", out, *force)
        assert "is what is read here, and it would be lost" in said
        assert "--force" not in said
    assert Path("corpus.txt").read_text("utf-8") == "\n".join(LINES)


def test_ray_gets_its_workers_and_its_address(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, str]] = []

    def here(workers: int, address: str) -> behaviour.Engine:
        asked.append((workers, address))
        return behaviour.locally

    monkeypatch.setattr(on_ray, "on_ray", here)
    say("heads", "corpus.txt", "--engine", "ray", "--workers", 3)
    say("heads", "corpus.txt", "--engine", "ray", "--workers", 2, "--address", "there:6379")
    assert asked == [(3, "local"), (2, "there:6379")]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["none.txt"], "none.txt: No such file or directory."),
        (["latin.txt"], "is not in UTF-8"),
        (["empty.txt"], "There is no sentence in “empty.txt”"),
        (["corpus.txt", "--model", "minilmm"], "minilm"),
        (["corpus.txt", "--top", "0"], "1 or more"),
        (["corpus.txt", "--workers", "2"], "belong to Ray"),
        (["corpus.txt", "--address", "here:1"], "belong to Ray"),
        (["corpus.txt", "--engine", "ray", "--workers", "0"], "1 or more"),
        (["corpus.txt", "--out", "letter.csv"], "is no table of attnviz heads"),
        (
            ["corpus.txt", "--out", "letter.npz"],
            "letter.npz is there already. “letter.npz” does not hold what",
        ),
        (["corpus.txt", "--out", "heads.xlsx"], "ends in .csv or .npz. Choose heads.csv or heads.npz"),
        (["corpus.txt", "--out", "nowhere/heads.csv"], "There is no folder nowhere"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(arguments: list[str], why: str, refuse: Say) -> None:
    Path("latin.txt").write_bytes("Où ?\nLà.".encode("latin-1"))
    Path("empty.txt").write_text("\n \n")
    for name in ("letter.csv", "letter.npz"):
        Path(name).write_text("Dear Ada")
    assert why in refuse("heads", *arguments)
    assert Path("letter.csv").read_text() == Path("letter.npz").read_text() == "Dear Ada"


def test_a_file_of_another_version_is_not_written_over(
    run: Run, refuse: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("heads", "corpus.txt", "--out", "heads.npz").status == 0
    monkeypatch.setattr(findings_file, "NAMES", ("other",))
    told = refuse("heads", "corpus.txt", "--out", "heads.npz")
    assert "heads.npz is there already. “heads.npz” was written by another version of attnviz" in told
    assert "choose another file. To write over it, say --force." in told
