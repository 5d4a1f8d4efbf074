"""The arrows between the folders run one way, and each foreign library enters by its own door."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Who stands on whom: a part may import the parts on lower steps, and none on its own step but itself.
STEPS = {
    "app": 9,
    "pages": 8,
    "ui": 7,
    "attnviz": 6,  # the public API
    "__main__": 7,  # the command line
    "commands": 6,
    "report": 5,
    "heads": 4,
    "lessons": 4,
    "tables": 4,
    "widgets": 4,
    "capture": 3,
    "analysis": 3,
    "figures": 3,
    "trace_file": 2,
    "translation": 2,
    "trace": 1,
    "transformer": 1,
    "errors": 0,
    "spelling": 0,  # the signs of tokenizers
}

# The one arrow upwards: `Trace.save` and `Trace.load`, which import it when they are called.
UPWARDS = {("trace", "trace_file")}

# The only parts that may import a foreign library.
DOORS = {
    "streamlit": {"app", "pages", "ui"},
    "plotly": {"figures"},
    "pandas": {"tables"},
    "torch": {"transformer", "translation", "capture", "lessons", "commands"},
    "transformers": {"capture"},
    "huggingface_hub": {"capture"},
    "ray": {"heads"},
}


def part_of(path: Path) -> str:
    """The part of the house that a file, given relative to the root, belongs to."""
    names = path.with_suffix("").parts
    return names[0] if names[0] != "attnviz" or names[1] == "__init__" else names[1]


def part_named(names: list[str]) -> str:
    """The part that a dotted name means: attnviz.ui.frame → ui, attnviz.Trace → attnviz."""
    if names[0] == "attnviz" and len(names) > 1 and names[1] in STEPS:
        return names[1]
    return names[0]


def imported(source: str, path: Path) -> Iterator[list[str]]:
    """Every name that a file imports, as its dotted parts; relative imports are made absolute."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = [*path.parts[: -node.level]] if node.level else []
            start += node.module.split(".") if node.module else []
            yield from ([*start, alias.name] for alias in node.names)


def wrong_arrows(source: str, path: Path) -> list[str]:
    """What a file imports and should not."""
    here = part_of(path)
    if here not in STEPS:
        return [f"{path}: a new part of the house; give it its place in STEPS"]
    wrong = []
    for names in imported(source, path):
        there = part_named(names)
        upwards = there in STEPS and there != here and STEPS[there] >= STEPS[here]
        upwards = upwards and (here, there) not in UPWARDS
        by_the_window = there in DOORS and here not in DOORS[there]
        if upwards or by_the_window:
            wrong.append(f"{path}: {here} imports {'.'.join(names)}")
    return wrong


SOURCES = sorted(
    path.relative_to(ROOT)
    for path in [ROOT / "app.py", *(ROOT / "pages").rglob("*.py"), *(ROOT / "attnviz").rglob("*.py")]
)


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_every_arrow_runs_downwards(path: Path) -> None:
    assert wrong_arrows((ROOT / path).read_text("utf-8"), path) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("attnviz/analysis/rollout.py", "import streamlit"),
        ("attnviz/analysis/rollout.py", "import torch.nn.functional as F"),
        ("attnviz/analysis/rollout.py", "from attnviz.capture import catalogue"),
        ("attnviz/analysis/rollout.py", "from attnviz import figures"),
        ("attnviz/analysis/rollout.py", "from ..figures import heatmap"),
        ("attnviz/analysis/rollout.py", "import attnviz"),
        ("attnviz/figures/heatmap.py", "def draw():\n    from attnviz.analysis import rollout"),
        ("attnviz/figures/heatmap.py", "from attnviz.ui import frame"),
        ("attnviz/capture/loading.py", "from plotly import graph_objects"),
        ("attnviz/transformer/bert.py", "from attnviz.trace import Trace"),
        ("attnviz/transformer/bert.py", "from transformers import BertModel"),
        ("attnviz/trace.py", "from attnviz.transformer.masks import causal_mask"),
        ("attnviz/trace.py", "import torch"),
        ("attnviz/trace.py", "from attnviz import tables"),
        ("attnviz/trace_file.py", "import pandas"),
        ("attnviz/ui/frame.py", "import plotly.graph_objects"),
        ("attnviz/ui/frame.py", "import transformers"),
        ("attnviz/ui/frame.py", "from huggingface_hub import hf_hub_download"),
        ("attnviz/ui/frame.py", "from pages import explore"),
        ("attnviz/utils.py", ""),
        ("pages/explore.py", "import app"),
    ],
)
def test_a_wrong_arrow_is_found(path: str, source: str) -> None:
    assert wrong_arrows(source, Path(path)) != []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("attnviz/analysis/rollout.py", "import numpy\nfrom attnviz.trace import Trace\nfrom . import kinds"),
        (
            "attnviz/capture/loading.py",
            "import torch, transformers\nfrom attnviz.transformer.bert import Bert",
        ),
        ("attnviz/ui/frame.py", "import streamlit\nfrom attnviz import capture, trace"),
        ("pages/explore.py", "import streamlit\nfrom attnviz.ui import frame"),
        ("attnviz/trace.py", "def save():\n    from attnviz import trace_file"),
        ("app.py", "from attnviz.ui import frame"),
    ],
)
def test_a_right_arrow_is_let_through(path: str, source: str) -> None:
    assert wrong_arrows(source, Path(path)) == []


def first_imports(source: str, path: Path) -> Iterator[Path]:
    """The files of ours that a file imports at once when it is itself imported."""
    tree = ast.parse(source)
    tree.body = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    for names in imported(ast.unparse(tree), path):
        for part in (names, names[:-1]):  # the last name may be a file, or something in one
            file = Path(*part).with_suffix(".py") if part else path
            if file in SOURCES and file != path:
                yield file
                break


def test_no_file_imports_itself_by_way_of_others() -> None:
    # Otherwise a page could open or not, as other pages were opened before it.
    graph = {path: set(first_imports((ROOT / path).read_text("utf-8"), path)) for path in SOURCES}
    assert Path("attnviz/trace.py") in graph[Path("attnviz/capture/loading.py")]
    assert len(list(TopologicalSorter(graph).static_order())) == len(SOURCES)


def test_a_circle_is_found() -> None:
    graph = {
        path: set(first_imports(source, path))
        for path, source in (
            (Path("attnviz/trace.py"), "from attnviz.errors import WrongSetting"),
            (Path("attnviz/errors.py"), "from attnviz import trace"),
        )
    }
    with pytest.raises(CycleError):
        TopologicalSorter(graph).prepare()


def loaded_by(code: str) -> set[str]:
    """The top-level packages that a new Python has loaded after running the code."""
    command = [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"]
    names = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return {name.split(".")[0] for name in names}


def test_importing_attnviz_is_light() -> None:
    assert loaded_by("import attnviz").isdisjoint({"torch", "transformers", "streamlit", "plotly"})


def test_the_frame_does_not_wait_for_the_models() -> None:
    walk = "import pkgutil, importlib, attnviz.ui as ui\n"
    walk += "for m in pkgutil.walk_packages(ui.__path__, 'attnviz.ui.'): importlib.import_module(m.name)"
    assert loaded_by(walk).isdisjoint({"torch", "transformers"})
