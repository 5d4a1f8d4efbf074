"""The curves about positions: what is drawn is what was given."""

import numpy as np

from attnviz.figures import positions

RANDOM = np.random.default_rng(0)


def test_the_encoding_is_drawn_row_by_row_and_its_tokens_are_named() -> None:
    encoding = RANDOM.uniform(-1, 1, (13, 6))
    figure = positions.encoding_picture(encoding, ["[CLS]", "<b>"], 1, 2)
    [cells] = figure.data
    assert np.array_equal(cells.z, encoding)
    assert list(cells.x) == [1, 2, 3, 4, 5, 6]
    assert (cells.zmin, cells.zmid, cells.zmax) == (-1, 0, 1)
    assert [cells.text[row][0] for row in range(3)] == [" ([CLS])", " (&lt;b&gt;)", ""]
    row, column = figure.layout.shapes
    assert (row.y0, row.y1) == (0.5, 1.5)
    assert (column.x0, column.x1) == (4.5, 6.5)
    assert 1 in figure.layout.yaxis.tickvals


def test_waves_have_a_marker_at_whole_positions_only() -> None:
    position = np.arange(17) / 8
    figure = positions.wave_picture(position, np.sin(position), np.cos(position), 0, 1, np.arange(5.0))
    sine, cosine, products = figure.data
    assert np.array_equal(sine.y, np.sin(position))
    assert np.array_equal(cosine.y, np.cos(position))
    assert [at for at, size in zip(sine.x, sine.marker.size, strict=True) if size] == [0, 1, 2]
    assert sine.line.dash != cosine.line.dash
    assert list(products.y) == [0, 1, 2, 3, 4]


def test_the_band_runs_from_the_least_to_the_most_alike() -> None:
    mean, low, high = RANDOM.uniform(size=(3, 7))
    most, least, middle = positions.table_picture(mean, low, high).data
    for trace, values in ((most, high), (least, low), (middle, mean)):
        assert np.array_equal(trace.y, values)
        assert list(trace.x) == list(range(7))
    assert least.fill == "tonexty"


def test_one_curve_for_each_start() -> None:
    scores = RANDOM.uniform(size=(3, 5))
    figure = positions.distance_picture(np.arange(-2, 3), scores, (0, 10, 20), -1)
    assert [trace.name for trace in figure.data] == ["query at 0", "query at 10", "query at 20"]
    assert all(np.array_equal(trace.y, line) for trace, line in zip(figure.data, scores, strict=True))
    assert len({(trace.mode, trace.marker.symbol) for trace in figure.data}) == 3
    assert figure.layout.shapes[0].x0 == -1


def test_the_turned_pair_stays_on_its_circle() -> None:
    angle = np.arange(5)
    turned = 3 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    circle, places, hand = positions.turning_picture(turned, ["a", "b", "$c$", "d", "e"], 3).data
    np.testing.assert_allclose(np.hypot(circle.x, circle.y), 3)
    assert np.array_equal(np.stack([places.x, places.y], axis=1), turned)
    assert places.customdata[2] == "2 (&#36;c&#36;)"
    assert list(places.text) == ["0", "1", "2", "3", "4"]
    assert [hand.x[1], hand.y[1]] == turned[3].tolist()


def test_each_head_has_a_line_and_the_chosen_one_is_thickest() -> None:
    lines = -np.outer([0.5, 0.25, 0.125], np.arange(4))
    figure = positions.bias_picture(lines, 1)
    assert [trace.name for trace in figure.data] == ["head 1", "head 2", "head 3"]
    assert all(np.array_equal(trace.y, line) for trace, line in zip(figure.data, lines, strict=True))
    widths = [trace.line.width for trace in figure.data]
    assert int(np.argmax(widths)) == 1
