"""Explore with a translator: its three kinds of attention, its two texts, and what it cannot read."""

import csv
import io
from collections.abc import Sequence

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.app.caches import View
from attnviz.app.examples import TRANSLATED
from attnviz.app.explore.choices import Heads
from attnviz.app.explore.saving import csv_of
from attnviz.capture.model import ModelInput
from attnviz.text import percent
from attnviz.trace import Kind, Trace
from attnviz.trained.translator.variants import TAUGHT_HEAD, TAUGHT_LAYER
from tests.app.conftest import Visit
from tests.app.shown import clean, sent, words

MODEL = "translator"
TIRED, NARROW = TRANSLATED[0].text, TRANSLATED[0].other
KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")


@pytest.fixture(scope="module")
def tired() -> Trace:
    return attnviz.trace(TIRED, model=MODEL)


def labels(tokens: Sequence[dict[str, str]]) -> list[str]:
    return [token["label"] for token in tokens]


def query_of(app: AppTest) -> str:
    return str(app.selectbox(key="query").value).split(" ", 1)[1]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_and_columns_are_the_tokens_of_their_own_texts(visit: Visit, tired: Trace, kind: Kind) -> None:
    app = visit(model=MODEL, text=TIRED, kind=kind, layer="1", head="3", query="2 le" * (kind != "encoder"))
    clean(app)
    block = tired.block(kind, 0)
    head = sent(app, "head_view")
    assert labels(head["query_tokens"]) == [token.text for token in block.query_tokens]
    assert labels(head["key_tokens"]) == [token.text for token in block.key_tokens]
    message = sent(app, "arithmetic")
    query = head["query"]
    assert [cell["weight"] for cell in message["row"]] == pytest.approx(
        block.weights[2, query].tolist(), abs=1e-6
    )
    np.testing.assert_array_equal(message["key_vector"], block.key[2, message["position"]])
    best = app.pills(key="ranking").options[0]
    ranked = tired.stack(kind)[:, :, query, message["position"]]
    layer, number = np.unravel_index(ranked.argmax(), ranked.shape)
    assert best == f"{layer + 1}-{number + 1} · {percent(float(ranked.max()))}"


def test_a_link_opens_cross_attention_and_the_french_is_on_the_page(visit: Visit, tired: Trace) -> None:
    app = visit(model=MODEL, text=TIRED, kind="cross", layer="1", head="2")
    clean(app)
    assert not app.warning
    head = sent(app, "head_view")
    assert (head["layer"], head["heads"], head["heads_total"]) == (1, [2], 4)
    assert f"**{tired.target}**" in words(app)
    assert "cross head 1-2" in head["caption"]
    assert str(tired.target) in head["caption"]


def test_cross_attention_begins_where_the_pronoun_is_chosen(visit: Visit) -> None:
    app = visit(model=MODEL, text=TIRED, kind="cross")
    clean(app)
    head = sent(app, "head_view")
    written = labels(head["query_tokens"])
    assert written[head["query"] + 1] == "il"
    assert "chooses the next word: `il`" in words(app)
    app.selectbox(key="query").set_value(app.selectbox(key="query").options[-1]).run()
    assert "the model ends its sentence" in words(app)


def test_a_model_of_one_kind_has_no_choice_of_kinds(visit: Visit) -> None:
    app = visit(kind="cross")
    clean(app)
    assert "kind" not in [control.key for control in app.segmented_control]
    assert any("`kind`" in warning.value for warning in app.warning)


def test_a_layer_that_this_kind_lacks_gives_way(visit: Visit) -> None:
    app = visit(model=MODEL, text=TIRED, kind="cross", layer="2", head="9")
    clean(app)
    assert sent(app, "head_view")["layer"] == 1
    assert [name in app.warning[0].value for name in ("`layer`", "`head`")] == [True, True]


def test_another_kind_keeps_the_page_whole(visit: Visit) -> None:
    app = visit(model=MODEL, text=TIRED, layer="2", head="4", also=["1"], find="next", key="2 dog")
    clean(app)
    for kind in ("decoder", "cross", "encoder"):
        app.segmented_control(key="kind").set_value(kind).run()
        clean(app)
        head = sent(app, "head_view")
        assert 1 <= head["layer"] <= sent(app, "atlas")["layers"]
        assert head["heads"]
    assert app.pills(key="find").value is None, "decoder and cross have no such filter"


def test_another_model_opens_its_own_head(visit: Visit) -> None:
    app = visit(also=["11"])
    app.selectbox(key="model").set_value(MODEL).run()
    clean(app)
    head = sent(app, "head_view")
    assert (head["layer"], head["heads"]) == (TAUGHT_LAYER + 1, [TAUGHT_HEAD + 1])
    assert query_of(app) == "it"
    app.segmented_control(key="kind").set_value("cross").run()
    app.selectbox(key="model").set_value("minilm").run()
    clean(app)
    assert "kind" not in app.query_params


def test_an_unknown_word_is_named_and_nothing_is_lost(visit: Visit) -> None:
    text = "The zebra did not cross the road as it was too tired."
    app = visit(model=MODEL, text=text, kind="cross")
    assert not app.exception
    assert "zebra" in app.error[0].value
    assert app.text_input(key="text").value == text
    app.text_input(key="text").set_value(TIRED).run()
    clean(app)
    assert app.segmented_control(key="kind").value == "cross"


def test_an_unknown_word_in_the_second_sentence_leaves_the_first_on_show(visit: Visit) -> None:
    app = visit(model=MODEL, text=TIRED, other="The zebra slept.", kind="cross")
    clean(app)
    assert "zebra" in app.warning[0].value
    assert sent(app, "head_view")["unit"] == "percent"


def test_a_sentence_unlike_all_that_was_learned_is_shown_and_called_so(visit: Visit) -> None:
    app = visit(model=MODEL, text="The road did not cross the dog.")
    clean(app)
    assert "Outside what this model learned" in app.warning[0].value
    app.text_input(key="text").set_value(TIRED).run()
    assert not app.warning


@pytest.mark.parametrize("kind", KINDS)
def test_two_translations_of_one_length_are_subtracted(visit: Visit, tired: Trace, kind: Kind) -> None:
    app = visit(model=MODEL, text=TIRED, other=NARROW, show="change", kind=kind, layer="1", head="1")
    clean(app)
    assert not app.warning
    narrow = attnviz.trace(NARROW, model=MODEL)
    head = sent(app, "head_view")
    assert head["unit"] == "signed percent"
    pairs = {"query_tokens": tired.block(kind, 0).query_tokens, "key_tokens": tired.block(kind, 0).key_tokens}
    others = narrow.block(kind, 0).query_tokens, narrow.block(kind, 0).key_tokens
    for (side, tokens), other in zip(pairs.items(), others, strict=True):
        assert labels(head[side]) == [
            a.text if a.text == b.text else f"{a.text} → {b.text}" for a, b in zip(tokens, other, strict=True)
        ]


def test_a_weight_that_no_head_moves_is_called_so(visit: Visit, tired: Trace) -> None:
    narrow = attnviz.trace(NARROW, model=MODEL)
    tokens = [token.text for token in tired.block("cross", 0).query_tokens]
    row, column = tokens.index("car"), TIRED.split().index("it")
    moved = np.abs(narrow.stack("cross") - tired.stack("cross"))[:, :, row, column].max()
    assert moved < 0.005
    told = "by more than half a percentage point"
    for show in ("tired", "change"):
        app = visit(
            model=MODEL, text=TIRED, other=NARROW, show=show, kind="cross", query="10 car", key="9 it"
        )
        clean(app)
        assert told in words(app)
        assert "moves most" not in words(app)
    app = visit(model=MODEL, text=TIRED, other=NARROW, query="9 it", key="2 dog")
    assert "moves most" in words(app)
    assert told not in words(app)


def test_a_translator_is_called_by_its_title(visit: Visit) -> None:
    app = visit(model="translator-untold", text=TIRED)
    assert "**Translator: not told anything.** A small English–French transformer" in words(app)


def test_translations_of_different_lengths_are_compared_in_the_encoder_alone(visit: Visit) -> None:
    one, other = "The dog crossed the road.", "The dog entered the house."
    lengths = [len(attnviz.trace(text, model=MODEL).block("decoder", 0).key_tokens) for text in (one, other)]
    assert lengths[0] != lengths[1]
    app = visit(model=MODEL, text=one, other=other, show="change", kind="cross")
    clean(app)
    assert f"shows {lengths[0]} tokens and the second {lengths[1]}" in app.warning[0].value
    assert "*encoder*" in app.warning[0].value
    assert sent(app, "head_view")["unit"] == "percent"
    app.segmented_control(key="kind").set_value("encoder").run()
    clean(app)
    assert sent(app, "head_view")["unit"] == "signed percent"


def test_only_filters_that_mean_something_are_offered(visit: Visit) -> None:
    app = visit(model=MODEL, text=TIRED, kind="decoder")
    assert set(app.pills(key="find").options) == {
        "previous",
        "itself",
        "first",
        "far away",
        "focused",
        "broad",
    }
    app.segmented_control(key="kind").set_value("cross").run()
    assert set(app.pills(key="find").options) == {"same place", "first", "separator", "focused", "broad"}


def test_what_the_mask_forbids_is_called_so(visit: Visit, tired: Trace) -> None:
    tokens = tired.block("decoder", 0).key_tokens
    app = visit(
        model=MODEL, text=TIRED, kind="decoder", query=f"2 {tokens[1].text}", key=f"4 {tokens[3].text}"
    )
    clean(app)
    assert "The mask forbids" in words(app)
    assert sent(app, "arithmetic")["masked"] is True


@pytest.mark.parametrize("hide", [False, True])
def test_the_table_has_french_rows_and_english_columns_and_no_number_behind_the_mask(
    tired: Trace, hide: bool
) -> None:
    def table(kind: Kind) -> tuple[dict[str, str], list[list[str]]]:
        view = View(MODEL, kind, ModelInput(TIRED), None, "weights", "shared", hide, False)
        rows = list(csv.reader(io.StringIO(csv_of(view, Heads(1, 2, ())).lstrip("\ufeff"))))
        facts = {row[0].removeprefix("# "): row[1] for row in rows if row[0].startswith("#")}
        return facts, [row for row in rows if not row[0].startswith("#")]

    facts, rows = table("cross")
    block = tired.block("cross", 0)
    kept = [
        [not (hide and token.special) for token in side] for side in (block.query_tokens, block.key_tokens)
    ]
    assert (facts["attention"], facts["second text"]) == ("cross", f"“{tired.target}”")
    names = [f"{n}:{t.text}" for n, (t, k) in enumerate(zip(block.key_tokens, kept[1], strict=True), 1) if k]
    assert rows[0][1:] == names
    numbers = np.array([[float(cell) for cell in row[1:]] for row in rows[1:]])
    weights = block.weights[1][np.ix_(*kept)]
    np.testing.assert_allclose(numbers, weights / weights.sum(axis=1, keepdims=True), rtol=1e-5)

    _, rows = table("decoder")
    written = np.array([[cell != "" for cell in row[1:]] for row in rows[1:]])
    assert np.array_equal(written, np.tri(len(written), dtype=bool))


def test_a_guess_opens_the_encoder_and_its_weights_judge_it(visit: Visit) -> None:
    app = visit(model=MODEL, text=TIRED, kind="cross")
    app.pills(key="guess narrow").set_value("road").run()
    clean(app)
    assert app.segmented_control(key="kind").value == "encoder"
    head = sent(app, "head_view")
    assert (head["layer"], head["heads"]) == (TAUGHT_LAYER + 1, [TAUGHT_HEAD + 1])
    block = attnviz.trace(NARROW, model=MODEL).block("encoder", TAUGHT_LAYER)
    tokens = [token.text for token in block.key_tokens]
    row = block.weights[TAUGHT_HEAD, tokens.index("it")]
    assert f"road {percent(float(row[tokens.index('road')]))}" in words(app)


@pytest.mark.parametrize("example", TRANSLATED, ids=lambda example: example.name)
def test_every_example_is_one_that_the_translator_can_read(visit: Visit, example: object) -> None:
    found = next(each for each in TRANSLATED if each is example)
    app = visit(model=MODEL, text=found.text, other=found.other)
    clean(app)
    assert not app.warning
    assert query_of(app) == found.query
