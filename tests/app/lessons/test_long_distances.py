"""The lesson "Long distances" without a browser: chart and table show the stored results."""

from statistics import median

import pytest

from attnviz.app.lessons.document import document
from attnviz.trained.translator import distance
from tests.app.shown import charts, visit

LESSON = document("long_distances")


def percent_correct(name: distance.Name) -> list[list[float]]:
    """Return the percentages of correct translations, [distance][seed]."""
    stored = distance.read()
    shares = [[100 * exact / stored.sentences for exact in run.exact] for run in stored.chosen(name)]
    return [list(by_distance) for by_distance in zip(*shares, strict=True)]


def test_chart_shows_medians_ranges_and_the_end_of_training() -> None:
    chart, stored = charts(visit("long_distances"))[LESSON.label("title")], distance.read()
    *lines, beyond = chart["lines"]
    for line, name in zip(lines, distance.NAMES, strict=True):
        for numbers, statistic in (("y", median), ("low", min), ("high", max)):
            assert line[numbers] == pytest.approx(
                [statistic(shares) for shares in percent_correct(name)], rel=1e-4
            )
        assert line["x"] == pytest.approx(stored.words, abs=0.05)
    assert chart["marked"] == beyond["x"][0] == lines[0]["x"][stored.max_trained_clauses]


def test_correct_option_is_the_network_that_loses_most() -> None:
    stored = distance.read()
    lost = {}
    for name in distance.NAMES:
        by_distance = percent_correct(name)
        lost[LESSON.label(name)] = median(by_distance[0]) - median(by_distance[stored.max_trained_clauses])
    shares = {name: [1.0, 1.0, 1.0] for name in distance.NAMES}
    assert LESSON.predict(words=[1.0, 2.0, 3.0], **shares).correct == max(lost, key=lambda name: lost[name])
