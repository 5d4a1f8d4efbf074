"""The examples and commands in the README and the documentation work."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

import attnviz
from attnviz import __main__ as command_line
from attnviz import analysis, experiments
from attnviz.app.server import serving
from attnviz.cli import app

ROOT = Path(__file__).parents[1]
INDEX = ROOT / "docs" / "index.md"
GALLERY = ROOT / "docs" / "gallery.md"
COMING_FROM = ROOT / "docs" / "coming_from.md"
PYTHON = ROOT / "docs" / "python.md"
OUR_CALL = re.compile(r"^\| .* \| `(.+)` \| .*\|$", re.MULTILINE)


def examples_pass(page: str) -> bool:
    examples = doctest.DocTestParser().get_doctest(page, {}, "page", None, 0)
    results = doctest.DocTestRunner().run(examples)
    return results.attempted > 0 and results.failed == 0


@pytest.mark.parametrize("page", [ROOT / "README.md", INDEX, GALLERY, PYTHON], ids=lambda page: page.name)
def test_python_examples_are_correct(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the page writes files
    assert examples_pass(page.read_text("utf-8"))


def test_calls_in_the_comparison_with_other_tools_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # one of the calls writes a file
    page = COMING_FROM.read_text("utf-8")
    calls = OUR_CALL.findall(page)
    assert len(calls) == len(re.findall(r"^\| `", page, re.MULTILINE))  # each row has a call
    assert examples_pass(page + "".join(f"\n>>> _ = {call}" for call in calls))


def test_the_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the page writes files
    served: list[int] = []
    monkeypatch.setattr(serving, "run", lambda port, _host: served.append(port))
    commands = re.findall(r"^\$ attnviz (.+)$", INDEX.read_text("utf-8"), re.MULTILINE)
    assert [command for command in commands if command_line.main(shlex.split(command)) != 0] == []
    assert served
    assert {file.name for file in tmp_path.iterdir()} == {"dog.npz", "dog.html", "page.html"}


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "docs" / "commands.md"], ids=lambda page: page.name
)
def test_the_commands_exist_with_their_options(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fenced = [block for block in page.read_text("utf-8").split("```")[1::2] if block.startswith("\n")]
    commands = re.findall(r"attnviz ([a-z].*)$", "".join(fenced), re.MULTILINE)
    assert len(commands) > 3
    assert command_line.main(["--version"]) == 0  # imports the commands
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    for name, *options in (shlex.split(command, comments=True) for command in commands):
        command = group.get_command(group.make_context("attnviz", [name]), name)
        assert command
        command.make_context(name, options)  # an unknown option is an error
    capsys.readouterr()


def test_no_page_has_untested_code() -> None:
    pages = [
        file for file in (ROOT / "docs").glob("*.md") if file not in {INDEX, GALLERY, COMING_FROM, PYTHON}
    ]
    fences = {page.name: re.findall(r"^```(.+)", page.read_text("utf-8"), re.MULTILINE) for page in pages}
    assert [page for page, kinds in fences.items() if kinds] == []
    assert set(re.findall(r"^```(.+)", INDEX.read_text("utf-8"), re.MULTILINE)) == {"pycon", "console"}
    for page in (GALLERY, COMING_FROM, PYTHON):
        assert set(re.findall(r"^```(.+)", page.read_text("utf-8"), re.MULTILINE)) == {"pycon"}


def test_the_reference_lists_all_public_names() -> None:
    listed = re.findall(
        r"^::: attnviz\.(\S+)$", (ROOT / "docs" / "reference.md").read_text("utf-8"), re.MULTILINE
    )
    parts = {"analysis": analysis.__all__, "experiments": experiments.__all__}
    public = [*attnviz.__all__, *(f"{part}.{name}" for part, names in parts.items() for name in names)]
    returned = [
        "capture.attribution.Gradients",
        "capture.residual_stream.Decomposition",
        "experiments.ablation.Ablation",
        "experiments.ablation.OutcomeDistances",
        "experiments.ablation.WordOcclusion",
        "experiments.neighbours.Neighbour",
        "experiments.neighbours.Neighbours",
        "experiments.patching.Patching",
        "experiments.scoring.Best",
        "experiments.scoring.Scores",
    ]
    assert sorted(listed) == sorted([*public, *returned])
