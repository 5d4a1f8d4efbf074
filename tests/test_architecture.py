"""Imports between parts of the project go in one direction; only listed parts may import each library."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]

# A part may import itself and parts in lower layers, but no other part in its own layer.
LAYERS = {
    "app.py": 13,
    "pages": 12,
    "app": 11,
    "site": 12,
    "__main__": 13,  # the command line
    "training": 10,  # trains the small models; not in the wheel
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
    "spelling": 0,  # how tokenizers write bytes and spaces
    "text": 0,  # formats numbers and lists
}

# The parts that may import a library.
ALLOWED_IMPORTERS = {
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

# The files of the app that may import torch; they compute values for a page and do not import Streamlit.
COMPUTING_FILES = {"compute.py", "values.py"}


def part_of(path: Path) -> str:
    """Return the part of the project to which a file belongs; `path` is relative to the root."""
    names = path.with_suffix("").parts
    if names[0] != "attnviz":
        return names[0] if len(names) > 1 else path.name
    return names[0] if names[1] == "__init__" else names[1]


def part_named(names: list[str]) -> str:
    """Return the part of an imported name: attnviz.app.frame → app, attnviz.Trace → attnviz, app → app.py."""
    if names[0] == "attnviz" and len(names) > 1 and names[1] in LAYERS:
        return names[1]
    return "app.py" if names[0] == "app" else names[0]


@cache
def imported(source: str, path: Path) -> tuple[list[str], ...]:
    """Return every name that a file imports, split at the dots; relative imports become absolute."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = [*path.parts[: -node.level]] if node.level else []
            start += node.module.split(".") if node.module else []
            found += [[*start, alias.name] for alias in node.names]
    return tuple(found)


def forbidden_imports(source: str, path: Path) -> list[str]:
    """Return the imports of a file that are not allowed."""
    importer = part_of(path)
    if importer not in LAYERS:
        return [f"{path}: a new part of the project; add it to LAYERS"]
    forbidden = []
    for names in imported(source, path):
        part = part_named(names)
        upwards = part in LAYERS and part != importer and LAYERS[part] >= LAYERS[importer]
        not_allowed = part in ALLOWED_IMPORTERS and importer not in ALLOWED_IMPORTERS[part]
        if importer == "app" and path.name in COMPUTING_FILES and part in {"torch", "streamlit"}:
            not_allowed = part == "streamlit"
        if upwards or not_allowed:
            forbidden.append(f"{path}: {importer} imports {'.'.join(names)}")
    return forbidden


SOURCES = sorted(
    path.relative_to(ROOT)
    for path in [
        ROOT / "app.py",
        *(path for folder in ("pages", "attnviz", "training") for path in (ROOT / folder).rglob("*.py")),
    ]
)


def test_every_import_is_allowed() -> None:
    assert [
        found for path in SOURCES for found in forbidden_imports((ROOT / path).read_text("utf-8"), path)
    ] == []


def files_imported(source: str, path: Path) -> Iterator[Path]:
    """Yield the project's files that a file imports, at the top or inside a function."""
    for names in imported(source, path):
        for part in (names, names[:-1]):  # the last name is a module or is defined in one
            file = Path(*part).with_suffix(".py") if part else path
            if file in SOURCES and file != path:
                yield file
                break


def test_imports_have_no_cycles() -> None:
    # With a cycle, importing a page can fail, depending on the pages imported before it.
    graph = {path: set(files_imported((ROOT / path).read_text("utf-8"), path)) for path in SOURCES}
    assert Path("attnviz/trace.py") in graph[Path("attnviz/capture/loading.py")]
    assert len(list(TopologicalSorter(graph).static_order())) == len(SOURCES)


def loaded_by(code: str) -> set[str]:
    """Return the top-level packages that a new Python process has loaded after running the code."""
    command = [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"]
    names = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return {name.split(".")[0] for name in names}


def test_importing_the_app_does_not_import_torch() -> None:
    modules = [path.with_suffix("") for path in SOURCES if path.parts[:2] == ("attnviz", "app")]
    names = [".".join(path.parts) for path in modules if path.parts[2] != "lessons"]
    assert "attnviz.app.explore.one_head" in names
    walk = f"import importlib\nfor name in {names}: importlib.import_module(name)"
    assert loaded_by(walk).isdisjoint({"torch", "transformers"})


# docs/architecture.md is up to date.

TEXT = (ROOT / "docs" / "architecture.md").read_text("utf-8")
MIN_PATHS = 20


def test_every_file_named_in_the_document_exists() -> None:
    paths = re.findall(r"`((?:attnviz|pages|tests|docs|training)/[\w/.]+)`", TEXT)
    assert len(paths) > MIN_PATHS
    assert [name for name in paths if not (ROOT / name).exists()] == []
