"""All heads at a glance: our atlas against BertViz's model_view and a grid of Plotly heatmaps.

All three get the same numbers: real weights in the shape of BERT-base, 12 layers of 12 heads, made of the six
layers of the bundled BERT on two texts. Each is a page of its own, loaded from this machine; the clock runs from
the start of its loading until it is on the screen. Ours are the very bytes and code that the app sends for the
atlas. BertViz's libraries are asked of npm before anything is measured.
 Run: python -m benchmarks.all_heads [tokens ...]
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch
from urllib.parse import urlsplit

import numpy as np
import streamlit as st
from playwright.sync_api import Route

from attnviz.analysis.picture import sequential, thumbnails
from attnviz.capture import loading
from attnviz.trace import Floats
from attnviz.ui.components import atlas, component, store
from benchmarks.browser import launched, visitor
from benchmarks.report import Report
from benchmarks.texts import text_of

LENGTHS = (16, 64, 128)
ROUNDS = 5
LONGEST_MS = 240_000
LAYERS = HEADS = 12

# What BertViz's page asks its CDN for, and where it lies in npm's packages.
LIBRARIES = {
    "require.min.js": ("requirejs@2.3.6", "package/require.js"),
    "jquery.min.js": ("jquery@2.2.4", "package/dist/jquery.min.js"),
    "d3.min.js": ("d3@5.7.0", "package/dist/d3.min.js"),
}

# In every page, after its picture has been drawn: two frames later it is on the screen.
ON_SCREEN = "requestAnimationFrame(() => requestAnimationFrame(() => (window.onScreen = performance.now())))"


class Rival(NamedTuple):
    """A way to show all heads.

    Attributes:
        name: what the table calls it.
        size: its bytes, without libraries.
        file: its page.
        elements: a CSS selector, and how many of them the finished page has.
    """

    name: str
    size: int
    file: str
    elements: tuple[str, int]


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


def code_of(name: str, *parts: str) -> tuple[str, str]:
    """The JavaScript and CSS that the app sends for one of its widgets."""
    with patch.object(st.components.v2, "component") as register:
        component.component(name, *parts)
    return register.call_args.kwargs["js"], register.call_args.kwargs["css"]


def ours(folder: Path, weights: Floats) -> Rival:
    """The atlas: the store's message with the thumbnails, the atlas' message, and the code of both."""
    picture = sequential(weights)
    levels = picture.levels.reshape(-1, *weights.shape[2:])
    with patch.object(store, "_mount") as mount:
        name = store.publish("pixels", {"thumbnails": thumbnails(levels, picture.kind)})
    numbers: bytes = mount.call_args.kwargs["data"]
    with patch.object(atlas, "_mount") as mount:
        facts = ["looks at [CLS] (54 %)"] * (LAYERS * HEADS)
        selected: atlas.Selection = {"layer": 4, "heads": [2]}
        atlas.atlas("atlas", pixels=name, layers=LAYERS, heads=HEADS, selected=selected, facts=facts)
    message = json.dumps(mount.call_args.kwargs["data"])
    (store_js, store_css), (atlas_js, atlas_css) = code_of("store"), code_of("atlas", "palette")
    page = f"""<!doctype html><meta charset="utf-8"><style>{atlas_css}</style><div id="store"></div><div id="atlas"></div>
<script type="module">
import store from "./store.js";
import atlas from "./atlas.js";
const numbers = new Uint8Array(await (await fetch("numbers")).arrayBuffer());
const place = (id) => document.getElementById(id);
store({{ parentElement: place("store"), data: numbers }});
atlas({{ parentElement: place("atlas"), data: {message}, setTriggerValue() {{}} }});
if (place("atlas").querySelector("[data-drawn]")) {ON_SCREEN};
</script>"""
    files = {"ours.html": page, "store.js": store_js, "atlas.js": atlas_js}
    for file, text in files.items():
        (folder / file).write_text(text, "utf-8")
    (folder / "numbers").write_bytes(numbers)
    size = len(numbers) + len(store_css) + sum(len(text.encode()) for text in files.values())
    return Rival("attnviz atlas", size, "ours.html", ("button", LAYERS * HEADS))


def bertviz(folder: Path, weights: Floats, tokens: list[str]) -> Rival:
    """BertViz's model_view, with its defaults."""
    import torch

    with notebook():
        from bertviz import model_view

        attention = [torch.from_numpy(layer.copy())[None] for layer in weights]
        page = model_view(attention=attention, tokens=tokens, html_action="return").data
    drawn = f"<script>requirejs(['jquery', 'd3'], () => {ON_SCREEN})</script>"
    text = f"<!doctype html><meta charset='utf-8'>{page}{drawn}"
    (folder / "bertviz.html").write_text(text, "utf-8")
    return Rival("BertViz model_view", len(text.encode()), "bertviz.html", ("line", weights.size))


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
    return Rival("Plotly subplots", len(page.encode()), "plotly.html", (".heatmaplayer image", LAYERS * HEADS))


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


def draw(rival: Rival, folder: Path) -> Drawn | None:
    """Load a page in a new Chromium and wait until it is on the screen; None if that takes too long."""

    def from_disk(route: Route) -> None:
        # jquery and d3 are asked for by their full names, with or without the ending.
        name = Path(urlsplit(route.request.url).path).name
        route.fulfill(path=folder / name)

    with serving(folder) as url, launched() as browser, visitor(browser) as page:
        page.set_default_timeout(LONGEST_MS)
        page.route(re.compile("^https:"), from_disk)
        page.goto(f"{url}/{rival.file}", wait_until="commit")
        try:
            page.wait_for_function("window.onScreen", polling=100)
        except TimeoutError:
            return None
        total = float(page.evaluate("window.onScreen"))
        ready = float(page.evaluate("window.ready ?? 0"))
        selector, expected = rival.elements
        found = page.evaluate("selector => document.querySelectorAll(selector).length", selector)
        if found != expected:
            raise RuntimeError(f"{rival.name} has drawn {found} of {expected} elements {selector}.")
        return Drawn(total, total - ready)


def main(lengths: tuple[int, ...] = LENGTHS) -> None:
    """Measure everything and print it."""
