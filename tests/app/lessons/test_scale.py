"""The lesson "Scaling by √d" without a browser: charts and tables show the computed values."""

import pytest

from attnviz.app.lessons.scale import page, values
from attnviz.app.state.choices import VECTORS_SEED
from attnviz.text import decimal
from tests.app.shown import charts, message_to, page_text, press, visit


@pytest.mark.parametrize("d", [1, 64])
def test_charts_and_tables_show_the_computed_values(d: int) -> None:
    app = visit("scale", d=str(d), vectors_seed="3")
    shown = charts(app)
    variances, standard_errors = values.variances(page.SIZES, page.NUM_PAIRS, 3)
    row = values.row(d, 1024, page.NUM_KEYS, 3)
    entropies = [f"{softmax.entropy:.2f}" for softmax in (row.plain, row.scaled)]
    assert message_to(app, "share_table")["measures"][0]["values"] == entropies
    theory, line = shown["The variance of q · k grows like d"]["lines"]
    assert theory["x"] == theory["y"] == line["x"] == list(page.SIZES)
    for name, errors in (("low", -2), ("y", 0), ("high", 2)):
        assert line[name] == pytest.approx(variances + errors * standard_errors, rel=1e-5)
    for softmax in (row.plain, row.scaled):
        assert decimal(softmax.gradient, 4) in page_text(app)


def test_button_for_new_vectors_increments_the_seed() -> None:
    app = visit("scale")
    before = page_text(app)
    press(app, "New random vectors")
    assert app.number_input(key="vectors_seed").value == VECTORS_SEED.default + 1
    assert page_text(app) != before
    assert page_text(visit("scale", vectors_seed=str(VECTORS_SEED.default + 1))) == page_text(app)
    app.number_input(key="vectors_seed").set_value(VECTORS_SEED.maximum).run()
    press(app, "New random vectors")
    assert app.number_input(key="vectors_seed").value == 0
