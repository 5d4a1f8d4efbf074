"""Explore with a translator: three kinds of attention, two texts, and unknown words."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.app.examples import TRANSLATED
from attnviz.text import percent
from attnviz.trace import Kind, Trace
from tests.app.shown import (
    button_row,
    clean,
    explained_weights,
    labels,
    message_to,
    open_page,
    page_text,
    visit,
    warnings,
)

MODEL = "translator"
TIRED, NARROW = TRANSLATED[0].text, TRANSLATED[0].other
KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")


@pytest.fixture(scope="module")
def tired() -> Trace:
    return attnviz.trace(TIRED, model=MODEL)


def explore(**choices: str) -> AppTest:
    return visit("explore", {"model": MODEL, "text": TIRED, **choices})


@pytest.mark.parametrize("kind", KINDS)
def test_rows_and_columns_are_the_tokens_of_their_texts(tired: Trace, kind: Kind) -> None:
    app = explore(kind=kind, layer="1", head="3", **({} if kind == "encoder" else {"query": "2 le"}))
    assert not app.warning
    block, head = tired.block(kind, 0), message_to(app, "head_view")
    assert labels(head["query_tokens"]) == [token.text for token in block.query_tokens]
    assert labels(head["key_tokens"]) == [token.text for token in block.key_tokens]
    assert (head["layer"], head["heads"], head["heads_total"]) == (1, [3], 4)
    assert f"{kind} head 1-3" in head["caption"]
    assert (str(tired.target) in head["caption"]) == (kind != "encoder")
    assert f"**{tired.target}**" in page_text(app)
    row = block.weights[2, head["query"]]
    key = int(row.argmax())
    assert explained_weights(app) == [percent(float(row[key]), 1)]
    ranked = tired.stack(kind)[:, :, head["query"], key]
    layer, number = np.unravel_index(ranked.argmax(), ranked.shape)
    best = f"{layer + 1}-{number + 1} · {percent(float(ranked.max()))}"
    assert button_row(app, "ranking").options[0] == best


def test_invalid_kind_or_layer_falls_back_and_is_reported() -> None:
    app = visit("explore", kind="cross")
    assert "kind" not in [control.key for control in app.segmented_control]
    assert "`kind`" in warnings(app)
    app = explore(kind="cross", layer="2", head="9")
    assert message_to(app, "head_view")["layer"] == 1
    assert [name in app.warning[0].value for name in ("`layer`", "`head`")] == [True, True]


def test_unknown_word_is_reported_and_choices_are_kept() -> None:
    text = "The zebra did not cross the road as it was too tired."
    app = open_page("explore", model=MODEL, text=text, kind="cross")
    assert "zebra" in app.error[0].value
    assert app.text_input(key="text").value == text
    clean(app.text_input(key="text").set_value(TIRED).run())
    assert app.segmented_control(key="kind").value == "cross"
    clean(app.text_input(key="other").set_value("The zebra slept.").run())
    assert "zebra" in app.warning[0].value
    assert message_to(app, "head_view")["unit"] == "percent"  # the first sentence is still shown
