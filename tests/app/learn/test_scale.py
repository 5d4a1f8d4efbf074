"""The page "Why divide by √d?" without a browser: its sentences and charts say what compute returns."""

import numpy as np
import pytest

from attnviz.app.learn.scale import compute, sections
from attnviz.app.state.choices import VECTORS_SEED
from tests.app.shown import charts, press, sent, visit, words

LONG = "The dog did not cross the road as it was too tired. " * 30


@pytest.mark.parametrize("d", [1, 64])
def test_the_picture_and_the_charts_show_what_was_computed(d: int) -> None:
    app = visit("scale", d=str(d), vectors_seed="3")
    told, shown = words(app), charts(app)
    variances, standard_errors = compute.variances(sections.SIZES, sections.DRAWS, 3)
    entropy, gradient = compute.curves(sections.SIZES, sections.KEYS, sections.ROWS, 3)
    row = compute.row(d, 1024, sections.KEYS, 3)
    measured = variances[sections.SIZES.index(d)]
    assert f"At $d$ = **{d}** the variance is **{measured:.2f}** (theory: {d} ± " in told
    assert f"key {row.plain.weights.argmax() + 1} gets **" in told
    entropies = [f"{softmax.entropy:.2f}" for softmax in (row.plain, row.scaled)]
    assert sent(app, "share_table")["measures"][0]["values"] == entropies
    theory, line = shown["The variance of q · k grows like d"]["lines"]
    assert theory["x"] == theory["y"] == line["x"] == list(sections.SIZES)
    for name, errors in (("low", -2), ("y", 0), ("high", 2)):
        assert line[name] == pytest.approx(variances + errors * standard_errors, rel=1e-5)
    for what, (low, median, high) in (("Entropy", entropy), ("Gradient", gradient)):
        without, with_it = shown[f"{what}: median and quartiles"]["lines"]
        for name, values in (("low", low), ("y", median), ("high", high)):
            assert [without[name], with_it[name]] == [pytest.approx(row, rel=1e-5) for row in values]


def test_the_gradient_in_words_says_where_the_medians_cross() -> None:
    sizes = len(sections.SIZES)
    gradient = np.empty((3, 2, sizes), np.float32)
    gradient[:, 1] = [[0.25], [0.375], [0.5]]
    gradient[:, 0] = np.array([0.125, 0.25, 2])[:, None]
    gradient[1, 0, :6] = [0.25, 0.5, 0.75, 1, 0.875, 0.375]  # not smaller at d = 32, and smaller from 64 on
    told = sections.gradient_in_words(gradient, 8)
    assert "from 0.125 to 2.000 (median **1.000**) **without**" in told
    assert "from 0.250 to 0.500 (median **0.375**) **with**" in told
    assert "grows until $d$ = 8, then shrinks: from 64 on it is below the other, and falls to 0.250" in told


def test_draw_again_draws_other_numbers_and_the_seed_says_which() -> None:
    app = visit("scale")
    before = words(app)
    press(app, "Draw again")
    assert app.number_input(key="vectors_seed").value == sections.FIRST_SEED + 1
    assert words(app) != before
    assert words(visit("scale", vectors_seed=str(sections.FIRST_SEED + 1))) == words(app)
    app.number_input(key="vectors_seed").set_value(VECTORS_SEED.most).run()
    press(app, "Draw again")
    assert app.number_input(key="vectors_seed").value == 0  # the last one is followed by the first


def test_the_real_row_names_the_token_that_takes_everything() -> None:
    told = words(visit("scale"))
    assert "`it` would give `dog` **99.99 %**" in told
    assert "`dog` gets **65.8 %**" in told


def test_of_a_long_sentence_the_strongest_keys_are_listed_and_the_rest_summed() -> None:
    found = compute.in_bert(LONG.strip(), 3, 1, 9)
    keys = sections.listed(found.row, [token.text for token in found.tokens])
    assert len(keys) == sections.MOST_SHOWN
    assert keys[-1]["label"] == f"{len(found.tokens) - sections.MOST_SHOWN + 1} others"
    assert np.sum([key["shares"] for key in keys], axis=0) == pytest.approx([1, 1], abs=1e-4)
    places = [int(key["place"]) for key in keys[:-1]]
    assert places == sorted(places)
    assert int(found.row.scaled.weights.argmax()) + 1 in places
