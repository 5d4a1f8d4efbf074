"""Views of long texts: blocks are maxima, and windows stay inside the text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.analysis import window as module
from attnviz.analysis.window import (
    THRESHOLDS,
    Window,
    hidden_shares,
    line_places,
    next_match,
    rows_of,
    strongest_values,
    summary,
)
from attnviz.trace import Block
from tests.export.report.small_traces import block, tokens

counts = st.integers(1, 5000)
anywhere = st.integers(-9000, 9000)


def causal() -> Block:
    words = tokens(" ".join(f"w{n}" for n in range(23)))
    return block("decoder", 0, words, words, mask=np.tri(23, dtype=np.bool_))


def expected_blocks(values: np.ndarray, size: int) -> np.ndarray:
    rows, columns = (range(0, length, size) for length in values.shape)
    cells = [[values[i : i + size, j : j + size] for j in columns] for i in rows]
    return np.array([[np.nan if np.isnan(c).all() else np.nanmax(c) for c in row] for row in cells])


@pytest.mark.parametrize("size", [1, 2, 5, 30])
def test_block_is_its_largest_weight(size: int) -> None:
    weights = rows_of(causal(), 1, range(23))
    assert np.isnan(weights[3, 4:]).all()
    assert weights[3, :4].tolist() == causal().weights[1, 3, :4].tolist()
    np.testing.assert_array_equal(strongest_values(weights, size), expected_blocks(weights, size))


def test_block_of_differences_is_its_largest_absolute_value() -> None:
    values = np.array([[0.1, -0.4], [0.3, np.nan]], np.float32)
    assert strongest_values(values, 2).tolist() == [[np.float32(-0.4)]]


def test_summary_equals_one_pass_over_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CELLS", 8)
    monkeypatch.setattr(module, "TILE", 100)  # a few rows at a time
    weights = rows_of(causal(), 2, range(23))
    found = summary(causal(), 2)
    np.testing.assert_array_equal(found.blocks, expected_blocks(weights, 3))
    present = weights[np.isfinite(weights)]
    expected = [present[present < least].sum() / present.sum() for least in THRESHOLDS]
    assert expected[-1] > 0.1
    np.testing.assert_allclose(found.hidden, expected, rtol=1e-5)
    np.testing.assert_allclose(hidden_shares(weights), expected, rtol=1e-5)


@given(row=anywhere, column=anywhere, span=anywhere, queries=counts, keys=counts)
def test_window_lies_inside_its_text(row: int, column: int, span: int, queries: int, keys: int) -> None:
    found = Window(row, column, span).fitted(queries, keys)
    rows, columns = found.ranges(queries, keys)
    assert len(columns) == min(found.span, keys)
    assert len(rows) == min(found.span, queries)
    assert -(-len(rows) // found.block) <= module.MAX_CELLS
    assert found.fitted(queries, keys) == found


def test_lines_show_tokens_near_the_selected_one_and_its_top_keys() -> None:
    rows, columns = line_places(20, [3, 900, 20], 1000, 1000)
    assert rows == [*range(8, 33)]
    assert columns == [3, *range(8, 33), 900]
    assert line_places(0, [], 5, 4) == ([*range(5)], [*range(4)])


def test_search_wraps_around() -> None:
    places = [3, 7, 9]
    assert [next_match(places, at, 1) for at in (-1, 3, 8, 9)] == [3, 7, 9, 3]
    assert [next_match(places, at, -1) for at in (-1, 3, 8, 9)] == [9, 9, 7, 7]
    assert next_match([], 4, 1) is None
