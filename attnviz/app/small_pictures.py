"""Small illustrations on the pages' cards, drawn without a model."""

from collections.abc import Callable, Iterable, Sequence
from math import sin
from urllib.parse import quote

WIDTH, HEIGHT = 148, 44
_BRIGHT, _OTHER = "#8b5cf6", "#d97706"  # violet and amber, distinct in both themes
_QUERY, _KEY = "#3b82f6", "#ef4444"

Point = tuple[float, float]


def _bars(shares: Sequence[float], bright: int) -> str:
    step = HEIGHT / len(shares)
    return "".join(
        f'<rect y="{at * step + 1:.1f}" width="{WIDTH * share:.1f}" height="{step - 2:.1f}" rx="1.5" '
        f"{_paint(at == bright)}/>"
        for at, share in enumerate(shares)
    )


def _grid(left: float, size: int, dark: Callable[[int, int], float], colour: str = _BRIGHT) -> str:
    side = HEIGHT / size
    return "".join(
        f'<rect x="{left + column * side:.1f}" y="{row * side:.1f}" width="{side - 1:.1f}" '
        f'height="{side - 1:.1f}" fill="{colour}" opacity="{0.12 + 0.88 * dark(row, column):.2f}"/>'
        for row in range(size)
        for column in range(size)
    )


def _row(y: float, count: int = 7, bright: Iterable[int] = ()) -> str:
    return "".join(f'<circle cx="{_x(at)}" cy="{y}" r="3" {_paint(at in bright)}/>' for at in range(count))


def _arc(start: int, end: int, colour: str = _BRIGHT, y: float = 38, dashed: bool = False) -> str:
    middle, top = (_x(start) + _x(end)) / 2, y - 9 * abs(start - end)
    dashes = ' stroke-dasharray="3 3"' if dashed else ""
    return f'<path d="M{_x(start)} {y} Q{middle} {top} {_x(end)} {y}" {_stroke(colour)}{dashes}/>'


def _links(pairs: Iterable[Point], bright: int) -> str:
    lines = (
        f'<path d="M{_x(above)} 6 L{_x(below)} 38" '
        f"{_stroke(_BRIGHT if at == bright else '#888', 1 if at == bright else 0.3)}/>"
        for at, (above, below) in enumerate(pairs)
    )
    return _row(6) + _row(38) + "".join(lines)


def _curve(points: Iterable[Point], colour: str = _BRIGHT) -> str:
    return f'<polyline points="{" ".join(f"{x},{y}" for x, y in points)}" {_stroke(colour)}/>'


def _x(at: float) -> float:
    return 9 + 17 * at


def _paint(bright: bool) -> str:
    return f'fill="{_BRIGHT}"' if bright else 'fill="#888" opacity="0.25"'


def _stroke(colour: str, opacity: float = 1) -> str:
    return f'fill="none" stroke="{colour}" stroke-width="2" opacity="{opacity}"'


_STEEP = [(0, 41), (40, 40), (54, 34), (62, 12), (72, 5), (120, 3)]
_MANY = [(10, 30), (22, 12), (34, 33), (47, 20), (60, 8), (72, 27), (85, 15), (98, 36), (110, 22)]

_PICTURES = {
    "weighted_average": _bars([0.3, 0.95, 0.2, 0.5], 1),
    "scale": _curve([(0, 40), (40, 30), (80, 16), (120, 4)]) + _curve(_STEEP, _OTHER),
    "query_key_value": _grid(0, 4, lambda row, _: row / 4, _QUERY)
    + _grid(52, 4, lambda row, column: (row + column) / 6, _KEY)
    + _grid(104, 4, lambda row, column: float(row == column)),
    "many_heads": _grid(0, 5, lambda row, column: float(row == column + 1))
    + _grid(52, 5, lambda _, column: float(column == 0))
    + _grid(104, 5, lambda row, column: (row * column % 3) / 3),
    "masks": _grid(0, 6, lambda row, column: float(column <= row)),
    "positions": _curve([(x, 22 - 18 * sin(x / 7)) for x in range(0, 121, 3)])
    + _curve([(x, 22 - 18 * sin(x / 20)) for x in range(0, 121, 3)], _OTHER),
    "cross_attention": _links([(0, 1), (2, 2), (3, 5), (5, 4)], 2),
    "block": "".join(f'<rect x="{x}" y="12" width="24" height="20" {_paint(x == 38)}/>' for x in (6, 38, 70))
    + _curve([(0, 40), (120, 40)], _OTHER),
    "translate": _links([(0, 0), (1, 2), (2, 1), (4, 4), (6, 5)], 3),
    "cause": _row(38, bright=(5,)) + _arc(5, 1, dashed=True) + _arc(5, 3, _OTHER),
    "watch_it_learn": _curve([(0, 40), (20, 36), (45, 20), (80, 8), (120, 5)]),
    "long_distances": _curve([(0, 8), (60, 9), (120, 10)]) + _curve([(0, 8), (50, 20), (120, 40)], _OTHER),
    "write": _row(22, bright=(6,)) + _curve([(111, 12), (111, 4)]),
    "induction": _row(38, bright=(6,)) + _arc(6, 2) + _arc(2, 1, _OTHER),
    "score_heads": _bars([0.9, 0.7, 0.45, 0.3, 0.15], 0),
    "compare": _grid(0, 5, lambda row, column: float(row == column))
    + _grid(52, 5, lambda row, column: float(row == column or (row, column) == (2, 4)), _OTHER),
    "intervene": _grid(0, 5, lambda row, column: 0 if (row, column) == (2, 2) else 0.5)
    + _curve([(18, 18), (25, 25)], _OTHER)
    + _curve([(25, 18), (18, 25)], _OTHER),
    "beyond_weights": _bars([0.8, 0.35, 0.55, 0.2], 2),
    "find": "".join(
        f'<circle cx="{x}" cy="{y}" r="3" fill="{_OTHER if x % 2 else _BRIGHT}"/>' for x, y in _MANY
    ),
}


def of_page(name: str) -> str:
    """Return the picture of a page's card, as a CSS image.

    Raises:
        KeyError: there is no such page.
    """
    drawn = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}">{_PICTURES[name]}</svg>'
    )
    return f"url('data:image/svg+xml,{quote(drawn)}')"
