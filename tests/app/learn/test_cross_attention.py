"""The page on cross-attention without a browser: its sentences say what compute returns."""

import numpy as np

from attnviz.app.learn.cross_attention.compute import cross
from attnviz.app.learn.cross_attention.sections import ITSELF, OPENING_READER
from tests.app.shown import visit, words

SOURCE = "The dog did not cross the road as it was too tired."
HOUND = 2


def test_the_picture_and_one_number_of_the_output_are_told() -> None:
    app, found = visit("cross_attention"), cross(OPENING_READER, SOURCE, 6)
    told = words(app)
    assert "`hound` reads `dog` **79 %**. The other 14 tokens share 21 %." in told
    assert "13 readers × 15 sources" in [header.value for header in app.header]
    totals = found.weights[0].sum(axis=0)
    assert f"`dog` gets {100 * totals.max():.0f} % in all, `as` {100 * totals.min():.0f} %" in told
    (line,) = [str(latex.value) for latex in app.latex if "o_1" in str(latex.value)]
    weights, values = found.weights[0, HOUND], found.value[0, :, 0]
    order = np.argsort(-weights, kind="stable")
    factors = [number for key in order[:3] for number in (weights[key], values[key])]
    for number in (*factors, weights[order[3:]] @ values[order[3:]], weights @ values):
        assert f"{number:.3f}" in line


def test_another_token_reads() -> None:
    assert "`street` reads `road` **73 %**." in words(visit("cross_attention", reads="11 street"))


def test_vectors_before_the_first_layer() -> None:
    share = 100 * cross(OPENING_READER, SOURCE, 0).weights[0, HOUND].max()
    assert f"`hound` reads `dog` **{share:.0f} %**" in words(visit("cross_attention", vectors="0"))


def test_reading_itself_is_square() -> None:
    app = visit("cross_attention", cross_reads=ITSELF)
    assert "13 × 13, a row for each reader, a column for each source: square" in words(app)
    share = 100 * cross(OPENING_READER, OPENING_READER, 6).weights[0, HOUND].max()
    assert f"`hound` reads `hound` **{share:.0f} %**" in words(app)
