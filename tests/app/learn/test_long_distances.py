"""The page on long distances without a browser."""

from statistics import median

import pytest

from attnviz.app.learn.long_distances.sections import TITLE
from attnviz.errors import ModelFilesDamaged
from attnviz.trained.translator import distance
from tests.app.shown import charts, try_page, visit


def test_the_chart_shows_medians_and_ranges_of_what_was_measured() -> None:
    lines, measured = charts(visit("long_distances"))[TITLE]["lines"], distance.read()
    for line, name in zip(lines, distance.NAMES, strict=True):
        shares = [
            [point.exact / measured.sentences * 100 for point in run.points] for run in measured.chosen(name)
        ]
        of_length = list(zip(*shares, strict=True))
        assert line["y"] == pytest.approx([median(some) for some in of_length], rel=1e-4)
        assert line["low"] == pytest.approx([min(some) for some in of_length], rel=1e-4)
        assert line["high"] == pytest.approx([max(some) for some in of_length], rel=1e-4)
        assert line["x"] == pytest.approx(measured.words, abs=0.05)


def test_missing_results_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> distance.Distances:
        raise ModelFilesDamaged("distances.json is missing or damaged.")

    monkeypatch.setattr(distance, "read", missing)
    assert "distances.json" in try_page("long_distances").error[0].value
