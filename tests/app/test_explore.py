"""The Explore page without a browser: links, clicks and invalid input."""

from dataclasses import replace

import numpy as np
import pytest

import attnviz
from attnviz.app import traces
from attnviz.app.examples import EXAMPLES, OPENING, STORIES, TRANSLATED, Example
from attnviz.app.explore import views
from attnviz.app.explore.views import WEIGHTS, View
from attnviz.app.models import lookup
from attnviz.capture.model import ModelInput
from attnviz.text import decimal, percent, signed_percent
from tests.app.shown import (
    button_row,
    clean,
    explained_weights,
    message_to,
    open_page,
    page_text,
    stored_arrays,
    visit,
)

IT, DOG = 9, 2
LONGER = "The old dog did not cross the road as it was too tired."


def test_change_is_second_minus_first() -> None:
    app = visit("explore", show="difference")
    texts = (OPENING.text, OPENING.other)
    expected = [attnviz.trace(text).block("encoder", 3).weights[1, IT, DOG] for text in texts]
    assert explained_weights(app) == [percent(float(weight), 1) for weight in expected]
    assert message_to(app, "head_view")["unit"] == "signed percent"
    assert message_to(app, "head_view")["query_tokens"][12]["label"] == "tired → narrow"


def test_arithmetic_and_ranking_have_the_numbers_of_the_trace() -> None:
    text = "Embeddings of embeddings."
    app = visit("explore", text=text, layer="2", head="5", query="3 ##bed", key="9 ##ding")
    trace, query = attnviz.trace(text), 2
    block, key, shown = trace.block("encoder", 1), 8, page_text(app)
    assert "Why does `##bed` attend to `##ding`?" in app.subheader[0].value
    dot_product = float(block.query[4, query].astype(float) @ block.key[4, key])
    assert f"| **sum: q · k** |  |  | **{decimal(dot_product, 3)}** |" in shown
    weight = percent(float(block.weights[4, query, key]), 1)
    assert explained_weights(app) == [weight]
    score, row = float(block.scores[4, query, key]), block.scores[4, query]
    exponential = np.exp(score - row.max())
    assert f"| **`##ding`** | **{decimal(score, 3)}** | **{exponential:.4f}** | **{weight}** |" in shown
    weights = trace.stack("encoder")[:, :, query, key]
    layer, head = np.unravel_index(weights.argmax(), weights.shape)
    best = f"{layer + 1}-{head + 1} · {percent(float(weights.max()))}"
    assert button_row(app, "ranking").options[0] == best


def test_row_that_attends_to_hidden_special_tokens_is_drawn_faint() -> None:
    """In row 1 of head 1-3, less than 0.1 % of the weight is on shown tokens; 62 % of this is on "cross"."""
    expected = attnviz.trace(OPENING.text).block("encoder", 0).weights[2, 1:-1, 1:-1]
    view = View(
        lookup.entry("minilm"),
        "encoder",
        ModelInput(OPENING.text),
        None,
        WEIGHTS,
        "shared",
        hide=True,
        merge=False,
    )
    assert views.values(view)[0, 2, 0].max() > 0.6
    assert views.shown_shares(view)[0, 2, 0] == pytest.approx(expected[0].sum(), rel=1e-4)
    assert expected[0].sum() < 0.001
    levels = views.drawn(view).levels[0, 2]
    np.testing.assert_allclose(levels[0], 254 * np.sqrt(expected[0]), atol=0.51)
    assert levels[1].max() > 250
    other = ModelInput(OPENING.other)
    change = replace(view, changed=other)
    lesser = np.minimum(views.shown_shares(view), views.shown_shares(replace(view, given=other)))
    np.testing.assert_array_equal(views.shown_shares(change), lesser)
    assert np.abs(views.drawn(change).levels[0, 2, 0].astype(int) - 127).max() < 3
    app = visit("explore", hide="true", layer="1", head="3", query="2 the", view="Heatmap")
    assert not any(option.startswith("1-3") for option in button_row(app, "ranking").options)
    assert views.shown_shares(replace(view, stage="scaled")).min() == 1


@pytest.mark.parametrize(
    ("model", "examples"), [("minilm", EXAMPLES), ("translator", TRANSLATED), ("storyteller", STORIES)]
)
def test_every_example_opens_with_its_query(model: str, examples: tuple[Example, ...]) -> None:
    app = visit("explore", model=model)
    for example in examples:
        clean(button_row(app, "example").set_value(example.name).run())
        assert not app.warning
        assert app.text_input(key="text").value == example.text
        if example.query and model != "storyteller":
            assert str(app.selectbox(key="query").value).split(" ", 1)[1] == example.query


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "Type a sentence"), ("\u200b", "Type a sentence"), ("word " * 511, "513 tokens")],
)
def test_unreadable_text_shows_an_error_and_is_kept(text: str, message: str) -> None:
    app = visit("explore")
    app.text_input(key="text").set_value(text).run()
    assert not app.exception
    [error] = app.error
    assert message in error.value
    assert app.text_input(key="text").value == text
    clean(app.text_input(key="text").set_value("It works again.").run())


def test_word_of_only_one_sentence_is_a_gap_in_the_other() -> None:
    app = visit("explore", text=OPENING.text, other=LONGER, show="difference", query="11 it", key="3 dog")
    rows = [token["label"] for token in message_to(app, "head_view")["query_tokens"]]
    assert rows[:4] == ["[CLS]", "the", "+ old", "dog"]
    short, long = (attnviz.trace(text).block("encoder", 3) for text in (OPENING.text, LONGER))
    it, its = ([token.text for token in block.key_tokens].index("it") for block in (short, long))
    change = long.weights[1, its, 3] - short.weights[1, it, 2]
    assert f"4-2 · {signed_percent(float(change))}" in button_row(app, "ranking").options
    clean(app.selectbox(key="key").set_value("3 + old").run())
    assert "is in only one of the two sentences" in page_text(app)
    assert len(explained_weights(app)) == 1


def test_new_sentence_removes_the_old_tokens_from_the_link() -> None:
    link = {"text": OPENING.text, "other": OPENING.other, "show": "narrow"}
    app = visit("explore", link, query="13 narrow", key="8 road")
    assert app.selectbox(key="query").value == "13 narrow"
    clean(app.text_input(key="text").set_value("Birds sing.").run())
    assert app.selectbox(key="query").value == "3 sing"
    assert app.selectbox(key="key").value == "largest weight"
    assert not {"query", "key", "show"} & set(app.query_params)


def test_mean_over_heads_is_labelled_and_has_their_range() -> None:
    app = visit("explore", pool="Mean of layer", layer="4")
    weights = attnviz.trace(OPENING.text).block("encoder", 3).weights
    message, arrays = message_to(app, "head_view"), stored_arrays(app, "pool exact")
    assert (message["heading"], message["heads_total"]) == ("Mean over the 12 heads of layer 4", 0)
    assert message["heading"] in {each.value for each in app.header}
    np.testing.assert_allclose(arrays["values"][0], weights.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(arrays["lowest"][0], weights.min(axis=0), atol=1e-6)
    np.testing.assert_allclose(arrays["highest"][0], weights.max(axis=0), atol=1e-6)
    maximum = stored_arrays(visit("explore", pool="Max of all"), "pool exact")["values"][0]
    np.testing.assert_allclose(maximum, attnviz.trace(OPENING.text).stack().max(axis=(0, 1)), atol=1e-6)


def test_rows_of_several_tokens_are_summed() -> None:
    app = visit("explore", sum=["3 dog", "10 it"])
    assert (message_to(app, "head_view")["together"], message_to(app, "head_view")["query"]) == (
        [DOG, IT],
        None,
    )
    app.multiselect(key="sum").set_value([])
    assert message_to(clean(app.run()), "head_view")["query"] == IT


def test_text_is_refused_when_too_many_are_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "_waiting", [traces.MAX_WAITING_TOKENS])
    assert "long texts are queued" in open_page("explore", text="Nobody has read this yet.").error[0].value
