"""Interactive figures for notebooks, without a server or external resources."""

from __future__ import annotations

import base64
import gzip
import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

from attnviz.atomic_file import atomic_file
from attnviz.errors import AttnvizError
from attnviz.export.report.contents import (
    MAX_WEIGHTS,
    check_size,
    contents,
    difference_name,
    display_name,
    kinds_of,
    without_vision,
)
from attnviz.export.report.drawing import Drawing
from attnviz.export.report.matrices import (
    LargestWeights,
    Matrices,
    Pool,
    difference,
    largest_weights,
    matrices,
    pooled,
)
from attnviz.export.report.page import InitialView, Part, Theme, initial_kind, page
from attnviz.export.report.page import View as Style
from attnviz.export.report.still import still, still_of_long
from attnviz.importing import need_extra
from attnviz.trace import Difference, Kind, Token, Trace, as_int, checked_head, checked_place, checked_trace

View = Literal["atlas", "lines", "matrix"]
Query = int | str

VIEWS: tuple[View, ...] = ("atlas", "lines", "matrix")

# In CSS pixels: height of a row, maximum height of all rows, and height of everything else.
_HEIGHTS: dict[View | None, tuple[int, int, int]] = {
    None: (26, 640, 380),
    "lines": (26, 640, 310),
    "matrix": (34, 720, 400),
    "atlas": (56, 56 * 96, 275),
}
_IMAGE_HEIGHT = 480  # of an image with its patches
_TEXT_HEIGHT, _KINDS_HEIGHT = 30, 46  # of a second text, and of the control for the kind of attention

# Initial page of the frame: it decompresses the figure's page and is replaced by it.
_UNPACK = """<!doctype html><script>
new Response(
  new Blob([Uint8Array.from(atob("{packed}"), (letter) => letter.charCodeAt(0))])
    .stream()
    .pipeThrough(new DecompressionStream("gzip")),
).text().then((page) => {{
  document.open();
  document.write(page);
  document.close();
}});
</script>"""

# Inserted after each figure. The selectors recognize the themes of JupyterLab, nbconvert, VS Code and Colab;
# on other pages, the CSS colour scheme applies. A frame cannot read the page around it, so it requests the
# scheme in a message; this script answers, and sends the scheme again after each change. The picture behind a
# working frame is hidden from screen readers and in print.
_OUTSIDE_FRAME = """<style>
[data-jp-theme-light="true"] .attnviz, .vscode-light .attnviz { color-scheme: light }
[data-jp-theme-light="false"] .attnviz, [theme="dark"] .attnviz, .vscode-dark .attnviz,
.vscode-high-contrast:not(.vscode-high-contrast-light) .attnviz { color-scheme: dark }
@media print { .attnviz [aria-hidden] { visibility: hidden } }
</style>
<script>
window.attnviz ??= (() => {
  const send = (requester) => {
    for (const frame of document.querySelectorAll(".attnviz iframe")) {
      if (frame.contentWindow === requester) frame.previousElementSibling.ariaHidden = "true";
      const scheme = getComputedStyle(frame.parentElement).colorScheme;
      frame.contentWindow?.postMessage({ attnviz: scheme === "normal" ? "light" : scheme }, "*");
    }
  };
  addEventListener("message", ({ data, source }) => data === "attnviz" && send(source));
  const observer = new MutationObserver(send);
  for (const part of [document.documentElement, document.body]) observer.observe(part, { attributes: true });
  return observer;
})();
</script>"""


@dataclass(frozen=True)
class Figure:
    """An interactive figure; notebooks show it as the last value of a cell, or with `display`.

    Each figure has its own frame, so it does not interfere with other figures or with the notebook.

    Attributes:
        page: HTML page inside the frame.
        picture: Drawing of the initial state, for saved pictures and for pages that block scripts.
        height: Height of the frame in CSS pixels.
        title: Description of the figure.
    """

    page: str
    picture: Drawing
    height: int
    title: str

    def _repr_html_(self) -> str:
        # The frame covers the picture. The picture is visible if the frame is removed (JupyterLab does so in
        # an untrusted notebook), or if scripts are blocked, so that the frame is empty. An empty frame is
        # transparent only if its element has the colour scheme of the page inside, which is light.
        picture = base64.b64encode(self.picture.svg().encode()).decode()
        packed = base64.b64encode(gzip.compress(self.page.encode(), 9, mtime=0)).decode()
        title = html.escape(self.title)
        # Scripts run in an opaque origin, so they cannot access the notebook.
        return (
            '<div class="attnviz" style="display: grid; grid-template-columns: minmax(0, 1fr)">'
            f'<div style="grid-area: 1/1; max-height: {self.height}px; overflow: hidden">'
            f"<p>{title}. Trust this notebook to make the figure interactive.</p>"
            f'<img alt="{title}" src="data:image/svg+xml;base64,{picture}" style="max-width: 100%"></div>'
            f'<iframe title="{title}" srcdoc="{html.escape(_UNPACK.format(packed=packed))}" '
            f'sandbox="allow-scripts allow-downloads" width="100%" height="{self.height}" '
            'style="grid-area: 1/1; border: 0; display: block; color-scheme: light"></iframe></div>'
            f"{_OUTSIDE_FRAME}"
        )

    def __repr__(self) -> str:
        return f"<attnviz: {self.title}>"

    def save(self, path: str | Path) -> None:
        """Save the interactive figure as .html, or its initial state as .svg or .png.

        Raises:
            AttnvizError: the extension is unsupported, or no installed font has all characters of the PNG.
            OSError: the file cannot be written; an existing file is unchanged.
        """
        match Path(path).suffix.lower():
            case ".html" | ".htm":
                data = self.page.encode()
            case ".svg":
                data = self._with_fixed_theme().svg().encode()
            case ".png":
                need_extra("pictures")
                from attnviz.export.report.painted import png

                data = png(self._with_fixed_theme())
            case ending:
                raise AttnvizError(
                    f"A figure can be saved as .html, .svg or .png, not as “{ending or Path(path).name}”."
                )
        with atomic_file(Path(path)) as file:
            file.write(data)

    def _with_fixed_theme(self) -> Drawing:
        """Return the picture in a fixed theme: light instead of "auto"."""
        return replace(self.picture, theme="light") if self.picture.theme == "auto" else self.picture


def show(
    trace: Trace | Difference | Any,
    tokens: Sequence[str] | None = None,
    *,
    kind: Kind | None = None,
    layer: int | None = None,
    head: int = 0,
    query: Query | Sequence[Query] | None = None,
    view: View | None = None,
    hide_special: bool = False,
    theme: Theme = "auto",
    words: bool = False,
    pool: Pool | None = None,
) -> Figure:
    """Return an interactive figure of a trace.

    With more than 128 tokens, a matrix shows blocks, each with its largest weight, and can be zoomed; lines
    show the tokens around the followed token. For a layer with more than 5,000,000 weights, the figure
    (17 MB) has an exact overview, the largest weights of each token, and an upper bound for the others.

    >>> import attnviz
    >>> trace = attnviz.trace("The dog did not cross the road as it was too tired.")
    >>> attnviz.show(trace, layer=3, head=1, query=9)
    <attnviz: Layer 4, head 2 of minilm>
    >>> attnviz.show(trace, layer=3, pool="mean")
    <attnviz: Mean over the 12 heads of layer 4 of minilm>
    >>> attnviz.show(attnviz.trace(trace.text, edits=["encoder 1-1"]) - trace, layer=3, head=1)
    <attnviz: Layer 4, head 2: minilm with encoder 1-1 − minilm>

    Args:
        trace: A trace; a difference `b - a` of two traces of the same length; or, with `tokens`, the
            weights alone, as for `Trace.from_weights`.
        tokens: Words or tokens of these weights.
        kind: "encoder", "decoder", "cross" or "vision"; None for the first kind of the trace.
        layer: Layer to open, from 0; None for the first with weights.
        head: Head to open, from 0.
        query: Query token to select, from 0, or its text if unique; None for all. The weights of several
            tokens are summed.
        view: "lines" or "matrix" for this layer's heads, "atlas" for thumbnails of all heads; None for the
            atlas and the heads.
        hide_special: Hide the tokens that the tokenizer added.
        theme: "light", "dark", or "auto", which follows the notebook in JupyterLab, VS Code, Colab and
            nbconvert's pages; elsewhere, it follows the reader's system setting.
        words: Merge the pieces of a word: attention to a word is the sum over its pieces, attention from a
            word the mean (Clark et al. 2019).
        pool: "mean" or "max" to combine the heads of the layer (with `layer=None`, of all layers) into one
            picture; the minimum and maximum over the heads are shown next to each number.

    Raises:
        AttnvizError: the view, theme or pool is unknown, or the text is too long for a figure.
        InvalidTrace: the trace has no such kind, layer, head or token.
        TypeError: `trace` is not a trace, or a number is not an integer.
    """
    if tokens is None and not isinstance(trace, Trace | Difference | str | PathLike):
        raise TypeError(f"show() needs a trace, or weights with tokens=, not {type(trace).__name__} alone.")
    if tokens is not None and isinstance(trace, Trace | Difference):
        raise TypeError("A trace already has tokens. Remove tokens=.")
    source = trace if tokens is None else Trace.from_weights(trace, tokens)
    minus = _select_vision(source.minus, kind) if isinstance(source, Difference) else None
    trace = _select_vision(source.trace if isinstance(source, Difference) else source, kind)
    _check_known(view=(view, VIEWS), theme=(theme, get_args(Theme)), pool=(pool, get_args(Pool)))
    style: Style = "matrix" if view == "matrix" else "lines"
    kind = kind or kinds_of(trace)[0]
    pools_all_layers = pool is not None and layer is None
    layer = trace.of_kind(kind)[0].layer if layer is None else as_int(layer, "layer")
    checked_head(trace, kind, layer, head)
    followed = _followed(query, trace.block(kind, layer).query_tokens)
    opening = _follow(InitialView(kind, layer, as_int(head, "head"), None, style, hide_special), followed)
    initial_kind(trace, opening)
    if pool and view == "atlas":
        raise AttnvizError('An atlas shows single heads. Remove pool=, or view="atlas".')
    # A notebook stores each figure, so figures of lines, a matrix or a long text contain one layer only.
    too_many = sum(prod(block.shape) for block in trace.blocks) > MAX_WEIGHTS
    one_layer = not pools_all_layers if pool else view in ("lines", "matrix") or (view is None and too_many)
    if one_layer:
        trace = replace(trace, blocks=(trace.block(kind, layer),))
        minus = minus and replace(minus, blocks=(minus.block(kind, layer),))
    elif not pool:
        check_size([trace], 'show one layer: view="lines" or view="matrix"')
    end = f": {difference_name(trace, minus)}" if minus else f" of {display_name(trace.model)}"
    title = f"{'All heads' if view == 'atlas' else f'Layer {layer + 1}, head {head + 1}'}{end}"
    shown: list[Matrices | LargestWeights] = []
    if prod(trace.block(kind, layer).shape) > MAX_WEIGHTS:
        if pool or minus or words or hide_special:
            check_size([trace], "show it without pool=, words=, hide_special= and differences")
        shown.append(largest := largest_weights(trace, kind, layer))
        picture, rows = still_of_long(largest, opening, title, theme), opening.followed
    else:
        for each in [kind] if one_layer or pool or kind == "vision" else kinds_of(trace):
            one = (
                difference(Difference(trace, minus), each, hide_special, words)
                if minus
                else matrices(trace, each, words)
            )
            if pool:
                one = pooled(
                    one,
                    one.token_views.get("hidden" if hide_special else "plain", one.token_views["plain"]),
                    pool,
                )
                opening = replace(opening, layer=one.layers[0] - 1, head=0)
                title = one.heading + end
            shown.append(one)
            if each == kind:
                picture = still(one, opening, title, atlas=view == "atlas", theme=theme)
                rows = tuple(
                    row for row in map(one.token_views["plain"].row_of, opening.followed) if row is not None
                )
    parts: dict[View | None, tuple[Part, ...]] = {None: ("atlas", "head"), "atlas": ("atlas",)}
    drawn = page(
        contents([trace], shown, minus),
        _follow(opening, tuple(dict.fromkeys(rows))),
        ("head",) if pool or one_layer else parts[view],
        choose_view=view is None,
        theme=theme,
    )
    height = _height(trace, kind, view or ("lines" if pool or one_layer else None))
    height += _TEXT_HEIGHT * (minus is not None and minus.text != trace.text)
    return Figure(drawn, picture, height, title)


def _select_vision(trace: Any, kind: Kind | None) -> Trace:
    """Return the trace with only the vision encoder's attention if `kind` is "vision", else without it."""
    found = checked_trace(trace)
    return replace(found, blocks=found.of_kind(kind)) if kind == "vision" else without_vision(found)


def _followed(query: Query | Sequence[Query] | None, tokens: Sequence[Token]) -> tuple[int, ...]:
    if query is None:
        return ()
    queries = [query] if isinstance(query, str) or not isinstance(query, Iterable) else query
    return tuple(
        checked_place(each, tokens, "query") if isinstance(each, str) else as_int(each, "query")
        for each in queries
    )


def _follow(opening: InitialView, queries: tuple[int, ...]) -> InitialView:
    query = queries[0] if len(queries) == 1 else None
    return replace(opening, query=query, together=queries if len(queries) > 1 else ())


def _check_known(**given: tuple[str | None, Sequence[str]]) -> None:
    for name, (chosen, known) in given.items():
        if chosen is not None and chosen not in known:
            none = ", or None for everything" if name == "view" else ""
            raise AttnvizError(f"Unknown {name} {chosen!r}. Choose one of {', '.join(known)}{none}.")


def _height(trace: Trace, kind: Kind, view: View | None) -> int:
    """Return the height of a figure at the usual width of a notebook, in CSS pixels."""
    row, maximum, other = _HEIGHTS[view]
    blocks = trace.of_kind(kind)
    other += _TEXT_HEIGHT * sum(text is not None for text in (trace.second, trace.target))
    if view in (None, "atlas") and len(kinds_of(trace)) > 1:
        other += _KINDS_HEIGHT
    tokens = max(len(blocks[0].query_tokens), len(blocks[0].key_tokens))
    other += _IMAGE_HEIGHT * bool(trace.pictures and kind == "decoder")
    return other + min(row * (len(blocks) if view == "atlas" else tokens), maximum)
