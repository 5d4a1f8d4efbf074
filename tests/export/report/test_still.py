"""The static picture of a figure, as SVG and PNG: its lines and cells show the weights; texts are escaped."""

import base64
import io
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from PIL import Image

from attnviz.analysis.display_tokens import DisplayTokens, shown_weights
from attnviz.errors import AttnvizError
from attnviz.export.report import painted
from attnviz.export.report import still as module
from attnviz.export.report.drawing import Cells, Drawing, Line, Text
from attnviz.export.report.notebook import show
from attnviz.trace import Trace
from tests.export.report.small_traces import TEXT, block, encoder, tokens, translator

SVG = "{http://www.w3.org/2000/svg}"
PAPER, INK = (255, 255, 255), (0x43, 0x38, 0xCA)


def drawing(trace: Trace, **chosen: Any) -> Drawing:
    return show(trace, **chosen).picture


def lines(trace: Trace, **chosen: Any) -> dict[tuple[int, int], float]:
    """Return the strength of each line except in the legend, by the rows of its query and its key."""
    shapes = drawing(trace, view="lines", **chosen).shapes
    sides = (module._LEFT - 8, module._RIGHT + 8)
    names = [shape for shape in shapes if isinstance(shape, Text) and shape.x in sides and not shape.muted]
    places = sorted({name.y for name in names})
    return {
        (places.index(line.y), places.index(line.end_y)): line.strength
        for line in shapes
        if isinstance(line, Line) and line.end_x == module._RIGHT
    }


def texts(drawn: Drawing, anchor: str) -> list[str]:
    return [
        text.text
        for text in drawn.shapes
        if isinstance(text, Text) and text.anchor == anchor and not (text.muted or text.bold)
    ]


def levels(drawn: Drawing) -> Any:
    return next(shape for shape in drawn.shapes if isinstance(shape, Cells)).levels


@pytest.mark.parametrize("hide", [False, True])
def test_line_strengths_are_computed_from_the_weights(hide: bool) -> None:
    trace = encoder()
    shown = DisplayTokens(trace.blocks[0].query_tokens, TEXT, hide_special=hide)
    weights = shown_weights(trace.block("encoder", 1).weights, shown)[2]
    found = lines(trace, layer=1, head=2, hide_special=hide)
    assert set(found) == set(zip(*np.nonzero(weights >= 0.01), strict=True))
    for (query, key), strength in found.items():
        assert strength == pytest.approx(weights[query, key] ** 0.7, abs=1e-6)


def test_the_lines_of_one_query_are_labelled_with_their_weights() -> None:
    trace = translator()
    weights = trace.block("cross", 1).weights[2, 3]
    chosen = {"kind": "cross", "layer": 1, "head": 2, "query": 3}
    assert {query for query, _ in lines(trace, **chosen)} == {3}
    drawn = drawing(trace, view="lines", **chosen)
    assert texts(drawn, "start") == ["[CLS]", *TEXT.split(), "[SEP]"]
    numbers = [f"{100 * weight:.0f} %" for weight in weights if weight >= 0.005]
    assert texts(drawn, "end") == ["[START]", "le", "chien", "vit", *numbers]


def test_only_the_strongest_lines_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LINES", 5)
    weights = encoder().block("encoder", 0).weights[0]
    strongest = np.unravel_index(np.argsort(weights, axis=None)[-5:], weights.shape)
    assert set(lines(encoder())) == set(zip(*strongest, strict=True))


def test_cell_levels_are_computed_from_the_weights() -> None:
    trace = translator()
    weights = trace.block("decoder", 1).weights[2]
    drawn = drawing(trace, kind="decoder", layer=1, head=2, view="matrix")
    allowed = np.tril(np.ones(weights.shape, np.bool_))
    np.testing.assert_array_equal(levels(drawn)[allowed], np.floor(254 * np.sqrt(weights) + 0.5)[allowed])
    assert (levels(drawn)[~allowed] == 255).all()


def test_the_levels_of_the_atlas_are_computed_from_the_weights() -> None:
    found = levels(drawing(encoder(), view="atlas"))
    weights = encoder().stack("encoder")
    layers, heads, rows, columns = weights.shape
    tiles = found.reshape(layers, rows + 1, heads, columns + 1).swapaxes(1, 2)
    np.testing.assert_array_equal(tiles[..., :-1, :-1], np.floor(254 * np.sqrt(weights) + 0.5))
    assert (tiles[..., -1, :] == 255).all()
    assert (tiles[..., -1] == 255).all()


@pytest.mark.parametrize("view", ["lines", "matrix"])
def test_texts_are_escaped_in_the_svg(view: str) -> None:
    hostile = "</text><script>x\x00\ud800]]>&amp;"
    [first, *_] = tokens("a", before="[CLS]")
    tokens_read = (first, replace(first, text=hostile, id=3))
    trace = Trace(model="<b>&", text="", blocks=(block("encoder", 0, tokens_read, tokens_read),))
    svg = ET.fromstring(drawing(trace, view=view).svg())  # noqa: S314 (our own file)
    assert {part.tag.removeprefix(SVG) for part in svg.iter()} <= {
        *("svg", "style", "g", "rect", "path", "text", "image")
    }
    labels = [text.text for text in svg.iter(f"{SVG}text")]
    assert "</text><script>x▯…" in labels
    assert "Layer 1, head 1 of <b>&" in labels


WEIGHTS = [[[[1, 0], [0.25, 0.75]]]]  # levels 254, 0, 127 and 220


def colour(level: int) -> tuple[int, ...]:
    return tuple(round(paper + (ink - paper) * level / 254) for paper, ink in zip(PAPER, INK, strict=True))


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_matrix_is_saved_in_the_colours_of_its_weights(tmp_path: Path, ending: str) -> None:
    figure = show(WEIGHTS, ["The", "dog"], view="matrix")
    file = tmp_path / f"Head.{ending.upper()}"
    figure.save(file)
    cells = next(shape for shape in figure.picture.shapes if isinstance(shape, Cells))
    if ending == "svg":
        svg = ET.fromstring(file.read_text("utf-8"))  # noqa: S314 (our own file)
        assert not list(svg.iter(f"{SVG}style"))  # without styles, the viewer's theme has no effect
        image = next(svg.iter(f"{SVG}image"))
        picture = Image.open(io.BytesIO(base64.b64decode(image.attrib["href"].partition(",")[2])))
        corner, side = (0.0, 0.0), picture.width / 2
    else:
        picture = Image.open(file)
        corner, side = (3 * cells.x, 3 * cells.y), 3 * cells.width / 2
    found = [
        picture.convert("RGB").getpixel(
            (int(corner[0] + side * (x + 0.5)), int(corner[1] + side * (y + 0.5)))
        )
        for y in range(2)
        for x in range(2)
    ]
    assert found == [colour(254), PAPER, colour(127), colour(220)]


def test_lines_are_painted_at_their_coordinates(tmp_path: Path) -> None:
    figure = show(WEIGHTS, ["The", "dog"], view="lines")
    figure.save(tmp_path / "lines.png")
    picture = Image.open(tmp_path / "lines.png").convert("RGB")
    strongest = next(line for line in figure.picture.shapes if isinstance(line, Line) and line.strength == 1)
    assert picture.getpixel((3 * 320, round(3 * strongest.y))) == INK
    assert picture.getpixel((3 * 320, round(3 * (strongest.y + 6)))) == PAPER


def test_unknown_file_endings_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    figure = show(WEIGHTS, ["The", "dog"])
    figure.save(tmp_path / "figure.html")
    assert (tmp_path / "figure.html").read_text("utf-8") == figure.page
    for name in ("figure.pdf", "figure.jpg", "figure"):
        with pytest.raises(
            AttnvizError, match=r"saved as \.html, \.svg or \.png, not as “.*(pdf|jpg|figure)”"
        ):
            figure.save(tmp_path / name)
    assert [file.name for file in tmp_path.iterdir()] == ["figure.html"]


@pytest.mark.parametrize(("word", "reason"), [("我", "None of the fonts"), ("כלב", "without Raqm")])
def test_a_png_that_pillow_cannot_write_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, reason: str
) -> None:
    monkeypatch.setattr(painted, "_FONTS", ())
    monkeypatch.setattr("PIL.features.check", lambda _feature: False)
    figure = show(WEIGHTS, ["The", word])
    with pytest.raises(AttnvizError, match=rf"{reason}.* “.*{word}.*”\. Save the figure as \.svg"):
        figure.save(tmp_path / "head.png")
    assert not list(tmp_path.iterdir())
    figure.save(tmp_path / "head.svg")
    assert word in (tmp_path / "head.svg").read_text("utf-8")
