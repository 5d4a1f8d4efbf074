"""The lesson "Masks" without a browser: masks from links, edited cells, and invalid values."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.examples import OPENING
from attnviz.app.lessons import compute
from attnviz.app.lessons.masks import values
from attnviz.app.lessons.masks.values import MaskChoice
from attnviz.text import percent, scientific
from attnviz.trace import Floats, Mask
from tests.app.shown import clean, message_to, open_page, page_text, stored_arrays, visit

IT = 9  # the position of "it" in the opening sentence
LAYER, HEAD = 3, 1  # counted from 0


def drawn_weights(app: AppTest) -> Floats:
    """Return the drawn weights with the mask as [query, key]; NaN where masked."""
    weights: Floats = stored_arrays(app, "weights masked exact")["values"][0]
    return weights


def assert_drawn(app: AppTest, mask: Mask, weights: Floats) -> None:
    shown = drawn_weights(app)
    assert (np.isfinite(shown) == mask).all()
    assert shown[mask] == pytest.approx(weights[mask], abs=1e-6)


@pytest.mark.parametrize(
    ("link", "choice"),
    [
        ({}, MaskChoice("causal")),
        ({"mask": "none"}, MaskChoice("none")),
        ({"mask": "padding", "mask_size": "2"}, MaskChoice("padding", 2)),
        ({"mask": "prefix", "mask_size": "5"}, MaskChoice("prefix", 5)),
        ({"mask": "window", "mask_size": "1", "mask_after": "4"}, MaskChoice("window", 1, 4)),
    ],
)
def test_model_runs_with_the_mask_of_the_link(link: dict[str, str], choice: MaskChoice) -> None:
    app = visit("masks", link)
    assert not app.warning
    run = values.masked_run(OPENING.text, choice, HEAD)
    picture = message_to(app, "head_view")
    assert picture["query"] == IT
    assert len(picture["query_tokens"]) == len(run.tokens)
    assert run.after is not None
    assert_drawn(app, run.mask, run.after[LAYER])
    if choice.pads:
        alone = values.weights(compute.tokens(OPENING.text), None, HEAD)
        assert scientific(float(np.abs(run.after[:, :15, :15] - alone).max())) in page_text(app)


@pytest.mark.parametrize("query", ["1 [CLS]", "10 it", "15 [SEP]"])
def test_correct_option_is_the_weight_of_layer_1_with_the_mask(query: str) -> None:
    app = visit("masks", query=query)
    row = values.renormalized(OPENING.text, HEAD, int(query.split(maxsplit=1)[0]) - 1)
    if query == "15 [SEP]":  # the mask changes nothing for the last token; the options still differ
        assert row.after == pytest.approx(row.before)
    question = app.button_group(key="guess_masks")
    assert "**Yes.**" in page_text(question.set_value(percent(row.after, 1)).run())


def test_edited_cells_are_dropped_with_their_sentence() -> None:
    app = visit("masks", mask="window", mask_size="2", mask_after="0", cells=["10>3", "1>15"])
    mask = values.build_mask(MaskChoice("window", 2, 0), 15).copy()
    mask[[9, 0], [2, 14]] ^= True
    assert_drawn(app, mask, values.weights(compute.tokens(OPENING.text), mask, HEAD)[LAYER])
    clean(app.text_input(key="text").set_value("Why not?").run())
    assert not app.multiselect(key="cells").value


@pytest.mark.parametrize("cell", ["rubbish", "10>16", "0>3"])
def test_invalid_cell_is_reported(cell: str) -> None:
    app = visit("masks", cells=cell)
    assert cell in app.warning[0].value.replace("\\", "")
    assert_drawn(
        app,
        causal := np.tri(15, dtype=bool),
        values.weights(compute.tokens(OPENING.text), causal, HEAD)[LAYER],
    )


def test_fully_masked_row_is_refused() -> None:
    app = open_page("masks", cells="1>1")
    assert "`[CLS]`" in app.error[0].value
    assert message_to(app, "head_view")["heading"] == "Without a mask"


def test_mask_size_is_limited_by_the_sentence() -> None:
    app = visit("masks", mask="prefix", mask_size="15")
    app.text_input(key="text").set_value("Why not?").run()
    assert app.number_input(key="mask_size").value == 5


def test_outputs_are_listed_with_their_distances() -> None:
    shown = page_text(visit("masks"))
    found = values.reach(OPENING.text, OPENING.text.replace("tired", "narrow"))
    tokens = [each.text for each in compute.tokens(OPENING.text)]
    assert f"| `{tokens[1]}` | {found.encoder.distance[1]:.3f} | = |" in shown
    assert f"| `tired` → `narrow` | {found.encoder.distance[12]:.3f} |" in shown


def test_link_sets_the_language() -> None:
    english, french = visit("masks", mask="window"), visit("masks", language="fr", mask="window")
    assert not french.warning
    assert np.array_equal(drawn_weights(english), drawn_weights(french), equal_nan=True)
    assert french.title[0].value == "5 · Masques"
