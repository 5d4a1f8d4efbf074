"""A page that contains only widgets, mounted as Streamlit mounts them, but without a server."""

import base64
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Page

from attnviz.app.components import component, store
from attnviz.widgets import code

Point = tuple[float, float]
"""x and y, in CSS pixels."""

WIDTH = {"head_view": 700}  # in pixels; other widgets: 500

# The app's script, as Streamlit runs it.
_CODE = """
async (script) => {
    await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
}
"""
_START = """
() => {
    window.mounted = {};
    window.events = [];
    for (const name of ["attnviz:heads", "attnviz:data"]) {
        window.addEventListener(name, ({ detail }) => window.events.push([name, detail]));
    }
}
"""
_MOUNT = """
([place, widget, width]) => {
    const host = document.querySelector("main").appendChild(document.createElement("div"));
    host.style.maxWidth = `${width}px`;
    const parentElement = host.attachShadow({ mode: "open" });
    const setTriggerValue = (name, value) => window.events.push([name, value]);
    window.mounted[place] = { parentElement, setTriggerValue, show: window.attnvizCode[widget] };
}
"""
_SHOW = """
([place, data, bytes]) => {
    const it = window.mounted[place];
    if (bytes) data = Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0));
    it.close = it.show({ ...it, data });
}
"""
_PIXELS = """
([place, at, points]) => {
    const canvas = window.mounted[place].parentElement.querySelectorAll("canvas")[at];
    const [right, down] = [canvas.width / canvas.clientWidth, canvas.height / canvas.clientHeight];
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const below = getComputedStyle(document.body).backgroundColor.match(/\\d+/g);
    return points.map(([x, y]) => {
        const from = 4 * (Math.floor(y * down) * canvas.width + Math.floor(x * right));
        const [alpha, ink] = [data[from + 3] / 255, data.slice(from, from + 3)];
        return below.map((colour, at) => ink[at] * alpha + colour * (1 - alpha));
    });
}
"""


@dataclass
class Widgets:
    """Widgets on an empty page.

    Attributes:
        page: the browser's page.
        ids: for each store key, the name under which the browser keeps the published arrays.
    """

    page: Page
    ids: dict[str, str]

    @classmethod
    def on(cls, page: Page, theme: str = "light") -> "Widgets":
        dark = theme == "dark"
        colours = {
            "background-color": "#0e1117" if dark else "#ffffff",
            "text-color": "#fafafa" if dark else "#31333f",
            "primary-color": "#a5b4fc" if dark else "#4338ca",
            "border-color": "#808080",
            "font": "sans-serif",
        }
        style = "; ".join(f"--st-{name}: {value}" for name, value in colours.items())
        page.set_content(
            "<!doctype html><html lang=en><title>widgets</title>"
            f"<style>:root {{ {style} }} h1, h2 {{ position: absolute; opacity: 0 }}"
            "body { background: var(--st-background-color); color: var(--st-text-color) }</style>"
            "<main><h1>Widgets</h1><h2>A widget</h2></main>"
        )
        page.evaluate(_CODE, code.bundle("app"))
        page.evaluate(_START)
        return cls(page, {})

    def mount(self, widget: str, message: dict[str, Any], width: int | None = None) -> None:
        """Mount a widget if it is not mounted yet, and send it a message."""
        if not self.page.evaluate("widget => widget in window.mounted", widget):
            self._mount(widget, widget, width)
        self.show(widget, message)

    def show(self, widget: str, message: dict[str, Any]) -> None:
        """Send a mounted widget another message, as the server does after each run."""
        self.page.evaluate(_SHOW, [widget, message, None])

    def publish(self, key: str, arrays: dict[str, NDArray[Any]], **facts: Any) -> str:
        """Publish arrays with `store.publish`, deliver them to the browser, and return their name."""
        place = f"store {key}"
        if key not in self.ids:
            self._mount(place, "store", None)
        with captured_messages() as messages:
            self.ids[key] = store.publish(key, arrays, **facts)
        self.page.evaluate(_SHOW, [place, None, base64.b64encode(messages[0]).decode()])
        return self.ids[key]

    def unmount(self, place: str) -> None:
        self.page.evaluate("place => window.mounted[place].close()", place)

    def events(self) -> list[list[Any]]:
        """Return all events and triggers in order, such as ["pick", {"layer": 4, "head": 2}]."""
        events: list[list[Any]] = self.page.evaluate("window.events")
        return events

    def pixels(self, widget: str, points: Sequence[Point], canvas: int = 0) -> list[list[float]]:
        """Return red, green and blue (0 to 255) as visible at points of a canvas, given in CSS pixels."""
        found: list[list[float]] = self.page.evaluate(_PIXELS, [widget, canvas, [list(at) for at in points]])
        return found

    def _mount(self, place: str, widget: str, width: int | None) -> None:
        self.page.evaluate(_MOUNT, [place, widget, width or WIDTH.get(widget, 500)])


def message_from(draw: Callable[..., object], *arguments: Any, **facts: Any) -> dict[str, Any]:
    """Return the message that a widget receives when a page draws it."""
    with captured_messages() as messages:
        draw(*arguments, **facts)
    data: dict[str, Any] = messages[0]
    return data


def _unwrapped(data: Any) -> Any:
    """Return a message without the one-element list that contains it."""
    return data[0] if isinstance(data, list) else data


@contextmanager
def captured_messages() -> Iterator[list[Any]]:
    """Collect the messages sent to widgets during the block, in order."""
    messages: list[Any] = []
    with patch.object(
        component, "_renderer", lambda _: lambda data, **_more: messages.append(_unwrapped(data))
    ):
        yield messages


def levels(weights: NDArray[np.float32], highest: float = 1) -> NDArray[np.uint8]:
    """Return weights as the levels that widgets draw: 0 to 254 on a square-root scale."""
    return np.asarray(np.round(254 * np.sqrt(weights / highest)), np.uint8)
