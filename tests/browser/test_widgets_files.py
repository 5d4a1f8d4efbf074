"""The head view's saved pictures: whole, light, labelled, and safe whatever the tokens say."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Page

from tests.browser.widgets import Widgets, levels

SVG = "{http://www.w3.org/2000/svg}"
CAPTION = "“The <b>dog</b> & the road” · minilm · special tokens hidden, the rest rescaled to 100 %. " * 3


def save(widgets: Widgets, ending: str, folder: Path) -> Path:
    with widgets.page.expect_download() as download:
        widgets.page.get_by_role("button", name=ending.upper(), exact=True).click()
    assert download.value.suggested_filename == f"minilm-layer4.{ending}"
    path = folder / f"picture.{ending}"
    download.value.save_as(path)
    return path


def mount(
    widgets: Widgets, view: str, size: int, heads: list[int], **changes: Any
) -> tuple[NDArray[np.float32], dict[str, Any]]:
    """Shows heads of layer 4; returns their weights and the message."""
    scores = np.exp(np.random.default_rng(0).standard_normal((len(heads), size, size)))
    weights = (scores / scores.sum(-1, keepdims=True)).astype(np.float32)
    pixels = changes.pop("pixels", levels(weights))
    tokens = [{"label": f"t{i}", "name": f"t{i}", "title": "", "special": False} for i in range(size)]
    names = [[4, head] for head in heads]
    whole = {
        "pixels": widgets.publish("pixels", {"pixels": pixels}, heads=names),
        "exact": widgets.publish("exact", {"values": weights}, heads=names),
        "view": view,
        "layer": 4,
        "heads": heads,
        "heads_total": 12,
        "query_tokens": tokens,
        "key_tokens": tokens,
        "query": 2,
        "key": None,
        "kind": "sequential",
        "unit": "percent",
        "note": "shared colour scale",
        "caption": CAPTION,
        "filename": "minilm-layer4",
    }
    widgets.mount("head_view", message := {**whole, **changes})
    return weights, message


@pytest.fixture
def widgets(page: Page) -> Widgets:
    return Widgets.on(page, "dark")


def texts(svg: ET.Element) -> list[str]:
    return [text.text or "" for text in svg.iter(f"{SVG}text")]


@pytest.mark.parametrize("heads", [[2], [2, 5]])
def test_lines_are_saved_with_tokens_numbers_and_caption(
    widgets: Widgets, tmp_path: Path, heads: list[int]
) -> None:
    weights, _ = mount(widgets, "lines", 7, heads)
    svg = ET.parse(save(widgets, "svg", tmp_path)).getroot()  # noqa: S314
    written = texts(svg)
    assert written[0] == ("Layer 4 · Head 2" if len(heads) == 1 else "Layer 4 · Heads 2, 5")
    assert [text for text in written if re.fullmatch(r"t\d", text)] == [f"t{i}" for i in range(7)] * 2
    unit = " %" if len(heads) == 1 else ""
    expected = [f"{100 * weights[head, 2, key]:.0f}{unit}" for key in range(7) for head in range(len(heads))]
    after_last_query = max(at for at, text in enumerate(written) if text == "t0")
    assert [text for text in written[after_last_query:] if re.fullmatch(r"\d+( %)?", text)] == expected
    assert " ".join(written).count(CAPTION.strip()) == 1
    assert "shared colour scale" in written
    assert len(list(svg.iter(f"{SVG}path"))) == 7 * len(heads)
    width = float(str(svg.get("width")))
    assert all(float(str(text.get("x"))) < width for text in svg.iter(f"{SVG}text"))


def test_a_matrix_is_saved_cell_by_cell_and_masked_cells_are_hatched(
    widgets: Widgets, tmp_path: Path
) -> None:
    pixels = np.round(np.linspace(0, 254, 49)).astype(np.uint8).reshape(1, 7, 7)
    pixels[0, 0, 1:] = 255
    mount(widgets, "matrix", 7, [2], pixels=pixels)
    svg = ET.parse(save(widgets, "svg", tmp_path)).getroot()  # noqa: S314
    [group, _swatch] = [group for group in svg.iter(f"{SVG}g") if group.get("shape-rendering")]
    colours = [cell.get("fill") for cell in group]
    assert len(colours) == len(set(colours)) == 43
    assert colours[0] == "#ffffff"
    assert [pattern.get("id") for pattern in svg.iter(f"{SVG}pattern")] == ["masked"]
    assert len([cell for cell in svg.iter(f"{SVG}rect") if cell.get("fill") == "url(#masked)"]) == 2
    assert {"← query (looks)", "key (is looked at) →"} <= set(texts(svg))


def test_a_large_matrix_is_one_image_in_the_file(widgets: Widgets, tmp_path: Path) -> None:
    mount(widgets, "matrix", 131, [2])
    path = save(widgets, "svg", tmp_path)
    [image] = ET.parse(path).getroot().iter(f"{SVG}image")  # noqa: S314
    assert str(image.get("href")).startswith("data:image/png;base64,")
    assert path.stat().st_size < 200_000


@pytest.mark.parametrize("view", ["lines", "matrix"])
def test_png_has_two_pixels_for_each_of_the_svg_on_a_light_ground(
    widgets: Widgets, tmp_path: Path, view: str
) -> None:
    mount(widgets, view, 7, [2])
    svg = ET.parse(save(widgets, "svg", tmp_path)).getroot()  # noqa: S314
    png = save(widgets, "png", tmp_path).read_bytes()
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    size = [int.from_bytes(png[at : at + 4]) for at in (16, 20)]
    assert size == [2 * int(str(svg.get(name))) for name in ("width", "height")]
    page = widgets.page.context.new_page()
    page.set_content("<canvas></canvas>")
    corner = page.evaluate(
        """async (bytes) => {
            const image = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
            const context = document.querySelector("canvas").getContext("2d");
            context.drawImage(image, 0, 0);
            return [...context.getImageData(2, 2, 1, 1).data];
        }""",
        list(png),
    )
    assert corner == [255, 255, 255, 255]


@pytest.mark.parametrize("view", ["lines", "matrix"])
def test_a_file_stays_well_formed_whatever_the_tokens_say(
    widgets: Widgets, tmp_path: Path, view: str
) -> None:
    labels = ["<script>1", "a\x00b", "\ud83d", "שלום", "👩", "&amp;", "]]>"]
    shown = [{"label": label, "name": label, "title": "", "special": False} for label in labels]
    mount(widgets, view, 7, [2], query_tokens=shown, key_tokens=shown)
    svg = ET.parse(save(widgets, "svg", tmp_path)).getroot()  # noqa: S314
    assert not list(svg.iter(f"{SVG}script"))
    kept = ["<script>1", "a\ufffdb", "\ufffd", "שלום", "👩", "&amp;", "]]>"]
    assert set(kept) <= set(texts(svg))


def test_saving_waits_for_the_answer_that_brings_the_caption(widgets: Widgets) -> None:
    _, message = mount(widgets, "lines", 7, [2])
    page = widgets.page
    page.evaluate("() => { window.saved = []; }")
    page.evaluate(
        "() => { HTMLAnchorElement.prototype.click = function () { window.saved.push(this.download); }; }"
    )
    page.get_by_role("button", name="5", exact=True).click()
    page.get_by_role("button", name="SVG", exact=True).click()
    assert page.evaluate("window.saved") == []
    widgets.show("head_view", {**message, "heads": [5], "filename": "answered"})
    assert page.evaluate("window.saved") == ["answered.svg"]
