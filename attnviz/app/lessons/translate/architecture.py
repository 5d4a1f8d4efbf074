"""A diagram of the encoder-decoder architecture, with links to the lessons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_COLUMN, _GAP, _BOX, _NARROW_BOX, _TITLE = 158, 24, 44, 30, 22  # pixels; narrow enough for phones
_STYLE = f"""
<style>
.architecture {{ position: relative; width: {2 * _COLUMN + _GAP}px; margin-inline: auto; max-width: 100%; }}
.architecture > * {{ position: absolute; box-sizing: border-box; }}
.architecture > :is(a, p) {{
  display: grid; place-content: center; margin: 0; text-align: center; font-size: 13px; line-height: 1.35;
  color: inherit; text-decoration: none;
}}
.architecture small {{ font-size: 12px; }}
.architecture a {{
  background: light-dark(#eef2ff, #262a4d); border: 1px solid light-dark(#6366f1, #818cf8);
  border-radius: 6px;
}}
.architecture a:is(:hover, :focus-visible) {{ box-shadow: 0 0 0 2px light-dark(#6366f1, #818cf8); }}
.architecture .stack {{ border: 1px dashed #8889; border-radius: 8px; }}
.architecture .line {{ background: currentColor; }}
.architecture :is(.up, .right) {{ border: 4px solid transparent; }}
.architecture .up {{ border-width: 0 4px 6px; border-bottom-color: currentColor; }}
.architecture .right {{ border-width: 4px 0 4px 6px; border-left-color: currentColor; }}
</style>
"""


@dataclass(frozen=True)
class Part:
    """A box of the diagram.

    Attributes:
        page: Lesson that the box links to.
        name: First line.
        size: Second line; "" for none.
    """

    page: str
    name: str
    size: str = ""

    @property
    def height(self) -> int:
        """Height in pixels."""
        return _BOX if self.size else _NARROW_BOX


@dataclass(frozen=True)
class Stack:
    """An encoder or a decoder.

    Attributes:
        title: Name and number of layers.
        tokens: Input tokens.
        embedding: The part before the layers.
        layer: The parts of a layer, in order.
    """

    title: str
    tokens: str
    embedding: Part
    layer: Sequence[Part]


def diagram(label: str, encoder: Stack, decoder: Stack, output: Part, cross: int) -> str:
    """Return HTML with the diagram; the data flows upwards, as in Vaswani et al. 2017, figure 1.

    Args:
        label: Accessible name.
        encoder, decoder: The two stacks, side by side.
        output: The part above the decoder.
        cross: Index of the decoder's part that attends to the encoder's output, from 0.
    """
    right, middle, gap = _COLUMN + _GAP, _COLUMN // 2, _COLUMN + _GAP // 2
    encoder_drawing, encoder_top, _ = _stack(encoder, 0)
    decoder_drawing, decoder_top, middles = _stack(decoder, right)
    line_y, target = encoder_top + 12, middles[cross]
    cross_arrow = (
        _line(middle, line_y, 2, 12),
        _line(middle, line_y, gap - middle, 2),
        _line(gap, max(line_y, target), 2, abs(line_y - target) + 2),
        _line(gap, target, right + 2 - gap, 2),
        _element("div", "right", right + 2, target + 3, 6, 8),
    )
    output_bottom = decoder_top + 16
    top = output_bottom + output.height
    drawn = [
        *encoder_drawing,
        *decoder_drawing,
        *cross_arrow,
        *_arrow(right, decoder_top, output_bottom),
        _box(output, right, output_bottom, _COLUMN),
    ]
    return (
        f'{_STYLE}<div class="architecture" role="group" aria-label="{escape(label)}" '
        f'style="height: {top}px">{"".join(drawn)}</div>'
    )


def _stack(stack: Stack, x: int) -> tuple[list[str], int, list[int]]:
    """Return the elements, the top of the layers and the middle of each part, in pixels from the bottom."""
    drawn = [_element("p", "", x, 20, _COLUMN, 20, escape(stack.tokens))]
    drawn.append(_box(stack.embedding, x, 20, _COLUMN))
    y = 20 + stack.embedding.height
    bottom = y + 10
    drawn += _arrow(x, y, bottom + 8)
    y, middles = bottom + 8, []
    for number, part in enumerate(stack.layer):
        if number:
            drawn += _arrow(x, y, y + 12)
            y += 12
        drawn.append(_box(part, x + 8, y, _COLUMN - 16))
        middles.append(y + part.height // 2)
        y += part.height
    top = y + _TITLE
    frame = _element("div", "stack", x, top, _COLUMN, top - bottom)
    return [frame, *drawn, _element("p", "", x, top - 1, _COLUMN, 20, escape(stack.title))], top, middles


def _box(part: Part, x: int, bottom: int, width: int) -> str:
    size = f" <small>{escape(part.size)}</small>" if part.size else ""
    text = f"<span>{escape(part.name)}</span>{size}"
    return _element(
        "a", "", x, bottom + part.height, width, part.height, text, f' href="{escape(part.page)}"'
    )


def _arrow(x: int, start: int, end: int) -> tuple[str, str]:
    """Return an upward arrow in the middle of the column at x."""
    middle = x + _COLUMN // 2
    return _line(middle, end - 3, 2, end - 3 - start), _element("div", "up", middle - 3, end, 8, 6)


def _line(x: int, top: int, width: int, height: int) -> str:
    return _element("div", "line", x, top, width, height)


def _element(
    tag: str, name: str, x: int, top: int, width: int, height: int, inner: str = "", attributes: str = ""
) -> str:
    """Return a positioned element; `top` is the height of its upper edge above the bottom of the diagram."""
    place = f"left: {x}px; bottom: {top - height}px; width: {width}px; height: {height}px"
    return f'<{tag} class="{name}"{attributes} style="{place}">{inner}</{tag}>'
