"""`python -m attnviz report`: a page from a text or from saved traces, and nothing else written over."""

from pathlib import Path

import pytest

from attnviz.__main__ import main
from attnviz.cli.output import written
from attnviz.export.report.page import Opening, report
from tests.export.report.made import encoder, translator


@pytest.fixture
def saved(tmp_path: Path) -> list[str]:
    """Two traces in files."""
    files = [tmp_path / "one.npz", tmp_path / "two.npz"]
    for file, trace in zip(files, (translator(), encoder("a b")), strict=True):
        trace.save(file)
    return [str(file) for file in files]


def run(*arguments: object) -> int:
    return main(["report", *map(str, arguments)])


def test_saved_traces_become_one_page(
    saved: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "page.html"
    opened = ["--kind", "cross", "--layer", 2, "--head", 3, "--token", 1, "--view", "matrix", "--hide"]
    assert run("--trace", *saved, "--out", out, *opened) == 0
    opening = Opening(kind="cross", layer=1, head=2, query=0, view="matrix", hide_special=True)
    assert out.read_text("utf-8") == report([translator(), encoder("a b")], opening)
    assert capsys.readouterr().out == written(out)
    assert run("--trace", saved[0], "--out", out) == 0  # a page may be written over
    assert out.read_text("utf-8") == report(translator())


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "Give a text"),
        (["a b", "--trace", "one.npz"], "but not both"),
        (["--trace", "one.npz", "--head", "4"], "2 layers of 3 heads"),
        (["--trace", "one.npz", "--head", "0"], "2 layers of 3 heads"),
        (["--trace", "none.npz"], "No such file"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_a_sentence(
    arguments: list[str],
    why: str,
    saved: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert saved
    monkeypatch.chdir(tmp_path)
    assert run(*arguments, "--out", "page.html") == 2
    assert why in capsys.readouterr().err
    assert not Path("page.html").exists()


def test_of_several_files_the_bad_one_is_named(
    saved: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.npz"
    bad.write_bytes(b"no trace")
    assert run("--trace", saved[0], bad, "--out", tmp_path / "page.html") == 2
    assert f"{bad}: This file is not a trace" in capsys.readouterr().err


def test_another_file_is_not_written_over(
    saved: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    letter = tmp_path / "letter.html"
    letter.write_text("<p>Dear Ada", "utf-8")
    assert run("--trace", saved[0], "--out", letter) == 2
    assert run("--trace", saved[0], "--out", tmp_path) == 2
    assert run("--trace", saved[0], "--out", tmp_path / "nowhere" / "page.html") == 2
    assert run("--trace", saved[0], "--out", tmp_path / "page.npz") == 2
    assert not (tmp_path / "page.npz").exists()
    assert letter.read_text("utf-8") == "<p>Dear Ada"
    said = capsys.readouterr().err
    assert all(
        why in said for why in ("is no page of attnviz", "is a folder", "There is no folder", "ends in .html")
    )
    assert run("--trace", saved[0], "--out", letter, "--force") == 0
    assert letter.read_text("utf-8") == report(translator())
