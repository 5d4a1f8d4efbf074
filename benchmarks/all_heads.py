"""All heads at a glance: our atlas against BertViz's model_view and a grid of Plotly heatmaps.

All three get the same numbers: real weights in the shape of BERT-base, 12 layers of 12 heads, made of the
six layers of the bundled BERT on two texts. Each is a bare page of its own, loaded from this machine; the
clock runs from the start of its loading until it is on the screen. Ours holds the very bytes and code that
the app sends for the atlas, mounted as Streamlit mounts them. npm gives BertViz's libraries beforehand.

Run: python -m benchmarks.all_heads [tokens ...] [--smoke]
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch
from urllib.parse import urlsplit

import numpy as np
from playwright.sync_api import Route
from playwright.sync_api import TimeoutError as TooSlow

from attnviz.analysis.picture import sequential, thumbnails
from attnviz.app.components import atlas, component, store
from attnviz.capture import loading
from attnviz.trace import Floats
from attnviz.widgets import code
from benchmarks.browser import launched, visitor
from benchmarks.report import Report, parser
from benchmarks.texts import text_of

LENGTHS = (16, 64, 128)
JUDGED = 128  # the targets are for this length
ROUNDS = 5
BERTVIZ_ROUNDS = {64: 3, 128: 1}  # it takes too long for more
LONGEST_MS = 240_000
LAYERS = HEADS = 12

NEEDS = (
    "This compares with BertViz, which needs npm and "
    ".venv/bin/python -m pip install --no-deps -r requirements-benchmarks.txt"
)

# What BertViz's page asks its CDN for, and where it lies in npm's packages.
LIBRARIES = {
    "require.min.js": ("requirejs@2.3.6", "package/require.js"),
    "jquery.min.js": ("jquery@2.2.4", "package/dist/jquery.min.js"),
    "d3.min.js": ("d3@5.7.0", "package/dist/d3.min.js"),
}

# In every page, after its picture has been drawn: two frames later it is on the screen.
ON_SCREEN = (
    "requestAnimationFrame(() => requestAnimationFrame(() => "
    "(document.documentElement.dataset.onScreen = performance.now())))"
)


class Rival(NamedTuple):
    """A way to show all heads.

    Attributes:
        name: what the table calls it.
        size: its bytes, without libraries.
        file: its page.
        counted, expected: JavaScript that counts what was drawn, and what it must come to.
    """

    name: str
    size: int
    file: str
    counted: str
    expected: int


class Drawn(NamedTuple):
    """Milliseconds from the start of loading to the picture, and of them those after libraries were ready."""

    total: float
    picture: float


def weights_of(tokens: int) -> tuple[Floats, list[str]]:
    """Real weights [12, 12, token, token], and the first text's tokens."""
    model = loading.load("minilm")
    traces = [model.trace(text_of(tokens, skip)) for skip in (0, 60)]
    stack = np.concatenate([trace.stack("encoder") for trace in traces])
    return stack, [token.text for token in traces[0].blocks[0].query_tokens]


# The three pages ------------------------------------------------------------------------------------------


def ours(folder: Path, weights: Floats) -> Rival:
    """The atlas: the store's message with the thumbnails, the atlas' message, and the app's code."""
    picture = sequential(weights)
    levels = picture.levels.reshape(-1, *weights.shape[2:])
    with patch.object(component, "_renderer") as renderer:
        name = store.publish("pixels", {"thumbnails": thumbnails(levels, picture.kind)})
        numbers: bytes = renderer.return_value.call_args.kwargs["data"]
        facts = ["looks at [CLS] (54 %)"] * (LAYERS * HEADS)
        selected: atlas.Selection = {"layer": 4, "heads": [2]}
        atlas.atlas("atlas", pixels=name, layers=LAYERS, heads=HEADS, selected=selected, facts=facts)
        message = renderer.return_value.call_args.kwargs["data"]
    script, data = (
        json.dumps(each, ensure_ascii=False).replace("</", "<\\/") for each in (code.bundle("app"), message)
    )
    page = f"""<!doctype html><meta charset="utf-8"><script type="module">
const numbers = fetch("numbers").then((response) => response.arrayBuffer());
await import(URL.createObjectURL(new Blob([{script}], {{ type: "text/javascript" }})));
const {{ store, atlas }} = window.attnvizCode;
for (const [widget, data] of [[store, new Uint8Array(await numbers)], [atlas, {data}]]) {{
  const host = document.body.appendChild(document.createElement("div"));
  const parentElement = host.attachShadow({{ mode: "open" }});
  widget({{ parentElement, data, setTriggerValue() {{}} }});
}}
const {{ drawn }} = document.body.lastChild.shadowRoot.querySelector(".root").dataset;
window.cells = {LAYERS * HEADS} * Number(drawn);
{ON_SCREEN};
</script>"""
    (folder / "ours.html").write_text(page, "utf-8")
    (folder / "numbers").write_bytes(numbers)
    size = len(page.encode()) + len(numbers)
    return Rival("attnviz atlas", size, "ours.html", "cells", LAYERS * HEADS)


def bertviz(folder: Path, weights: Floats, tokens: list[str]) -> Rival:
    """BertViz's model_view, with its defaults."""
    import torch

    with notebook():
        model_view = importlib.import_module("bertviz").model_view
        attention = [torch.from_numpy(layer.copy())[None] for layer in weights]
        page = model_view(attention=attention, tokens=tokens, html_action="return").data
    drawn = f"<script>requirejs(['jquery', 'd3'], () => {ON_SCREEN})</script>"
    text = f"<!doctype html><meta charset='utf-8'>{page}{drawn}"
    (folder / "bertviz.html").write_text(text, "utf-8")
    return Rival(
        "BertViz model_view",
        len(text.encode()),
        "bertviz.html",
        "document.getElementsByTagName('line').length",
        weights.size,
    )


@contextmanager
def notebook() -> Iterator[None]:
    """As much of a notebook as BertViz needs to hand over its page."""

    class Text:
        def __init__(self, data: str) -> None:
            self.data = data

    display: Any = ModuleType("IPython.display")
    display.HTML = display.Javascript = display.display = Text
    with patch.dict(sys.modules, {"IPython": ModuleType("IPython"), "IPython.display": display}):
        yield


def plotly(folder: Path, weights: Floats) -> Rival:
    """A subplot with a heatmap for each head: float32 in base64, one colour scale, no tick labels."""
    from plotly import graph_objects as go
    from plotly.offline import get_plotlyjs
    from plotly.subplots import make_subplots

    figure = make_subplots(LAYERS, HEADS)
    for layer, head in np.ndindex(LAYERS, HEADS):
        figure.add_trace(go.Heatmap(z=weights[layer, head], coloraxis="coloraxis"), layer + 1, head + 1)
    figure.update_layout(width=970, height=970, coloraxis={"cmin": 0, "cmax": 1})
    figure.update_xaxes(showticklabels=False)
    figure.update_yaxes(showticklabels=False, autorange="reversed")
    plot = figure.to_html(full_html=False, include_plotlyjs=False, post_script=ON_SCREEN)
    (folder / "plotly.min.js").write_text(get_plotlyjs(), "utf-8")
    page = f"""<!doctype html><meta charset="utf-8"><script src="plotly.min.js"></script>
<script>window.ready = performance.now()</script>{plot}"""
    (folder / "plotly.html").write_text(page, "utf-8")
    return Rival(
        "Plotly subplots",
        len(page.encode()),
        "plotly.html",
        "document.querySelectorAll('.hm').length",
        LAYERS * HEADS,
    )


# Serving and drawing them ---------------------------------------------------------------------------------


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (its name in the base class)
        """Nothing."""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a server of these files."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def fetch_libraries(folder: Path) -> None:
    """Put BertViz's libraries where its page will be told to look for them."""
    for file, (package, inside) in LIBRARIES.items():
        packed = subprocess.run(
            ["npm", "pack", "--silent", package],  # noqa: S607 (wherever npm is)
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()[-1]
        with tarfile.open(folder / packed) as archive:
            found = archive.extractfile(inside)
            assert found is not None  # noqa: S101 (it is a file)
            (folder / file).write_bytes(found.read())


def draw(rival: Rival, folder: Path, first: str = "") -> Drawn | None:
    """Load a page in a new Chromium and wait until it is on the screen; None if that takes too long.

    Args:
        rival: whose page.
        folder: where it lies.
        first: JavaScript to run before the page's own.
    """

    def from_disk(route: Route) -> None:
        route.fulfill(path=folder / Path(urlsplit(route.request.url).path).name)

    with serving(folder) as url, launched() as browser, visitor(browser) as page:
        page.route(re.compile("^https:"), from_disk)
        page.add_init_script(first)
        page.goto(f"{url}/empty.html")  # what every first page of a new browser costs is not measured
        page.goto(f"{url}/{rival.file}", wait_until="commit")
        try:
            page.wait_for_selector("html[data-on-screen]", state="attached", timeout=LONGEST_MS)
        except TooSlow:
            return None
        found = page.evaluate(rival.counted)
        if found != rival.expected:
            raise RuntimeError(f"{rival.name} has drawn {found} of {rival.expected} things.")
        total = float(page.evaluate("document.documentElement.dataset.onScreen"))
        return Drawn(total, total - float(page.evaluate("window.ready ?? 0")))


# The table ------------------------------------------------------------------------------------------------


def compare(report: Report, folder: Path, tokens: int, rounds: int) -> None:
    """Make the three pages for a text of this length, draw them in turns, and print what they cost."""
    weights, names = weights_of(tokens)
    atlas_page = ours(folder, weights)
    plotly_page = plotly(folder, weights)
    bertviz_page = bertviz(folder, weights, names)
    bertviz_rounds = BERTVIZ_ROUNDS.get(tokens, rounds)
    times: dict[Rival, list[Drawn]] = {rival: [] for rival in (atlas_page, plotly_page, bertviz_page)}
    for number in range(rounds):
        for rival, draws in times.items():
            if rival is not bertviz_page or number < bertviz_rounds:
                drawn = draw(rival, folder)
                if drawn is None:
                    report.row(f"{rival.name}: not drawn within", f"{LONGEST_MS / 1000:.0f} s")
                else:
                    draws.append(drawn)

    report.section(f"{tokens} tokens, {LAYERS} × {HEADS} heads")
    total = {rival: statistics.median(d.total for d in drawn) for rival, drawn in times.items() if drawn}
    for rival, took in total.items():
        report.row(f"{rival.name} ({len(times[rival])} times)", f"{rival.size / 1e6:8.3f} MB {took:9.0f} ms")
    picture_only = statistics.median(d.picture for d in times[plotly_page])
    report.row("Plotly once plotly.js has been read", f"{picture_only:.0f} ms")
    pixels = weights.size  # one byte a cell
    report.row("(the app also sends every head's pixels, for one head)", f"{pixels / 1e6:.3f} MB")

    def ratio(name: str, theirs: float, our_own: float, least: int | None = None) -> None:
        times_more = theirs / our_own
        target = f"≥ {least} × " if least and tokens == JUDGED else ""
        report.row(name, f"{times_more:.0f} ×", target, met=times_more >= least if target and least else None)

    ratio("bytes: BertViz / attnviz", bertviz_page.size, atlas_page.size, 150)
    ratio(
        "bytes: half of BertViz / attnviz (it holds its numbers twice)",
        bertviz_page.size / 2,
        atlas_page.size,
    )
    ratio("bytes: Plotly / attnviz", plotly_page.size, atlas_page.size, 15)
    if bertviz_page in total:
        ratio("time: BertViz / attnviz", total[bertviz_page], total[atlas_page], 200)
    ratio("time: Plotly / attnviz", total[plotly_page], total[atlas_page], 20)
    ratio("time: Plotly once plotly.js has been read / attnviz", picture_only, total[atlas_page])


def measure(
    title: str,
    description: str | None,
    lengths: Sequence[int],
    compare: Callable[[Report, Path, int, int], None],
) -> None:
    """Read the command line, compare pages in a folder with all that they load, and print it all.

    Args:
        title: of the table.
        description: of the command.
        lengths: how many tokens the texts have if the command line does not say.
        compare: makes the pages of one length and draws them so many times.
    """
    arguments = parser(description)
    arguments.add_argument("tokens", nargs="*", type=int, default=lengths)
    asked = arguments.parse_args()
    lengths, rounds = (lengths[:1], 1) if asked.smoke else (asked.tokens, ROUNDS)
    if importlib.util.find_spec("bertviz") is None or shutil.which("npm") is None:
        sys.exit(NEEDS)
    with launched() as browser:
        report = Report(title, browser.version)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fetch_libraries(folder)
        (folder / "favicon.ico").touch()
        (folder / "empty.html").write_text("<!doctype html><canvas></canvas><p>Empty", "utf-8")
        for tokens in lengths:
            compare(report, folder, tokens, rounds)
    report.end()


if __name__ == "__main__":
    measure("All heads at a glance", __doc__, LENGTHS, compare)
