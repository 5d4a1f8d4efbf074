"""Figures for a notebook: the pictures of a report in a cell, with no server and no other host."""

from __future__ import annotations

import base64
import gzip
import html
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isqrt
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

from attnviz.atomic_file import atomic_file
from attnviz.errors import AttnvizError
from attnviz.export.report.contents import MAX_WEIGHTS, check_size, contents, kinds_of, named
from attnviz.export.report.drawing import Drawing
from attnviz.export.report.page import InitialView, Part, Theme, kind_opened, page
from attnviz.export.report.page import View as Style
from attnviz.export.report.still import still
from attnviz.importing import need_extra
from attnviz.trace import Kind, Trace, checked_head, checked_trace, whole

View = Literal["atlas", "lines", "matrix"]

VIEWS: tuple[View, ...] = ("atlas", "lines", "matrix")

# In CSS pixels: a row of each picture, the maximum of all rows, and the space around them.
_ROWS: dict[View | None, tuple[int, int, int]] = {
    None: (26, 640, 380),
    "lines": (26, 640, 310),
    "matrix": (34, 720, 400),
    "atlas": (56, 56 * 96, 275),
}
_TEXT, _KINDS = 30, 46  # a second text, and the choice between kinds of attention

# What the frame begins with: a page that unpacks the figure's own and becomes it.
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

# Placed beside each figure. JupyterLab, nbconvert, VS Code and Colab mark in these ways that they are dark,
# other pages by their own colour scheme. A frame cannot read its page: it requests the scheme, and gets
# it now and after each change. The fallback below such a frame is neither read out nor printed.
_AROUND = """<style>
[data-jp-theme-light="true"] .attnviz, .vscode-light .attnviz { color-scheme: light }
[data-jp-theme-light="false"] .attnviz, [theme="dark"] .attnviz, .vscode-dark .attnviz,
.vscode-high-contrast:not(.vscode-high-contrast-light) .attnviz { color-scheme: dark }
@media print { .attnviz [aria-hidden] { visibility: hidden } }
</style>
<script>
window.attnviz ??= (() => {
  const send = (asking) => {
    for (const frame of document.querySelectorAll(".attnviz iframe")) {
      if (frame.contentWindow === asking) frame.previousElementSibling.ariaHidden = "true";
      const scheme = getComputedStyle(frame.parentElement).colorScheme;
      frame.contentWindow?.postMessage({ attnviz: scheme === "normal" ? "light" : scheme }, "*");
    }
  };
  addEventListener("message", ({ data, source }) => data === "attnviz" && send(source));
  const watched = new MutationObserver(send);
  for (const part of [document.documentElement, document.body]) watched.observe(part, { attributes: true });
  return watched;
})();
</script>"""


@dataclass(frozen=True)
class Figure:
    """A picture that a notebook draws when it is the last thing in a cell, or by `display`.

    It is in a frame of its own, so that several figures do not disturb each other, nor the notebook.

    Attributes:
        page: the HTML page inside the frame.
        picture: what it shows first, for where no script runs, and for paper.
        height: of the frame, in CSS pixels.
        title: what it shows, in words.
    """

    page: str
    picture: Drawing
    height: int
    title: str

    def _repr_html_(self) -> str:
        # The frame covers the picture. Where frames are taken out, as in a notebook that JupyterLab does not
        # trust, or no script may run in them, so that they stay transparent, the picture is what is seen. A
        # frame is transparent only in the colour scheme of the page that unpacks.
        picture = base64.b64encode(self.picture.svg().encode()).decode()
        packed = base64.b64encode(gzip.compress(self.page.encode(), 9, mtime=0)).decode()
        title = html.escape(self.title)
        # Scripts may run, but in an origin of their own: they cannot reach the notebook around them.
        return (
            '<div class="attnviz" style="display: grid; grid-template-columns: minmax(0, 1fr)">'
            f'<div style="grid-area: 1/1; max-height: {self.height}px; overflow: hidden">'
            f"<p>{title}. Trust this notebook to interact.</p>"
            f'<img alt="{title}" src="data:image/svg+xml;base64,{picture}" style="max-width: 100%"></div>'
            f'<iframe title="{title}" srcdoc="{html.escape(_UNPACK.format(packed=packed))}" '
            f'sandbox="allow-scripts allow-downloads" width="100%" height="{self.height}" '
            'style="grid-area: 1/1; border: 0; display: block; color-scheme: light"></iframe></div>'
            f"{_AROUND}"
        )

    def __repr__(self) -> str:
        return f"<attnviz: {self.title}>"

    def display(self) -> None:
        """Show it now: in a loop, or above the last line of a cell.

        Raises:
            AttnvizError: IPython is not installed, without which there is no notebook.
        """
        try:
            from IPython.display import display
        except ImportError:
            raise AttnvizError(
                "A figure is displayed in a notebook, by IPython, which is not installed here. "
                'Save it, and open the file in a browser: figure.save("figure.html").'
            ) from None
        display(self)  # type: ignore[no-untyped-call]  # IPython has no types for it

    def save(self, path: str | Path) -> None:
        """Write a file: .html, which any browser opens, or the picture alone as .svg or .png.

        Raises:
            AttnvizError: it has another ending, or no font for a PNG has the letters.
            OSError: it cannot be written; what was there before stays.
        """
        match Path(path).suffix.lower():
            case ".html" | ".htm":
                data = self.page.encode()
            case ".svg":
                data = self._on_paper().svg().encode()
            case ".png":
                need_extra("pictures")
                from attnviz.export.report.painted import png

                data = png(self._on_paper())
            case ending:
                raise AttnvizError(
                    f"A figure is saved as .html, .svg or .png, not as “{ending or Path(path).name}”."
                )
        with atomic_file(Path(path)) as opened:
            opened.write(data)

    def _on_paper(self) -> Drawing:
        """Return the picture in colours that do not depend on who opens it."""
        return replace(self.picture, theme="light") if self.picture.theme == "auto" else self.picture


def show(
    trace: Trace | Any,
    tokens: Sequence[str] | None = None,
    *,
    kind: Kind | None = None,
    layer: int | None = None,
    head: int = 0,
    query: int | None = None,
    view: View | None = None,
    hide_special: bool = False,
    height: int | None = None,
    theme: Theme = "auto",
) -> Figure:
    """A figure of a trace, to point at and to click.

    >>> import attnviz
    >>> trace = attnviz.trace("The dog did not cross the road as it was too tired.")
    >>> attnviz.show(trace, layer=3, head=1, query=9)
    <attnviz: Layer 4, head 2 of minilm>

    Args:
        trace: what to show. Or weights alone, with `tokens`: as `Trace.from_weights` takes them.
        tokens: the words or tokens of these weights.
        kind: "encoder", "decoder" or "cross"; None: the first that the trace has.
        layer: the layer to open, from 0; None: the first that has weights.
        head: the head to open, from 0.
        query: the token to follow, from 0; None for all.
        view: "lines" or "matrix": the heads of this layer alone; "atlas": all heads in small; None: all this.
        hide_special: hide the tokens that the tokenizer added.
        height: of the figure, in CSS pixels; None: what its pictures need.
        theme: "light", "dark", or "auto": as the notebook is, in JupyterLab, VS Code, Colab and a page that
            nbconvert made; where the figure has no access to that, the reader's system setting.

    Raises:
        AttnvizError: there is no such view or theme, or the text is too long for a figure.
        InvalidTrace: the trace has no such kind, layer, head or token.
        TypeError: it is no trace, or a number is no whole one.
    """
    if tokens is None and not isinstance(trace, Trace | str | PathLike):
        raise TypeError(f"A trace is needed, or weights with their tokens, not {type(trace).__name__} alone.")
    if tokens is not None and isinstance(trace, Trace):
        raise TypeError("A trace has its tokens. Remove tokens=.")
    trace = checked_trace(trace) if tokens is None else Trace.from_weights(trace, tokens)
    if view is not None and view not in VIEWS:
        raise AttnvizError(
            f"There is no view {view!r}; there are {', '.join(VIEWS)}, or None for everything."
        )
    if theme not in get_args(Theme):
        raise AttnvizError(f"There is no theme {theme!r}; there are {', '.join(get_args(Theme))}.")
    style: Style = "matrix" if view == "matrix" else "lines"
    kind = kind or kinds_of(trace)[0]
    layer = trace.of_kind(kind)[0].layer if layer is None else layer
    checked_head(trace, kind, layer, head)
    followed = None if query is None else whole(query, "query")
    opening = InitialView(0, kind, whole(layer, "layer"), whole(head, "head"), followed, style, hide_special)
    kind_opened([trace], opening)
    # A notebook keeps each of its figures: lines and a matrix need one layer's heads only.
    opened = trace.block(kind, layer)
    if view in (None, "atlas"):
        maximum = isqrt(MAX_WEIGHTS // len(opened.query))
        check_size([trace], f'show one layer, of up to {maximum:,} tokens: view="lines" or view="matrix"')
        shown = contents([trace])
    else:
        shown = contents([replace(trace, blocks=(opened,))])
    parts: dict[View | None, tuple[Part, ...]] = {None: ("atlas", "head"), "atlas": ("atlas",)}
    drawn = page(shown, opening, parts.get(view, ("head",)), choose_view=view is None, theme=theme)
    what = "All heads" if view == "atlas" else f"Layer {layer + 1}, head {head + 1}"
    title = f"{what} of {named(trace.model)}"
    picture = still(trace, kind, opening, title, atlas=view == "atlas", theme=theme)
    tall = _height(trace, kind, view) if height is None else whole(height, "height")
    return Figure(drawn, picture, tall, title)


def _height(trace: Trace, kind: Kind, view: View | None) -> int:
    """Room for the pictures at the width of a notebook."""
    row, maximum, around = _ROWS[view]
    blocks = trace.of_kind(kind)
    around += _TEXT * sum(text is not None for text in (trace.second, trace.target))
    if view in (None, "atlas") and len(kinds_of(trace)) > 1:
        around += _KINDS
    tokens = max(len(blocks[0].query_tokens), len(blocks[0].key_tokens))
    return around + min(row * (len(blocks) if view == "atlas" else tokens), maximum)
