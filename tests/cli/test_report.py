"""`python -m attnviz report` writes a page from a text or from saved traces."""

from pathlib import Path

import pytest

from attnviz.cli.output import saved_line
from attnviz.export.report.page import InitialView, report
from tests.cli.conftest import Output
from tests.export.report.small_traces import encoder, translator


@pytest.fixture
def saved(tmp_path: Path) -> list[str]:
    """The paths of two saved traces."""
    files = [tmp_path / "one.npz", tmp_path / "two.npz"]
    for file, trace in zip(files, (translator(), encoder("a b")), strict=True):
        trace.save(file)
    return [str(file) for file in files]


def test_saved_traces_become_one_page(output_of: Output, saved: list[str], tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    view_options = ["--layer", 2, "--head", 3]
    assert output_of(
        "report", "--trace", saved[0], "--trace", saved[1], "--out", out, *view_options
    ) == saved_line(out)
    opening = InitialView(layer=1, head=2)
    assert out.read_text("utf-8") == report([translator(), encoder("a b")], opening)
    output_of("report", "--trace", saved[0], "--out", out, "--force")
    assert out.read_text("utf-8") == report(translator())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Pass either a text"),
        (["a b", "--trace", "one.npz"], "Pass either a text"),
        (["--trace", "one.npz", "--head", "4"], "no head 1-4: "),
        (["--trace", "one.npz", "--head", "0"], "no head 1-0: "),
        (["--trace", "none.npz"], "No such file"),
        (
            ["--trace", "one.npz", "--dtype", "bfloat16", "--device", "cpu"],
            "cannot be combined with --model, --dtype or --device",
        ),
        (["--trace", "one.npz", "--trace", "bad.npz"], "bad.npz: This file is not a trace"),
    ],
)
@pytest.mark.usefixtures("saved")
def test_errors_are_reported_and_no_page_is_written(
    error_of: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.npz").write_bytes(b"no trace")
    assert message in error_of("report", *arguments, "--out", "page.html")
    assert not Path("page.html").exists()
