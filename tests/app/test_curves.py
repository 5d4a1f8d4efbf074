"""Line charts: the numbers that are drawn, the ticks, and the marks of each line."""

from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from tests.app.shown import charts


def drawn(script: Any) -> dict[str, Any]:
    app = AppTest.from_function(script).run()
    assert not app.exception
    [chart] = charts(app).values()
    return chart


def test_numbers_are_drawn_and_one_that_is_missing_is_left_out() -> None:
    def page() -> None:
        from attnviz.app.components.curves import Axis, Line, curves

        line = Line("<b>it</b>", [1, 2, 3], [0.5, float("nan"), 1 / 3], marker="circle")
        curves("chart", [line], title="Title", across=Axis("layer"), up=Axis("cosine"), alt="It falls.")

    chart = drawn(page)
    [line] = chart["lines"]
    assert line["label"] == "<b>it</b>"
    assert line["x"] == [1, 2, 3]
    assert line["y"] == [0.5, None, 0.333333]
    assert chart["alt"] == "Title. It falls."


def test_a_logarithmic_axis_has_a_tick_at_each_power() -> None:
    from attnviz.app.components.curves import Axis, _axis

    channel = _axis(Axis("d", log=2), [[1, 2, 5], np.array([32])])
    assert channel["scale"] == {"type": "log", "base": 2}
    assert channel["axis"]["values"] == [1, 2, 4, 8, 16, 32]
    assert _axis(Axis("layer"), [[1, 2]])["axis"] == {"tickMinStep": 1}
    assert "axis" not in _axis(Axis("loss"), [[0.5, 2]])
