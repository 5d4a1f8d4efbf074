"""`python -m attnviz heads`: a table, files, work that is broken off and goes on, errors in a sentence."""

import csv
import errno
import io
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from attnviz.analysis.tally import COLUMNS, NAMES
from attnviz.experiments.behaviour import BehaviourFindings, measure_corpus

from attnviz.analysis.rules import OF_WORDS
from attnviz.cli import resuming
from attnviz.experiments import behaviour, findings_file, on_ray
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.progress import Progress
from attnviz.models import resolve
from attnviz.text import percent
from tests.cli.conftest import Run, Say, Unread

LINES = ["The dog, it was tired.", "", "A cat sat on a mat.", "word " * 600, "It rains.", "Oh, oh!", "Hello."]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(behaviour, "PART", 2)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
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


def kept() -> list[Path]:
    """The unfinished work for which no file was named."""
    return [*(Path.cwd().parent / "cache" / "attnviz").iterdir()]


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many lines were done already when each command began."""
    lines: list[int] = []

    def noted(
        *asked: Any, begun: BehaviourFindings | None, **more: Any
    ) -> Iterator[Progress[BehaviourFindings]]:
        lines.append(begun.lines if begun else 0)
        return measure_corpus(*asked, begun=begun, **more)

    monkeypatch.setattr(resuming, "measure_corpus", noted)
    return lines


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


@pytest.mark.parametrize("done", [3, 4])  # in the midst of the second part, and at its end
def test_what_is_broken_off_goes_on_by_the_same_command(
    done: int, heads: Run, begun: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as interrupted:
        interrupted.setattr(resuming, "measure_corpus", broken_off(after=done))
        answer = heads("corpus.txt", "--out", "heads.npz")
    assert answer.status == 130
    (file,) = kept()
    assert f"{done} of 7 lines are done and kept in {file}." in answer.err
    assert files() == {"corpus.txt"}
    said = heads("corpus.txt", "--out", "heads.npz").err
    assert f"Going on from {file}: {done} of 7 lines are done." in said
    assert begun == [done]
    assert kept() == []
    assert files() == {"corpus.txt", "heads.npz"}
    assert_all_sums_are_there()


def broken_off(after: int) -> Callable[..., Iterator[Progress[BehaviourFindings]]]:
    """What measures the corpus, until so many lines are done."""

    def measure(*asked: Any, **more: Any) -> Iterator[Progress[BehaviourFindings]]:
        for step in measure_corpus(*asked, **more):
            if step.done > after:
                break
            yield step
        raise KeyboardInterrupt

    return measure


@pytest.mark.parametrize("out", ["heads.csv", "heads.npz"])
def test_a_full_disk_takes_neither_the_work_nor_what_was_there(
    out: str, heads: Run, begun: list[int], monkeypatch: pytest.MonkeyPatch
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
    assert f"7 of 7 lines are done and kept in {kept()[0]}." in said.err
    assert Path(out).read_bytes() == before
    assert heads("corpus.txt", "--out", out).status == 0
    assert begun == [0, 0, 7]
    assert kept() == []
    assert files() == {"corpus.txt", out}


@pytest.mark.parametrize("out", [None, "heads.csv", "heads.npz"])
def test_whoever_stops_reading_loses_nothing(
    out: str | None, heads: Run, unread: Unread, begun: list[int]
) -> None:
    with unread():
        assert heads("corpus.txt", "--top", 1, *([] if out is None else ["--out", out])).status == 0
    if out is None:
        assert len(kept()) == 1
        assert heads("corpus.txt").status == 0
        assert begun == [0, 7]
    else:
        assert files() == {"corpus.txt", out}
    assert kept() == []


def test_the_result_never_lies_where_unfinished_work_is_kept(heads: Run, refuse: Say) -> None:
    assert heads("corpus.txt", "--out", "heads.npz").status == 0
    assert_all_sums_are_there()
    before = Path("heads.npz").read_bytes()
    asked = ("--out", "heads.npz", "--keep", f"../{Path.cwd().name}/heads.npz")
    assert "heads.npz is where unfinished work is kept" in refuse("heads", "corpus.txt", *asked)
    assert Path("heads.npz").read_bytes() == before


def test_what_is_broken_off_before_a_line_is_done_keeps_nothing(
    heads: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resuming, "measure_corpus", broken_off(after=0))
    answer = heads("corpus.txt")
    assert answer.status == 130
    assert "Nothing was kept: no line was done yet." in answer.err
    assert kept() == []


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
    assert "1 of 1 line," in said.err


@pytest.mark.parametrize("out", ["corpus.txt", "./corpus.txt", "link.csv", "link.npz"])
def test_the_text_itself_is_never_written_over(out: str, refuse: Say) -> None:
    for name in ("link.csv", "link.npz"):
        Path(name).symlink_to("corpus.txt")
    for force in ([], ["--force"]):
        said = refuse("heads", "corpus.txt", "--out", out, *force)
        assert "is what is read here, and it would be lost" in said
        assert "--force" not in said
    assert Path("corpus.txt").read_text("utf-8") == "\n".join(LINES)


def test_whoever_kills_it_loses_at_most_a_minute(heads: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    done_at: dict[int, float] = {}  # the last moment at which so many lines were done

    def slowly(*asked: Any, **more: Any) -> Iterator[Progress[BehaviourFindings]]:
        nonlocal now
        for step in measure_corpus(*asked, **more):
            if done_at:
                now += 29.0
                lines = findings_file.read(kept()[0])[1].lines if kept() else 0
                assert now - done_at[lines] <= 60  # killed here, it would go on from there
            yield step
            done_at[step.done] = now

    monkeypatch.setattr(resuming, "measure_corpus", slowly)
    monkeypatch.setattr(resuming, "time", SimpleNamespace(monotonic=lambda: now))
    assert heads("corpus.txt").status == 0
    assert max(done_at) == len(LINES)
    assert now > 120


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
        (["corpus.txt", "--keep", "nowhere/kept"], "cannot be kept in nowhere/kept"),
        (["corpus.txt", "--keep", "letter.npz"], "does not hold what heads do"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(arguments: list[str], why: str, refuse: Say) -> None:
    Path("latin.txt").write_bytes("Où ?\nLà.".encode("latin-1"))
    Path("empty.txt").write_text("\n \n")
    for name in ("letter.csv", "letter.npz"):
        Path(name).write_text("Dear Ada")
    assert why in refuse("heads", *arguments)
    assert Path("letter.csv").read_text() == Path("letter.npz").read_text() == "Dear Ada"


def test_work_that_counted_no_shares_of_all_attention_is_not_gone_on_with(refuse: Say) -> None:
    found = expected()
    found.tally.raw[...] = np.nan  # as the files of version 2 are read
    key = resuming.run_key(Corpus.from_file(Path("corpus.txt")), resolve.entry("minilm"))
    findings_file.write(Path("kept.npz"), key, found)
    assert "Delete it, and the text is read again" in refuse("heads", "corpus.txt", "--keep", "kept.npz")


def test_the_work_on_another_text_is_not_gone_on_with(refuse: Say) -> None:
    key = resuming.run_key(Corpus.from_text("Another text."), resolve.entry("minilm"))
    findings_file.write(Path("kept.npz"), key, expected())
    assert "holds the work on another text" in refuse("heads", "corpus.txt", "--keep", "kept.npz")
    assert Path("kept.npz").exists()


def test_a_file_of_another_version_is_not_written_over(refuse: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    key = resuming.run_key(Corpus.from_file(Path("corpus.txt")), resolve.entry("minilm"))
    findings_file.write(Path("heads.npz"), key, expected())
    monkeypatch.setattr(findings_file, "NAMES", ("other",))
    told = refuse("heads", "corpus.txt", "--out", "heads.npz")
    assert "heads.npz is there already. “heads.npz” was written by another version of attnviz" in told
    assert "choose another file. To write over it, say --force." in told
