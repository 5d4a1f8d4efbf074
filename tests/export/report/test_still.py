"""The still picture of a figure: its lines and cells are the trace's weights, and a text stays a text."""

import base64
import io
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from PIL import Image

from attnviz.analysis.display_tokens import DisplayTokens, shown_weights
from attnviz.export.report import still as module
from attnviz.export.report.notebook import show
from attnviz.trace import Trace
from tests.export.report.made import TEXT, block, encoder, tokens, translator

SVG = "{http://www.w3.org/2000/svg}"


def drawing(trace: Trace, **chosen: Any) -> ET.Element:
    return ET.fromstring(show(trace, **chosen).picture)  # noqa: S314 (our own)


def lines(trace: Trace, **chosen: Any) -> dict[tuple[int, int], float]:
    """How strong each line is, by the rows in which it begins and ends."""
    found = {}
    for path in drawing(trace, view="lines", **chosen).iter(f"{SVG}path"):
        _, query, *_, key = path.attrib["d"].replace("C", " ").split()
        found[int(query), int(key)] = float(path.attrib["style"].removeprefix("--s:"))
    return found


def name(svg: ET.Element, anchor: str) -> list[str | None]:
    return [text.text for text in svg.iter(f"{SVG}text") if text.attrib["text-anchor"] == anchor]


def cells(svg: ET.Element) -> Any:
    [image] = svg.iter(f"{SVG}image")
    packed = base64.b64decode(image.attrib["href"].partition(",")[2])
    return np.asarray(Image.open(io.BytesIO(packed)))


@pytest.mark.parametrize("hide", [False, True])
def test_lines_are_the_trace_s_weights(hide: bool) -> None:
    trace = encoder()
    shown = DisplayTokens(trace.blocks[0].query_tokens, TEXT, hide_special=hide)
    weights = shown_weights(trace.block("encoder", 1).weights, shown)[2]
    found = lines(trace, layer=1, head=2, hide_special=hide)
    assert set(found) == set(zip(*np.nonzero(weights >= 0.01), strict=True))
    for (query, key), strength in found.items():
        assert strength == pytest.approx(weights[query, key] ** 0.7, abs=6e-4)


def test_the_lines_of_one_query_carry_its_numbers() -> None:
    trace = translator()
    weights = trace.block("cross", 1).weights[2, 3]
    chosen = {"kind": "cross", "layer": 1, "head": 2, "query": 3}
    assert {query for query, _ in lines(trace, **chosen)} == {3}
    svg = drawing(trace, view="lines", **chosen)
    assert name(svg, "start") == ["[CLS]", *TEXT.split(), "[SEP]"]
    numbers = [f"{100 * weight:.0f} %" for weight in weights if weight >= 0.005]
    assert name(svg, "end") == ["[START]", "le", "chien", "vit", *numbers]


def test_no_line_leads_to_what_is_masked() -> None:
    assert all(key <= query for query, key in lines(translator(), kind="decoder"))


def test_of_many_lines_the_strongest_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LINES", 5)
    weights = encoder().block("encoder", 0).weights[0]
    strongest = np.unravel_index(np.argsort(weights, axis=None)[-5:], weights.shape)
    assert set(lines(encoder())) == set(zip(*strongest, strict=True))


def test_cells_are_the_trace_s_weights() -> None:
    trace = translator()
    weights = trace.block("decoder", 1).weights[2]
    found = cells(drawing(trace, kind="decoder", layer=1, head=2, view="matrix"))
    np.testing.assert_array_equal(found, np.floor(254 * np.sqrt(weights) + 0.5))


def test_small_pictures_are_the_trace_s_weights() -> None:
    found = cells(drawing(encoder(), view="atlas"))
    weights = encoder().stack("encoder")
    layers, heads, rows, columns = weights.shape
    tiles = found.reshape(layers, rows + 1, heads, columns + 1).swapaxes(1, 2)
    np.testing.assert_array_equal(tiles[..., :-1, :-1], np.floor(254 * np.sqrt(weights) + 0.5))
    assert not tiles[..., -1, :].any()
    assert not tiles[..., -1].any()


@pytest.mark.parametrize("view", ["lines", "matrix"])
def test_no_text_breaks_out_of_the_picture(view: str) -> None:
    hostile = "</text><script>x\x00\ud800]]>&amp;"
    [whole, *_] = tokens("a", before="[CLS]")
    read = (whole, replace(whole, text=hostile, id=3))
    svg = drawing(Trace(model="made", text="", blocks=(block("encoder", 0, read, read),)), view=view)
    assert {part.tag.removeprefix(SVG) for part in svg.iter()} <= {
        *("svg", "style", "rect", "path", "text", "g", "mask", "image")
    }
    assert "</text><script>x▯…" in name(svg, "end")


def test_a_picture_has_the_colours_of_its_theme() -> None:
    styles = {}
    for theme in ("light", "dark", "auto"):
        [style] = drawing(encoder(), theme=theme).iter(f"{SVG}style")
        styles[theme] = str(style.text)
    assert ".page{fill:#ffffff}" in styles["light"]
    assert ".page{fill:#0f1016}" in styles["dark"]
    dark = styles["dark"][styles["dark"].index(".page") :]
    assert styles["auto"] == f"{styles['light']}@media(prefers-color-scheme:dark){{{dark}}}"
