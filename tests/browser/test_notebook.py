"""The example notebook has the stated results; its figures follow the theme and have a static fallback."""

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from attnviz.export.report.notebook import show
from tests.browser.server import ROOT
from tests.browser.visit import COLOURS, Faults
from tests.export.report.small_traces import encoder

NOTEBOOK = ROOT / "docs" / "notebook.ipynb"

# In a separate process: nbclient needs an event loop, and Playwright already runs one here.
EXECUTE = """
import nbclient, nbformat
notebook = nbformat.read("notebook.ipynb", as_version=4)
nbclient.execute(notebook, timeout=120, kernel_name="python3")
nbformat.write(notebook, "executed.ipynb")
"""

Outputs = dict[str, list[dict[str, Any]]]


def cell_outputs(file: Path) -> Outputs:
    """Return the outputs of the code cells, by cell id."""
    cells = json.loads(file.read_text("utf-8"))["cells"]
    return {cell["id"]: cell["outputs"] for cell in cells if cell["cell_type"] == "code"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the executed notebook, next to attnviz, as when Jupyter or VS Code runs it."""
    (tmp_path / "attnviz").symlink_to(ROOT / "attnviz")
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / NOTEBOOK.name).write_bytes(NOTEBOOK.read_bytes())
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([sys.executable, "-c", EXECUTE], cwd=folder, env=environment, check=True, timeout=180)
    return folder


def stdout_of(outputs: Outputs, cell: str) -> str:
    return "".join("".join(output["text"]) for output in outputs[cell] if output.get("name") == "stdout")


def test_repository_notebook_has_no_outputs() -> None:
    assert not any(cell_outputs(NOTEBOOK).values())


def test_the_notebook_runs(context: BrowserContext, faults: Faults, folder: Path) -> None:
    outputs = cell_outputs(folder / "executed.ipynb")
    assert not [output for cell in outputs.values() for output in cell if output.get("name") == "stderr"]
    check_results(outputs)
    assert "it-attends-to-the-dog.html" in {file.name for file in folder.iterdir()}
    check_figures(outputs, context, faults, folder / "cells.html")


def check_results(outputs: Outputs) -> None:
    assert stdout_of(outputs, "find").startswith("Layer 4, head 2:")
    first, second = stdout_of(outputs, "doubt").splitlines()
    for line in (first, second):
        trophy, suitcase = (int(percentage.strip(" ,%").split(" ")[-1]) for percentage in line.split("%")[:2])
        assert trophy > suitcase
    assert outputs["row"][0]["data"]["text/plain"][1].startswith("3:dog")
    assert "text/html" in outputs["links"][0]["data"]
    assert outputs["read"][0]["data"]["text/plain"] == ["(6, 12, 15, 15)"]
    figures = [output["data"] for output in outputs["doubt"] if output["output_type"] == "display_data"]
    assert [data["text/plain"] for data in figures] == [["<attnviz: Layer 4, head 2 of minilm>"]] * 2
    assert all("<iframe" in "".join(data["text/html"]) for data in figures)


def check_figures(outputs: Outputs, context: BrowserContext, faults: Faults, file: Path) -> None:
    faults.hosts.add("")  # the host of file: URLs
    cells = [outputs[cell][0]["data"]["text/html"] for cell in ("look", "tired", "matrix")]
    figures = "".join("".join(lines) for lines in cells)
    file.write_text(f"<!doctype html><meta charset=utf-8>{figures}", "utf-8")
    page = context.new_page()
    page.set_viewport_size({"width": 960, "height": 2600})
    context.set_offline(True)
    page.goto(file.as_uri())
    look, tired, matrix = (page.frame_locator("iframe").nth(at) for at in range(3))
    expect(look.locator("h2").first).to_have_text("All 72 heads at a glance")
    expect(tired.locator(".words")).to_contain_text("it attends to dog 65.8 %, road 12.4 %")
    expect(matrix.locator("h2")).to_have_text("Layer 4 · Head 2")
    for figure in (look, tired, matrix):
        assert figure.locator("canvas").first.evaluate(COLOURS) > 20


def page_with_figure(context: BrowserContext, around: str, figure: str) -> Page:
    """Open a page with a figure in its body."""
    page = context.new_page()
    page.set_content(f"<!doctype html>{around}{figure}")
    return page


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_static_picture_is_shown_without_scripts(context: BrowserContext, faults: Faults, theme: Any) -> None:
    figure = show(encoder(), view="matrix", theme=theme)._repr_html_()
    # JupyterLab and GitHub remove these elements from an untrusted figure.
    sanitized = re.sub("<(style|script|iframe).*?</\\1>", "", figure, flags=re.DOTALL)
    untrusted = page_with_figure(context, "<body>", sanitized).get_by_role("img")
    expect(untrusted.locator("..")).to_contain_text("Trust this notebook to make the figure interactive.")
    picture = untrusted.screenshot()
    assert untrusted.evaluate("picture => picture.naturalWidth") == 640
    policy = "<meta http-equiv=Content-Security-Policy content=\"script-src 'self'\">"
    forbidden = page_with_figure(context, f"{policy}<body>", figure)
    expect(forbidden.locator("iframe")).to_be_visible()
    assert forbidden.get_by_role("img").screenshot() == picture
    assert faults.seen
    assert all("violates" in fault for fault in faults.seen)
    faults.seen.clear()


def test_figure_is_drawn_inside_another_frame(context: BrowserContext, faults: Faults) -> None:
    """Colab and marimo's `mo.iframe` use an outer frame, with an opaque origin or the page's origin."""
    figure = html.escape(show(encoder())._repr_html_())
    context.set_offline(True)
    for sandbox in ('sandbox="allow-scripts"', ""):
        page = page_with_figure(
            context, "<body>", f'<iframe {sandbox} width="960" height="900" srcdoc="{figure}"></iframe>'
        )
        inside = page.frame_locator("iframe").frame_locator("iframe")
        expect(inside.locator("h2").first).to_have_text("All 6 heads at a glance")
        assert inside.locator("canvas").first.evaluate(COLOURS) > 20
    page = page_with_figure(
        context, "<body>", f'<iframe sandbox="" width="960" height="900" srcdoc="{figure}"></iframe>'
    )
    expect(page.frame_locator("iframe").get_by_role("img")).to_be_visible()  # this frame blocks scripts
    assert faults.seen
    assert all("Blocked script execution" in fault for fault in faults.seen)
    faults.seen.clear()


def test_figure_cannot_make_requests(context: BrowserContext, faults: Faults) -> None:
    page = page_with_figure(context, "<body>", show(encoder())._repr_html_())
    expect(page.frame_locator("iframe").locator("canvas").first).to_be_visible()
    [_, inside] = page.frames
    assert inside.evaluate("fetch('data:,').then(() => 'answered', () => 'refused')") == "refused"
    assert faults.seen
    assert all("Content Security Policy" in fault for fault in faults.seen)
    faults.seen.clear()


def test_figure_follows_the_notebook_theme(context: BrowserContext) -> None:
    figure = show(encoder(), view="lines")._repr_html_()
    page = context.new_page()
    inside = page.frame_locator("iframe").locator("html[data-drawn]")
    for around, expected in (
        ("<body data-jp-theme-light=true>", "light"),
        ("<body data-jp-theme-light=false>", "dark"),
        ("<body class=vscode-dark>", "dark"),
        ("<body class='vscode-high-contrast vscode-high-contrast-light'>", "light"),
        ("<html theme=dark><body>", "dark"),
        ("<body>", "light"),
    ):
        page.emulate_media(
            color_scheme="light" if expected == "dark" else "dark"
        )  # the opposite of the notebook's theme
        page.goto("about:blank")
        page.set_content(f"<!doctype html>{around}{figure}")
        expect(inside).to_have_attribute("data-theme", expected)
    page.evaluate("document.body.dataset.jpThemeLight = false")
    expect(inside).to_have_attribute("data-theme", "dark")
