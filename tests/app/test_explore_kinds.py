"""Explore with a translator: its three kinds of attention, its two texts, and what it cannot read."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.app.examples import TRANSLATED
from attnviz.app.explore.choices import Heads
from attnviz.app.explore.saving import csv_of
from attnviz.app.explore.views import View
from attnviz.app.models import lookup
from attnviz.capture.model import ModelInput
from attnviz.text import percent
from attnviz.trace import Kind, Trace
from tests.app.shown import (
    clean,
    labels,
    row_of_buttons,
    sent,
    try_page,
    visit,
    warnings,
    words,
    worked_weights,
)
from tests.head_table import read_head_table

MODEL = "translator"
TIRED, NARROW = TRANSLATED[0].text, TRANSLATED[0].other
KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")


@pytest.fixture(scope="module")
def tired() -> Trace:
    return attnviz.trace(TIRED, model=MODEL)


def explore(**choices: str) -> AppTest:
    return visit("explore", {"model": MODEL, "text": TIRED, **choices})


def query_of(app: AppTest) -> str:
    return str(app.selectbox(key="query").value).split(" ", 1)[1]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_and_columns_are_the_tokens_of_their_own_texts(tired: Trace, kind: Kind) -> None:
    app = explore(kind=kind, layer="1", head="3", **({} if kind == "encoder" else {"query": "2 le"}))
    assert not app.warning
    block, head = tired.block(kind, 0), sent(app, "head_view")
    assert labels(head["query_tokens"]) == [token.text for token in block.query_tokens]
    assert labels(head["key_tokens"]) == [token.text for token in block.key_tokens]
    assert (head["layer"], head["heads"], head["heads_total"]) == (1, [3], 4)
    assert f"{kind} head 1-3" in head["caption"]
    assert (str(tired.target) in head["caption"]) == (kind != "encoder")
    assert f"**{tired.target}**" in words(app)
    row = block.weights[2, head["query"]]
    key = int(row.argmax())
    assert worked_weights(app) == [percent(float(row[key]), 1)]
    ranked = tired.stack(kind)[:, :, head["query"], key]
    layer, number = np.unravel_index(ranked.argmax(), ranked.shape)
    best = f"{layer + 1}-{number + 1} · {percent(float(ranked.max()))}"
    assert row_of_buttons(app, "ranking").options[0] == best


def test_a_kind_or_a_layer_that_is_not_there_gives_way_and_is_told() -> None:
    app = visit("explore", kind="cross")
    assert "kind" not in [control.key for control in app.segmented_control]
    assert "`kind`" in warnings(app)
    app = explore(kind="cross", layer="2", head="9")
    assert sent(app, "head_view")["layer"] == 1
    assert [name in app.warning[0].value for name in ("`layer`", "`head`")] == [True, True]


def test_an_unknown_word_is_named_and_nothing_is_lost() -> None:
    text = "The zebra did not cross the road as it was too tired."
    app = try_page("explore", model=MODEL, text=text, kind="cross")
    assert "zebra" in app.error[0].value
    assert app.text_input(key="text").value == text
    clean(app.text_input(key="text").set_value(TIRED).run())
    assert app.segmented_control(key="kind").value == "cross"
    clean(app.text_input(key="other").set_value("The zebra slept.").run())
    assert "zebra" in app.warning[0].value
    assert sent(app, "head_view")["unit"] == "percent"  # the first sentence stays on show


@pytest.mark.parametrize("hide", [False, True])
def test_the_table_has_french_rows_and_english_columns_and_no_number_behind_the_mask(
    tired: Trace, hide: bool
) -> None:
    def table(kind: Kind) -> tuple[dict[str, str], list[list[str]]]:
        view = View(lookup.entry(MODEL), kind, ModelInput(TIRED), None, "weights", "shared", hide, False)
        return read_head_table(csv_of(view, Heads(1, 2, ())))

    facts, rows = table("cross")
    block = tired.block("cross", 0)
    kept = [
        [not (hide and token.special) for token in side] for side in (block.query_tokens, block.key_tokens)
    ]
    assert (facts["attention"], facts["second text"]) == ("cross", tired.target)
    names = [f"{n}:{t.text}" for n, (t, k) in enumerate(zip(block.key_tokens, kept[1], strict=True), 1) if k]
    assert rows[0][1:] == [*names, *["hidden: [END]"] * hide]
    numbers = np.array([[float(cell) for cell in row[1:]] for row in rows[1:]])
    weights = block.weights[1][np.ix_(*kept)]
    left = weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(numbers[:, : len(names)], weights / left, rtol=1e-5)
    np.testing.assert_allclose(numbers[:, len(names) :], (1 - left)[:, : int(hide)], atol=1e-5)
    _, rows = table("decoder")
    written = np.array([[cell != "" for cell in row[1 : len(row) - hide]] for row in rows[1:]])
    assert np.array_equal(written, np.tri(len(written), dtype=bool))


def test_every_example_is_one_that_the_translator_can_read() -> None:
    app = explore()
    for example in TRANSLATED:
        clean(row_of_buttons(app, "example").set_value(example.name).run())
        assert not app.warning
        assert app.text_input(key="text").value == example.text
        assert query_of(app) == example.query
