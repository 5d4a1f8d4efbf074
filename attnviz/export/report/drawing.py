"""Drawings made of shapes, and their SVG without scripts or external resources."""

from __future__ import annotations

import base64
import html
import re
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnviz.analysis.picture import HIGHEST, MASKED, ZERO, Levels
from attnviz.export.report.page import STYLE, Theme


class Colours(NamedTuple):
    """Colours of a drawing, as "#rrggbb"."""

    paper: str
    text: str
    ink: str
    border: str
    muted: str
    below: str
    above: str


# Colours of decreases and increases, on light and on dark backgrounds, as in palette.js.
_SIGNED = ("#3170bb", "#c6641c"), ("#569ae1", "#e58c40")


class Line(NamedTuple):
    """A curve from a query to a key; `strength`, from 0 to 1, sets its opacity and width.

    `rises` is True for an increase, False for a decrease, and None for a weight.
    """

    x: float
    y: float
    end_x: float
    end_y: float
    strength: float
    rises: bool | None = None

    def colour(self, colours: Colours) -> str:
        """Return the colour of a weight, an increase or a decrease."""
        return colours.ink if self.rises is None else colours.above if self.rises else colours.below

    @property
    def width(self) -> float:
        """Width in pixels, as in lines.js."""
        return 0.9 + 3.4 * self.strength


class Cells(NamedTuple):
    """A heatmap of levels; if signed, level 127 is 0."""

    x: float
    y: float
    width: float
    height: float
    levels: Levels
    signed: bool = False

    def pixels(self, colours: Colours) -> NDArray[np.uint8]:
        """Return [row, column, RGB], with several pixels per cell: many programs blur enlarged images."""
        paper, ink, below, above = (
            np.frombuffer(bytes.fromhex(colour[1:]), np.uint8).astype(float)
            for colour in (colours.paper, colours.ink, colours.below, colours.above)
        )
        share = np.where(self.levels == MASKED, 0, self.levels)[..., None] / HIGHEST
        if self.signed:
            change = np.where(self.levels == MASKED, 0, self.levels.astype(float) - ZERO)[..., None] / ZERO
            ink, share = np.where(change < 0, below, above), np.abs(change)
        rows, columns = self.levels.shape
        factor = max(1, round(self.width / columns), round(self.height / rows))
        pixels = np.rint(paper + (ink - paper) * share).astype(np.uint8)
        return np.ascontiguousarray(pixels.repeat(factor, 0).repeat(factor, 1))


class Text(NamedTuple):
    """One line of text, anchored at `x` and vertically centred at `y`."""

    text: str
    x: float
    y: float
    anchor: Literal["start", "middle", "end"] = "start"
    size: float = 13
    muted: bool = False
    bold: bool = False
    upwards: bool = False


@dataclass(frozen=True)
class Drawing:
    """A drawing made of shapes.

    Attributes:
        width, height: Size in pixels.
        shapes: Shapes, in painting order; lines are painted before all others.
        theme: Colour theme; "auto" follows the reader's page or system.
    """

    width: float
    height: float
    shapes: Sequence[Line | Cells | Text]
    theme: Theme

    @property
    def colours(self) -> Colours:
        """Colours of the theme; "auto" has the light colours."""
        found = re.findall(r"--(?:st-(?:background|text|primary|border)-color|muted): (#\w+);", STYLE)
        dark = self.theme == "dark"
        return Colours(*[*found[5 * dark : 5 * dark + 5], *_SIGNED[dark]])

    def svg(self) -> str:
        """Return an SVG that browsers, LaTeX and Inkscape support."""
        colours, (width, height) = self.colours, (f"{self.width:g}", f"{self.height:g}")
        lines = [shape for shape in self.shapes if isinstance(shape, Line)]
        others = [shape for shape in self.shapes if not isinstance(shape, Line)]
        dark = "@media(prefers-color-scheme:dark){svg{filter:invert(1) hue-rotate(180deg)}}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="system-ui, sans-serif" fill="{colours.text}">'
            f"{f'<style>{dark}</style>' if self.theme == 'auto' else ''}"
            f'<rect width="100%" height="100%" fill="{colours.paper}"/>'
            f'<g fill="none" stroke="{colours.ink}">'  # shared by all lines
            f"{''.join(_element(shape, colours) for shape in lines)}</g>"
            f"{''.join(_element(shape, colours) for shape in others)}</svg>"
        )


def _element(shape: Line | Cells | Text, colours: Colours) -> str:
    if isinstance(shape, Line):
        middle = f"{(shape.x + shape.end_x) / 2:g}"
        start, end = f"{shape.x:g} {shape.y:g}", f"{shape.end_x:g} {shape.end_y:g}"
        curve = f"M{start}C{middle} {shape.y:g} {middle} {shape.end_y:g} {end}"
        look = f'opacity="{shape.strength:.3f}" stroke-width="{shape.width:.2f}"'
        if shape.rises is not None:
            dashes = "" if shape.rises else ' stroke-dasharray="5 3"'
            look += f' stroke="{shape.colour(colours)}"{dashes}'
        return f'<path d="{curve}" {look}/>'
    if isinstance(shape, Cells):
        data = base64.b64encode(_png(shape.pixels(colours))).decode()
        place = " ".join(f'{name}="{getattr(shape, name):g}"' for name in ("x", "y", "width", "height"))
        frame = f'<rect {place} fill="none" stroke="{colours.border}"/>'
        return f'<image {place} preserveAspectRatio="none" href="data:image/png;base64,{data}"/>{frame}'
    place = f'x="{shape.x:g}" y="{shape.y:g}"'
    if shape.upwards:
        place = f'transform="translate({shape.x:g} {shape.y:g}) rotate(-90)"'
    colour = f' fill="{colours.muted}"' if shape.muted else ""
    weight = ' font-weight="600"' if shape.bold else ""
    # Characters that XML does not allow are replaced by a box.
    text = html.escape(re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]", "▯", shape.text))
    look = f'dy=".35em" text-anchor="{shape.anchor}" font-size="{shape.size:g}"{colour}{weight}'
    return f"<text {place} {look}>{text}</text>"


def _png(pixels: NDArray[np.uint8]) -> bytes:
    """Encode [row, column, RGB] as PNG (https://www.w3.org/TR/png-3/)."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    height, width, _ = pixels.shape
    rows = np.pad(pixels.reshape(height, -1), ((0, 0), (1, 0)))  # filter type 0 (none) before each row
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    compressed = zlib.compress(rows.tobytes(), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", compressed) + chunk(b"IEND", b"")
