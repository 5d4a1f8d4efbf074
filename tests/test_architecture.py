"""The arrows between the folders run one way, and each foreign library enters by its own door."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]

# Who stands on whom: a part may import the parts on lower steps, and none on its own step but itself.
STEPS = {
    "app.py": 13,
    "pages": 12,
    "app": 11,
    "site": 12,
    "__main__": 13,  # the command line
    "training": 10,  # makes the weights of the small models; not in the wheel
    "cli": 10,
    "attnviz": 9,  # the public API
    "export": 8,
    "experiments": 7,
    "widgets": 7,
    "capture": 6,
    "models": 5,
    "analysis": 4,
    "trained": 4,
    "activation_cache": 3,
    "interventions": 3,
    "trace": 2,
    "transformer": 2,
    "importing": 1,
    "readable": 1,
    "trace_io": 1,
    "given_weights": 1,
    "atomic_file": 0,
    "errors": 0,
    "spelling": 0,  # the signs of tokenizers
    "text": 0,  # numbers and lists as people write them
}

# The only parts that may import a foreign library.
DOORS = {
    "streamlit": {"app.py", "pages", "app"},
    "plotly": {"export"},
    "pandas": {"export"},
    "torch": {
        "attnviz",
        "trace",
        "activation_cache",
        "transformer",
        "trained",
        "interventions",
        "capture",
        "models",
        "cli",
        "training",
    },
    "transformers": {"capture", "models", "training"},
    "huggingface_hub": {"models"},
    "ray": {"experiments"},
    "typer": {"__main__", "cli"},
    "rich": {"cli"},
    "starlette": {"app"},
    "redis": {"app"},
    "prometheus_client": {"app"},
}

# What a page computes stands in the file of this name, which knows torch and not Streamlit.
COMPUTES = {"compute.py", "values.py"}


def part_of(path: Path) -> str:
    """The part of the house that a file, given relative to the root, belongs to."""
    names = path.with_suffix("").parts
    if names[0] != "attnviz":
        return names[0] if len(names) > 1 else path.name
    return names[0] if names[1] == "__init__" else names[1]


def part_named(names: list[str]) -> str:
    """The part that a dotted name means: attnviz.app.frame → app, attnviz.Trace → attnviz, app → app.py."""
    if names[0] == "attnviz" and len(names) > 1 and names[1] in STEPS:
        return names[1]
    return "app.py" if names[0] == "app" else names[0]


@cache
def imported(source: str, path: Path) -> tuple[list[str], ...]:
    """Every name that a file imports, as its dotted parts; relative imports are made absolute."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = [*path.parts[: -node.level]] if node.level else []
            start += node.module.split(".") if node.module else []
            found += [[*start, alias.name] for alias in node.names]
    return tuple(found)


def wrong_arrows(source: str, path: Path) -> list[str]:
    """What a file imports and should not."""
    here = part_of(path)
    if here not in STEPS:
        return [f"{path}: a new part of the house; give it its place in STEPS"]
    wrong = []
    for names in imported(source, path):
        there = part_named(names)
        upwards = there in STEPS and there != here and STEPS[there] >= STEPS[here]
        by_the_window = there in DOORS and here not in DOORS[there]
        if here == "app" and path.name in COMPUTES and there in {"torch", "streamlit"}:
            by_the_window = there == "streamlit"
        if upwards or by_the_window:
            wrong.append(f"{path}: {here} imports {'.'.join(names)}")
    return wrong


SOURCES = sorted(
    path.relative_to(ROOT)
    for path in [
        ROOT / "app.py",
        *(path for folder in ("pages", "attnviz", "training") for path in (ROOT / folder).rglob("*.py")),
    ]
)


def test_every_arrow_runs_downwards() -> None:
    assert [arrow for path in SOURCES for arrow in wrong_arrows((ROOT / path).read_text("utf-8"), path)] == []


def files_imported(source: str, path: Path) -> Iterator[Path]:
    """The files of ours that a file imports, at its head or inside a function."""
    for names in imported(source, path):
        for part in (names, names[:-1]):  # the last name may be a file, or something in one
            file = Path(*part).with_suffix(".py") if part else path
            if file in SOURCES and file != path:
                yield file
                break


def test_no_file_imports_itself_by_way_of_others() -> None:
    # Otherwise a page could open or not, as other pages were opened before it.
    graph = {path: set(files_imported((ROOT / path).read_text("utf-8"), path)) for path in SOURCES}
    assert Path("attnviz/trace.py") in graph[Path("attnviz/capture/loading.py")]
    assert len(list(TopologicalSorter(graph).static_order())) == len(SOURCES)


def loaded_by(code: str) -> set[str]:
    """The top-level packages that a new Python has loaded after running the code."""
    command = [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"]
    names = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return {name.split(".")[0] for name in names}


def test_the_frame_does_not_wait_for_the_models() -> None:
    modules = [path.with_suffix("") for path in SOURCES if path.parts[:2] == ("attnviz", "app")]
    names = [".".join(path.parts) for path in modules if path.parts[2] != "lessons"]
    assert "attnviz.app.explore.one_head" in names
    walk = f"import importlib\nfor name in {names}: importlib.import_module(name)"
    assert loaded_by(walk).isdisjoint({"torch", "transformers"})


# docs/architecture.md describes the house as it stands.

TEXT = (ROOT / "docs" / "architecture.md").read_text("utf-8")
MAX_PATH_FILES = 20


def test_every_file_that_is_named_exists() -> None:
    named = re.findall(r"`((?:attnviz|pages|tests|docs|training)/[\w/.]+)`", TEXT)
    assert len(named) > MAX_PATH_FILES
    assert [name for name in named if not (ROOT / name).exists()] == []
