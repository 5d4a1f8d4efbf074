"""The lesson "Scaling by √d" without a browser: charts and tables show the computed values."""

import numpy as np
import pytest

from attnviz.app.lessons.scale import page, values
from attnviz.app.state.choices import VECTORS_SEED
from tests.app.shown import charts, press, sent, visit, words

LONG = "The dog did not cross the road as it was too tired. " * 30


@pytest.mark.parametrize("d", [1, 64])
def test_pictures_show_the_computed_values(d: int) -> None:
    app = visit("scale", d=str(d), vectors_seed="3")
    shown = charts(app)
    variances, standard_errors = values.variances(page.SIZES, page.NUM_PAIRS, 3)
    entropy, gradient = values.curves(page.SIZES, page.NUM_KEYS, page.NUM_ROWS, 3)
    row = values.row(d, 1024, page.NUM_KEYS, 3)
    entropies = [f"{softmax.entropy:.2f}" for softmax in (row.plain, row.scaled)]
    assert sent(app, "share_table")["measures"][0]["values"] == entropies
    theory, line = shown["The variance of q · k grows like d"]["lines"]
    assert theory["x"] == theory["y"] == line["x"] == list(page.SIZES)
    for name, errors in (("low", -2), ("y", 0), ("high", 2)):
        assert line[name] == pytest.approx(variances + errors * standard_errors, rel=1e-5)
    for what, (low, median, high) in (("Entropy", entropy), ("Gradient", gradient)):
        without, with_scale = shown[f"{what}: median and quartiles"]["lines"]
        for name, quartile in (("low", low), ("y", median), ("high", high)):
            assert [without[name], with_scale[name]] == [pytest.approx(each, rel=1e-5) for each in quartile]


def test_new_vectors_have_the_next_seed() -> None:
    app = visit("scale")
    before = words(app)
    press(app, "New random vectors")
    assert app.number_input(key="vectors_seed").value == VECTORS_SEED.default + 1
    assert words(app) != before
    assert words(visit("scale", vectors_seed=str(VECTORS_SEED.default + 1))) == words(app)
    app.number_input(key="vectors_seed").set_value(VECTORS_SEED.maximum).run()
    press(app, "New random vectors")
    assert app.number_input(key="vectors_seed").value == 0


def test_the_row_of_bert_has_the_weights_of_the_model() -> None:
    shown = words(visit("scale"))
    row = values.in_bert("The dog did not cross the road as it was too tired.", 3, 1, 9).row
    for softmax in (row.plain, row.scaled):
        assert f"{100 * softmax.weights.max():.2f} %" in shown


def test_a_long_row_lists_the_largest_weights() -> None:
    row = values.in_bert(LONG.strip(), 3, 1, 9).row
    keys = values.strongest_keys(row, page.MAX_KEYS)
    assert len(keys) == page.MAX_KEYS - 1
    assert keys == sorted(keys)
    rest = np.delete(row.scaled.weights, keys)
    assert row.scaled.weights[keys].min() >= rest.max()
