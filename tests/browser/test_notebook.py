"""The example notebook runs from top to bottom, finds what it says, and its figures are drawn."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.server import ROOT
from tests.browser.visit import COLOURS, Faults

NOTEBOOK = ROOT / "docs" / "notebook.ipynb"

# In a process of its own: a kernel's client wants an event loop, which the tests' browser has already.
EXECUTE = """
import nbclient, nbformat
notebook = nbformat.read("notebook.ipynb", as_version=4)
nbclient.execute(notebook, timeout=120, kernel_name="python3")
nbformat.write(notebook, "executed.ipynb")
"""

Outputs = dict[str, list[dict[str, Any]]]


def code_cells(file: Path) -> Outputs:
    """What each cell of code has given, by the cell's name."""
    cells = json.loads(file.read_text("utf-8"))["cells"]
    return {cell["id"]: cell["outputs"] for cell in cells if cell["cell_type"] == "code"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the notebook has run: a folder docs beside attnviz, as Jupyter and VS Code run it."""
    above = tmp_path_factory.mktemp("notebook")
    (above / "attnviz").symlink_to(ROOT / "attnviz")
    folder = above / "docs"
    folder.mkdir()
    (folder / NOTEBOOK.name).write_bytes(NOTEBOOK.read_bytes())
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([sys.executable, "-c", EXECUTE], cwd=folder, env=environment, check=True, timeout=180)
    return folder


@pytest.fixture(scope="module")
def outputs(folder: Path) -> Outputs:
    """What it gave."""
    return code_cells(folder / "executed.ipynb")


def printed(outputs: Outputs, cell: str) -> str:
    return "".join("".join(output["text"]) for output in outputs[cell] if output.get("name") == "stdout")


def test_the_notebook_finds_what_it_says(outputs: Outputs, folder: Path) -> None:
    assert printed(outputs, "find").startswith("Layer 4, head 2:")
    first, second = printed(outputs, "doubt").splitlines()
    for line in (first, second):
        trophy, suitcase = (int(share.strip(" ,%").split(" ")[-1]) for share in line.split("%")[:2])
        assert trophy > suitcase
    assert outputs["row"][0]["data"]["text/plain"][1].startswith("3:dog")
    assert "text/html" in outputs["links"][0]["data"]
    assert "it-looks-at-the-dog.html" in {file.name for file in folder.iterdir()}


def test_nothing_but_results_is_told(outputs: Outputs) -> None:
    assert not [output for given in outputs.values() for output in given if output.get("name") == "stderr"]
    assert outputs["read"][0]["data"]["text/plain"] == ["(6, 12, 15, 15)"]


def test_the_repository_keeps_no_outputs() -> None:
    assert not any(code_cells(NOTEBOOK).values())


def test_its_figures_are_drawn(
    outputs: Outputs, context: BrowserContext, faults: Faults, folder: Path
) -> None:
    faults.hosts.add("")  # files
    cells = [outputs[cell][0]["data"]["text/html"] for cell in ("look", "tired", "matrix")]
    figures = "".join("".join(lines) for lines in cells)
    (folder / "cells.html").write_text(f"<!doctype html><meta charset=utf-8>{figures}", "utf-8")
    page = context.new_page()
    page.set_viewport_size({"width": 960, "height": 2600})
    context.set_offline(True)
    page.goto((folder / "cells.html").as_uri())
    look, tired, matrix = (page.frame_locator("iframe").nth(at) for at in range(3))
    expect(look.locator("h2").first).to_have_text("All 72 heads at a glance")
    expect(tired.locator(".words")).to_contain_text("it looks at dog 65.8 %, road 12.4 %")
    expect(matrix.locator("h2")).to_have_text("Layer 4 · Head 2")
    for figure in (look, tired, matrix):
        assert figure.locator("canvas").first.evaluate(COLOURS) > 20
