"""Checks of all widgets: accessibility, escaping of text, and saved pictures."""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import ViewportSize

from tests.browser import test_widgets_atlas as atlas
from tests.browser import test_widgets_head_view as head_view
from tests.browser import test_widgets_tables as tables
from tests.browser.explore import svg
from tests.browser.visit import DESKTOP, PHONE, axe, fits, save
from tests.browser.widgets import Widgets

SVG = "{http://www.w3.org/2000/svg}"
LABELS = ["<script>1", "a\x00b", "\ud83d", "שלום", "👩", "&amp;", "]]>"]
ESCAPED = ["<script>1", "a\ufffdb", "\ufffd", "שלום", "👩", "&amp;", "]]>"]
ON_PAGE = {"map of heads": ["L2", "88"]}  # some of the texts in the picture
MARKUP = '<img src=x onerror="window.events.push(1)">'

TOKENS = {"row_labels": [MARKUP] * 3, "column_labels": [MARKUP] * 5}
Draw = Callable[[Widgets, int], Any]


def draw_heads(view: str, *heads: int) -> Draw:
    tokens = [{"label": label, "name": label, "title": "", "special": False} for label in LABELS]
    sides = {"query_tokens": tokens, "key_tokens": tokens}

    def draw(widgets: Widgets, width: int) -> None:
        head_view.show(
            widgets, head_view.random_weights(7, 7), view, heads, key=2, width=min(700, width), **sides
        )
        widgets.page.get_by_role("button", name="Several").focus()

    return draw


def draw_atlas(widgets: Widgets, width: int) -> None:
    pictures = widgets.publish("p", {"thumbnails": atlas.flat_pictures()}, heads=[])
    facts = [MARKUP] * atlas.LAYERS * atlas.HEADS
    message = atlas.message(pictures, dim=[1, 2], facts=facts)
    widgets.mount("atlas", message, min(500, width))
    atlas.head(widgets, 2, 1).focus()


def draw(widget: str, message: Callable[[], dict[str, Any]]) -> Draw:
    return lambda widgets, width: widgets.mount(widget, message(), min(800, width))


DRAW: dict[str, Draw] = {
    "lines": draw_heads("lines", 3),
    "lines of several heads": draw_heads("lines", 1, 2, 3, 4, 5),
    "matrix": draw_heads("matrix", 3),
    "matrices of several heads": draw_heads("matrix", 1, 2, 3),
    "atlas": draw_atlas,
    "map of heads": draw("head_map", tables.map_message),
    "map of tokens": draw("head_map", lambda: tables.map_message(**TOKENS)),
}


@pytest.mark.parametrize(
    ("viewport", "colour_scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["wide light", "narrow dark"]
)
def test_widgets_are_accessible_and_safe(
    widgets: Widgets, viewport: ViewportSize, colour_scheme: str
) -> None:
    page = widgets.page
    for name, draw_it in DRAW.items():
        alone = Widgets.on(page, colour_scheme)
        draw_it(alone, viewport["width"] - 64)
        assert (name, axe(page)) == (name, [])
        assert fits(page), name
        assert page.locator("img, script, b b, i i").count() == 0, name
        assert all(isinstance(event, list) for event in alone.events()), name


@pytest.mark.parametrize("name", ["lines", "matrix", *ON_PAGE])
@pytest.mark.parametrize("colour_scheme", ["dark"])
def test_saved_picture_is_complete_light_and_escaped(widgets: Widgets, name: str, tmp_path: Path) -> None:
    DRAW[name](widgets, 700)
    file = save(widgets.page, "SVG", tmp_path)
    root = svg(file)
    assert "script" not in {element.tag.removeprefix(SVG) for element in root.iter()}
    assert any(shape.get("fill") == "#ffffff" for shape in root.findall(f"{SVG}rect"))
    texts = [text.text for text in root.iter(f"{SVG}text")]
    if name in {"lines", "matrix"}:
        assert set(ESCAPED) <= set(texts)
    if name in ON_PAGE:  # the file is made from the page's elements
        assert set(ON_PAGE[name]) <= set(texts)
        colour = widgets.page.locator(".root").evaluate("root => getComputedStyle(root).color")
        assert colour == "rgb(250, 250, 250)", "the page is no longer dark"

    image = save(widgets.page, "PNG", tmp_path)
    assert image.stem == file.stem
    png = image.read_bytes()
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    size = [int.from_bytes(png[at : at + 4]) for at in (16, 20)]
    assert size == pytest.approx([2 * float(str(root.get(side))) for side in ("width", "height")], abs=2)
    corner = widgets.page.evaluate(
        """async (bytes) => {
            const blob = new Blob([Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0))]);
            const image = await createImageBitmap(blob);
            const context = Object.assign(document.createElement("canvas"), image).getContext("2d");
            context.drawImage(image, 0, 0);
            return [...context.getImageData(2, 2, 1, 1).data];
        }""",
        base64.b64encode(png).decode(),
    )
    assert corner == [255, 255, 255, 255]
