import json

import numpy as np
import plotly.graph_objects as go

from attnviz.figures.scale import softmax_figure, variance_figure

SIZES = (1, 2, 4, 8)
MEASURED = np.array([1.1, 1.9, 4.2, 7.5], dtype=np.float32)
ERRORS = np.array([0.2, 0.3, 0.5, 0.9], dtype=np.float32)
CURVES = np.arange(8, dtype=np.float32).reshape(2, 4)


def marked(figure: go.Figure) -> set[float]:
    return {line.x0 for line in figure.layout.shapes}


def test_measurements_lie_over_the_line_of_theory() -> None:
    figure = variance_figure(SIZES, MEASURED, ERRORS, 4)
    theory, measured = figure.data
    assert list(theory.x) == list(theory.y) == list(SIZES)
    assert list(measured.x) == list(SIZES)
    np.testing.assert_array_equal(measured.y, MEASURED)
    np.testing.assert_allclose(measured.error_y.array, 2 * ERRORS)
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"


def test_the_chosen_size_stands_out_by_more_than_colour() -> None:
    figure = variance_figure(SIZES, MEASURED, ERRORS, 4)
    assert figure.data[1].marker.symbol == ("circle", "circle", "diamond", "circle")
    assert marked(figure) == {4}
    assert marked(softmax_figure(SIZES, CURVES, CURVES, 2)) == {2}


def test_lines_with_and_without_the_scale_differ_by_dash_and_marker() -> None:
    figure = softmax_figure(SIZES, CURVES, CURVES + np.float32(10), 2)
    np.testing.assert_array_equal([line.y for line in figure.data], [*CURVES, *(10 + CURVES)])
    assert [line.xaxis for line in figure.data] == ["x", "x", "x2", "x2"]
    without, with_it = figure.data[:2]
    assert without.line.dash != with_it.line.dash
    assert without.marker.symbol != with_it.marker.symbol
    assert [line.showlegend for line in figure.data] == [True, True, False, False]


def test_the_page_gives_the_colours_of_text_and_ground() -> None:
    for figure in (
        variance_figure(SIZES, MEASURED, ERRORS, 1),
        softmax_figure(SIZES, CURVES, CURVES, 1),
    ):
        layout = json.loads(figure.to_json())["layout"]
        assert "paper_bgcolor" not in layout
        assert "font" not in layout
