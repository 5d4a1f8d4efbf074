import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attnviz.analysis.picture import Kind, Levels, Scale, diverging, sequential, thumbnails
from attnviz.trace import Floats

SHAPE = (2, 3, 5, 7)
SCALES: tuple[Scale, ...] = ("shared", "per head")
signed_strategy = arrays(np.float32, SHAPE, elements=st.floats(-50, 50, width=32))
levels_strategy = arrays(np.uint8, st.tuples(st.integers(1, 3), st.integers(1, 23), st.integers(1, 23)))


def test_levels_of_weights_and_changes() -> None:
    weights = np.array([[[0, 0.25, 1.0]], [[0, 0.0625, 0.25]]], dtype=np.float32)
    shared, per_head = sequential(weights), sequential(weights, "per head")
    assert shared.levels.tolist() == [[[0, 127, 254]], [[0, 64, 127]]]  # 254·√0.0625 = 63.5, rounded up
    assert per_head.levels.tolist() == [[[0, 127, 254]], [[0, 127, 254]]]
    assert (shared.high.tolist(), per_head.high.tolist()) == ([1, 1], [1, 0.25])
    changes = np.array([[[0, -0.5, 0.25]], [[0, -1.0, 0.5]]], dtype=np.float32)
    shared, per_head = diverging(changes), diverging(changes, "per head")
    # 127 − 127·√0.5 = 37.2, 127 + 127·√0.25 = 190.5, 127 + 127·√0.5 = 216.8
    assert shared.levels.tolist() == [[[127, 37, 191]], [[127, 0, 217]]]
    assert per_head.levels.tolist() == [[[127, 0, 217]], [[127, 0, 217]]]
    assert (shared.high.tolist(), per_head.high.tolist()) == ([1, 1], [0.5, 1])
    ends = diverging(changes, end=0.25)  # larger values are clipped
    assert ends.levels.tolist() == [[[127, 0, 254]], [[127, 0, 254]]]
    assert ends.high.tolist() == [0.25, 0.25]


def test_masked_cells_have_level_255_and_do_not_affect_the_scale() -> None:
    mask = np.array([[True, False], [True, True]])
    assert sequential(np.full((3, 2, 2), 0.25, np.float32), mask=mask).levels[2].tolist() == [
        [127, 255],
        [127, 127],
    ]
    scores = np.array([[[2.0, 100.0], [-4.0, 0.0]]], dtype=np.float32)
    picture = diverging(scores, mask=mask)
    assert picture.levels.tolist() == [[[217, 255], [0, 127]]]
    assert picture.high.tolist() == [4]
    for gap in (-np.inf, np.nan):
        gaps = np.where(mask, scores, gap).astype(np.float32)
        assert np.array_equal(diverging(gaps).levels, picture.levels)


@pytest.mark.parametrize("scale", SCALES)
@given(values=signed_strategy)
def test_levels_are_exact_within_half_a_level(scale: Scale, values: Floats) -> None:
    for draw, drawn, middle in (
        (sequential, np.asarray(abs(values) / 50, np.float32), 0),
        (diverging, values, 127),
    ):
        picture = draw(drawn, scale)
        assert picture.levels.max() <= 254
        for index in np.ndindex(SHAPE):
            part = drawn[index] / float(picture.high[index[:2]])
            exact = middle + (254 - middle) * np.sign(part) * abs(part) ** 0.5
            assert abs(exact - picture.levels[index]) <= 0.5001


def blocks(length: int, size: int) -> list[range]:
    count = min(length, size)
    return [range(n * length // count, (n + 1) * length // count) for n in range(count)]


def strongest(cells: Levels, kind: Kind) -> int:
    """Return the strongest level of a block, computed in plain Python."""
    visible = [int(level) for level in cells.ravel() if level != 255]
    if not visible:
        return 255
    return max(visible) if kind == "sequential" else max(visible, key=lambda level: (abs(level - 127), level))


@pytest.mark.parametrize("kind", ["sequential", "diverging"])
@given(levels=levels_strategy, size=st.integers(1, 9))
def test_thumbnails_keep_the_strongest_level_of_each_block(kind: Kind, levels: Levels, size: int) -> None:
    small = thumbnails(levels, kind, size)
    rows, columns = blocks(levels.shape[1], size), blocks(levels.shape[2], size)
    assert small.dtype == np.uint8
    assert small.shape == (len(levels), len(rows), len(columns))
    for head, i, j in np.ndindex(small.shape):
        cells = levels[head][np.ix_(rows[i], columns[j])]
        assert small[head, i, j] == strongest(cells, kind)
