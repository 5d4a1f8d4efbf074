"""First, second and difference side by side, on one grid of words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attnviz.analysis.aligned import Place
from attnviz.analysis.display_tokens import DisplayToken
from attnviz.analysis.picture import HIGHEST, MASKED, ZERO, Levels, sequential
from attnviz.app import caches
from attnviz.app.components import store
from attnviz.app.heads.compare.aligned_matrices import Row, aligned_matrices
from attnviz.app.heads.compare.compared import Aligned, Comparison
from attnviz.app.saving import file_name_of
from attnviz.app.state.choices import QUERY
from attnviz.trace import Floats
from attnviz.widgets.tokens import shown_tokens

SIGNS = (
    "Colours follow the square root, so that small numbers show: half the colour is a quarter of the number. "
    "− and +: a word that only the first or only the second has; hatched: nothing to compare, or masked. "
    "pp: percentage points. The pieces of a word are shown as one."
)

_CAPTION = 300  # characters of a sentence that a caption has room for
_LEAST_SEEN = 5e-4  # a smaller change reads "0.0 pp"


def draw(
    grid: Aligned,
    first: Floats,
    second: Floats,
    titles: Sequence[str],
    sides: tuple[str, str],
    high: float,
    row: int,
    note: str,
    compared: Comparison,
) -> None:
    """Draw the three matrices; a click on a row chooses its word.

    Args:
        grid: the aligned words.
        first, second: the weights of each side, [row, column]; NaN where there is none.
        titles: what stands above the three.
        sides: what sentences call the first and the second.
        high: where the colours of the difference end.
        row: the chosen one of the rows.
        note: what the colours mean.
        compared: what is compared, for the saved files.
    """
    difference = np.subtract(second, first, dtype=np.float32)
    if high < _LEAST_SEEN:
        high = 1.0  # what is left by rounding is not to look like a change
    levels = np.stack([*(_weights(side) for side in (first, second)), _signed(difference, high)])
    pixels = store.publish("compared", {"levels": levels, "values": np.stack([first, second, difference])})
    aligned_matrices(
        "matrices",
        pixels=pixels,
        pictures=[
            {"title": titles[0], "kind": "sequential", "high": 1.0},
            {"title": titles[1], "kind": "sequential", "high": 1.0},
            {"title": titles[2], "kind": "diverging", "high": high},
        ],
        sides=sides,
        rows=_named(grid.queries, grid.rows),
        columns=_named(grid.keys, grid.columns),
        row=row,
        note=note,
        caption=_caption(compared),
        filename=_filename(compared),
        on_pick=lambda picked: QUERY.pick(grid.queries[picked]),
    )


def _caption(compared: Comparison) -> str:
    """What pictures that leave the page must say about themselves."""
    first, second = (
        f"“{text if len(text) <= _CAPTION else text[:_CAPTION] + '…'}”"
        for text in (compared.first.given.text, compared.second.given.text)
    )
    return first if compared.two_models else f"{first} → {second} · {caches.called(compared.first.model)}"


def _filename(compared: Comparison) -> str:
    begin = file_name_of(compared.first.model)
    if not compared.two_models:
        return f"{begin}-two-sentences"
    return f"{begin}-and-{file_name_of(compared.second.model).removeprefix('attnviz-')}"


def _weights(side: Floats) -> Levels:
    return sequential(np.nan_to_num(side), mask=np.isfinite(side)).levels


def _signed(difference: Floats, high: float) -> Levels:
    """Levels that grow with the square root, as those of the weights do."""
    known = np.isfinite(difference)
    shares = np.clip(np.nan_to_num(difference) / high, -1, 1)
    cells = np.sign(shares) * np.sqrt(np.abs(shares)) * ZERO + ZERO
    return np.where(known, np.clip(np.rint(cells), 0, HIGHEST), MASKED).astype(np.uint8)


def _named(groups: Sequence[DisplayToken], places: Sequence[Place]) -> list[Row]:
    return [
        {**token, "only": "" if place.shared else "second" if place.first is None else "first"}
        for token, place in zip(shown_tokens(groups), places, strict=True)
    ]
