"""A tally as rows: every number in its place, worked by hand."""

import math

from attnviz.analysis.tally import NAMES, RULES, Tally
from attnviz.analysis.tally_rows import rows

LAYERS, HEADS = 2, 3


def test_every_number_stands_in_its_row() -> None:
    tally = Tally.nothing(LAYERS, HEADS)
    rule = NAMES.index("distance")
    tally.count[rule] = 2, 4
    tally.total[rule] = [[2, 4, 6], [8, 12, 16]]
    tally.squares[rule] = [[2, 10, 18], [16, 52, 64]]  # scores of 1 and 1, of 1 and 3, of 3 and 3, …
    tally.even[rule] = 5, 6
    found = list(rows(tally))
    assert [(row.layer, row.head) for row in found] == [
        *((layer, head) for layer in (1, 2) for head in (1, 2, 3))
    ] * len(RULES)
    assert [row.rule for row in found[:: LAYERS * HEADS]] == list(RULES)
    assert [row[3:] for row in found if row.rule.name == "distance"] == [
        *((2, 1, 0, 2.5), (2, 2, 1, 2.5), (2, 3, 0, 2.5)),
        *((4, 2, 0, 1.5), (4, 3, 2, 1.5), (4, 4, 0, 1.5)),
    ]
    others = [row for row in found if row.rule.name != "distance"]
    assert all(row.sentences == 0 and math.isnan(row.mean + row.deviation + row.even) for row in others)
