"""The two charts of a token's way through the layers: the numbers, the names, and which line stands out."""

import numpy as np
import pytest

from attnviz.figures.block import lengths, similarities

RANDOM = np.random.default_rng(0)


def test_three_lines_over_the_layers_told_apart_without_colour() -> None:
    given = RANDOM.uniform(1, 20, (3, 7)).astype(np.float32)
    lines = lengths(*given).data
    for line, values in zip(lines, given, strict=True):
        assert list(line.x) == [1, 2, 3, 4, 5, 6, 7]
        assert list(line.y) == values.tolist()
    assert len({(line.line.dash, line.marker.symbol) for line in lines}) == 3


def test_the_first_tokens_line_is_drawn_last_and_alone_stands_out() -> None:
    given = RANDOM.uniform(-0.2, 1, (5, 4)).astype(np.float32)
    names = ["it", "<b>", "$x$", "&amp;", "dog"]
    *others, chosen = similarities(given, names).data
    assert list(chosen.x) == [0, 1, 2, 3]
    assert list(chosen.y) == given[0].tolist()
    assert chosen.name == "it"
    assert [other.name for other in others] == ["&lt;b&gt;", "&#36;x&#36;", "&amp;amp;", "dog"]
    for other, values in zip(others, given[1:], strict=True):
        assert list(other.y) == values.tolist()
        assert other.line.width < chosen.line.width
        assert "markers" not in other.mode


@pytest.mark.parametrize("low", [-0.7, 0.3])
def test_no_point_lies_outside_of_the_chart(low: float) -> None:
    given = np.array([[1, 0.5], [1, low]], np.float32)
    bottom, top = similarities(given, ["a", "b"]).layout.yaxis.range
    assert bottom < min(low, 0)
    assert top > 1
