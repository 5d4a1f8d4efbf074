"""A picture of a figure that needs no script: SVG, drawn from the same weights as the figure itself."""

from __future__ import annotations

import base64
import html
import re
import struct
import zlib
from collections.abc import Sequence

import numpy as np

from attnviz.analysis.display_tokens import faint, left_share, only, shown_weights
from attnviz.analysis.picture import MASKED, Levels, sequential, thumbnails
from attnviz.export.report.contents import ways
from attnviz.export.report.page import STYLE, InitialView, Theme
from attnviz.text import percent
from attnviz.trace import Floats, Kind, Trace

MOST_LINES = 300
LEAST_LINE = 0.01
"""The strongest weights of a head, from 1 % on; more would be a cloud, and a large file."""

# In pixels of the picture.
_WIDTH = 640
_TALLEST = 480
_LEFT, _RIGHT = 190, 450  # where lines begin and end
_LEAST_ROW = 10  # of smaller rows and columns not even the names are written
_LONGEST_NAME = 18


def still(trace: Trace, kind: Kind, opening: InitialView, *, atlas: bool, theme: Theme) -> str:
    """What a figure shows first, as SVG.

    Args:
        atlas: all heads in small, in place of the one.
        theme: its colours; "auto": of the page that it stands in, or else of the reader's machine.
    """
    every = ways(trace, kind)
    way = every.get("hidden" if opening.hide_special else "plain", every["plain"])
    blocks = trace.of_kind(kind) if atlas else (trace.block(kind, opening.layer),)
    stack = np.stack([block.weights for block in blocks])
    allowed = np.stack([only(block.mask, way[0].visible, way[-1].visible) for block in blocks])[:, None]
    shares = shown_weights(stack, *way)
    drawn = faint(shares, left_share(stack, *way))
    levels = sequential(drawn, mask=allowed).levels
    queries, keys = way[0].labels, way[-1].labels
    if atlas:
        parts, height = _atlas(levels, [f"L{block.layer + 1}" for block in blocks])
    elif opening.view == "matrix":
        parts, height = _matrix(levels[0, opening.head], queries, keys)
    else:
        query = None if opening.query is None else way[0].index_of(opening.query)
        numbers = None if query is None else shares[0, opening.head, query]
        parts, height = _lines(drawn[0, opening.head], queries, keys, query, numbers)
    size = f'width="{_WIDTH}" height="{height:.0f}" viewBox="0 0 {_WIDTH} {height:.0f}"'
    page = f'<style>{_style(theme)}</style><rect class="page" width="100%" height="100%"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{page}{"".join(parts)}</svg>'


def _lines(
    weights: Floats, queries: Sequence[str], keys: Sequence[str], query: int | None, numbers: Floats | None
) -> tuple[list[str], float]:
    """Curves from query to key, as strong as the figure's own (`strengths` in lines.js)."""
    row = min(26, _TALLEST / max(weights.shape))
    followed = np.ones(len(weights), np.bool_) if query is None else np.arange(len(weights)) == query
    wanted = np.where(followed[:, None] & (weights >= LEAST_LINE), weights, 0)
    strongest = np.argsort(wanted, axis=None)[-MOST_LINES:]
    # In rows and half widths: there are many lines, and each stands in the notebook.
    parts = [f'<g transform="translate({_LEFT} {row / 2}) scale({(_RIGHT - _LEFT) / 2} {row})">']
    for i, j in zip(*np.unravel_index(strongest, weights.shape), strict=True):  # the strongest last, on top
        if weight := wanted[i, j]:
            parts.append(f'<path d="M0 {i}C1 {i} 1 {j} 2 {j}" style="--s:{weight**0.7:.3f}"/>')
    parts.append("</g>")
    for names, x, anchor in ((queries, _LEFT - 8, "end"), (keys, _RIGHT + 8, "start")):
        parts += [_text(name, x, (at + 0.5) * row, row, anchor) for at, name in enumerate(names)]
    if numbers is not None:
        told = [(at, float(share)) for at, share in enumerate(numbers) if share >= 0.005]
        parts += [_text(percent(share), _WIDTH - 8, (at + 0.5) * row, row, "end") for at, share in told]
    return parts, row * max(weights.shape)


def _matrix(levels: Levels, queries: Sequence[str], keys: Sequence[str]) -> tuple[list[str], float]:
    """Rows look, columns are looked at."""
    cell = min(30, (_WIDTH - _LEFT) / len(keys), _TALLEST / len(queries))
    top = 8 if cell < _LEAST_ROW else 16 + 8 * min(_LONGEST_NAME, max(map(len, keys)))
    parts = _cells(levels, _LEFT, top, cell * len(keys), cell * len(queries))
    parts += [_text(name, _LEFT - 8, top + (at + 0.5) * cell, cell, "end") for at, name in enumerate(queries)]
    for at, name in enumerate(keys):
        turned = f"translate({_LEFT + (at + 0.5) * cell:.1f} {top - 8}) rotate(-90)"
        parts.append(f'<g transform="{turned}">{_text(name, 0, 0, cell, "start")}</g>')
    return parts, top + cell * len(queries) + 8


def _atlas(levels: Levels, layers: Sequence[str]) -> tuple[list[str], float]:
    """A row of small pictures for each layer, a column for each head; a pixel stays free between two."""
    heads, edge = levels.shape[1], 36
    small = thumbnails(levels.reshape(-1, *levels.shape[2:]), "sequential")
    apart = np.pad(small, ((0, 0), (0, 1), (0, 1)), constant_values=MASKED)
    rows, columns = apart.shape[1:]
    sheet = apart.reshape(len(layers), heads, rows, columns).swapaxes(1, 2).reshape(-1, heads * columns)
    cell = min(44, (_WIDTH - edge) / heads)
    parts = _cells(sheet, edge, edge, cell * heads, cell * len(layers))
    middles = [edge + (at + 0.5) * cell for at in range(max(heads, len(layers)))]
    parts += [_text(name, edge - 8, y, cell, "end") for name, y in zip(layers, middles, strict=False)]
    parts += [_text(str(at + 1), middles[at], edge - 14, cell, "middle") for at in range(heads)]
    return parts, edge + cell * len(layers)


def _cells(levels: Levels, x: float, y: float, width: float, height: float) -> list[str]:
    """Levels as ink, a pixel each: through a mask, so that a style sheet gives the colour."""
    place = f'x="{x}" y="{y}" width="{width:.1f}" height="{height:.1f}"'
    picture = base64.b64encode(_png(np.where(levels == MASKED, np.uint8(0), levels))).decode()
    image = f'<image {place} preserveAspectRatio="none" href="data:image/png;base64,{picture}"/>'
    return [f'<mask id="levels">{image}</mask><rect {place} mask="url(#levels)"/>']


def _png(levels: Levels) -> bytes:
    """A PNG of one byte of grey for each pixel (https://www.w3.org/TR/png-3/)."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    height, width = levels.shape
    rows = np.pad(levels, ((0, 0), (1, 0)))  # each begins with its filter: none
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    packed = zlib.compress(rows.tobytes(), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def _text(name: str, x: float, y: float, row: float, anchor: str) -> str:
    """A name, where there is room; what XML has no sign for is a box."""
    if row < _LEAST_ROW:
        return ""
    short = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
    written = html.escape(re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]", "▯", short))
    size = "" if row >= 18 else f' style="font-size:{row - 4:.0f}px"'
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{size}>{written}</text>'


def _style(theme: Theme) -> str:
    """The report's own colours."""
    colours = re.findall(r"--st-(?:background|text|primary)-color: (#\w+);", STYLE)
    light, dark = (
        f".page{{fill:{page}}}text{{fill:{text}}}rect{{fill:{ink}}}path{{stroke:{ink}}}"
        for page, text, ink in (colours[:3], colours[3:])
    )
    chosen = {"light": light, "dark": dark, "auto": f"{light}@media(prefers-color-scheme:dark){{{dark}}}"}
    return (
        "text{font:14px system-ui,sans-serif;dominant-baseline:central}path{fill:none;opacity:var(--s);"
        "stroke-width:calc(.9px + 3.4px*var(--s));vector-effect:non-scaling-stroke}"
        f"image{{image-rendering:pixelated}}{chosen[theme]}"
    )
