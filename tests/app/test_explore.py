"""The Explore page's logic: what a link, a click and a bad input do."""

import json
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

import attnviz
from attnviz.app.examples import EXAMPLES, OPENING
from attnviz.app.explore.tasks import TASKS
from attnviz.text import percent
from tests.app.conftest import Visit
from tests.app.shown import clean, sent


def test_the_page_opens_with_it_in_head_4_2(visit: Visit) -> None:
    app = visit()
    clean(app)
    head = sent(app, "head_view")
    assert (head["layer"], head["heads"], head["view"]) == (4, [2], "lines")
    assert head["query_tokens"][head["query"]]["label"] == "it"
    assert app.text_input(key="text").value == OPENING.text
    assert not app.warning


def test_the_switch_turns_it_from_the_dog_to_the_road(visit: Visit) -> None:
    app = visit()
    assert sent(app, "arithmetic")["key_label"] == "dog"
    app.segmented_control(key="show").set_value("narrow").run()
    clean(app)
    assert sent(app, "arithmetic")["key_label"] == "road"


def test_the_change_is_the_second_minus_the_first(visit: Visit) -> None:
    app = visit(show="change")
    clean(app)
    first, second = (
        attnviz.trace(text).block("encoder", 3).weights[1] for text in (OPENING.text, OPENING.other)
    )
    it, dog = 9, 2
    arithmetic = [
        json.loads(e.proto.json) for e in app.get("bidi_component") if "arithmetic" in e.proto.component_name
    ]
    assert [a["result"] for a in arithmetic] == pytest.approx([first[it, dog], second[it, dog]], abs=1e-6)
    assert sent(app, "head_view")["unit"] == "signed percent"
    assert sent(app, "head_view")["query_tokens"][12]["label"] == "tired → narrow"


def test_every_number_of_the_arithmetic_is_the_traces(visit: Visit) -> None:
    text = "Embeddings of embeddings."
    app = visit(text=text, layer="2", head="5", query="3 ##bed", key="8 ##ding")
    clean(app)
    block = attnviz.trace(text).block("encoder", 1)
    message = sent(app, "arithmetic")
    query = 2
    assert block.query_tokens[query].text == message["query_label"] == "##bed"
    np.testing.assert_array_equal(message["query_vector"], block.query[4, query])
    assert message["dot_product"] == pytest.approx(
        float(block.query[4, query] @ block.key[4, message["position"]]), abs=1e-4
    )
    assert [cell["weight"] for cell in message["row"]] == pytest.approx(
        block.weights[4, query].tolist(), abs=1e-6
    )
    assert message["result"] == pytest.approx(block.weights[4, query, message["position"]], abs=1e-6)


def test_hiding_special_tokens_reaches_every_part(visit: Visit) -> None:
    app = visit(hide="true")
    clean(app)
    labels = [token["label"] for token in sent(app, "head_view")["key_tokens"]]
    assert "[CLS]" not in labels
    assert "[SEP]" not in labels
    assert not any("[CLS]" in fact for fact in sent(app, "atlas")["facts"])
    assert "rescaled" in sent(app, "head_view")["note"]
    assert not any("[CLS]" in option for option in app.selectbox(key="query").options)
    weights = attnviz.trace(OPENING.text).block("encoder", 3).weights[1, 9]
    shown = sent(app, "arithmetic")["result"]
    assert shown == pytest.approx(weights[2] / weights[1:-1].sum(), abs=1e-6)


def test_merging_pieces_shows_words(visit: Visit) -> None:
    app = visit(text="Embeddings help.", merge="true")
    clean(app)
    assert "embeddings" in [token["label"] for token in sent(app, "head_view")["key_tokens"]]


def test_scores_are_never_merged_and_the_visitor_is_told(visit: Visit) -> None:
    app = visit(text="Embeddings help.", merge="true", stage="scaled")
    clean(app)
    assert "embeddings" not in [token["label"] for token in sent(app, "head_view")["key_tokens"]]
    assert any("pieces" in info.value for info in app.info)


def test_a_filter_dims_the_other_heads_and_states_its_rule(visit: Visit) -> None:
    app = visit(find="previous")
    clean(app)
    dimmed = sent(app, "atlas")["dim"]
    assert 0 < len(dimmed) < 72
    assert 0 * 12 + 2 not in dimmed  # 1-3 looks one word back, always
    assert any("of 72 heads" in markdown.value for markdown in app.markdown)


def test_sorted_heads_stand_by_what_the_filter_measures_and_say_it(visit: Visit) -> None:
    app = visit(find="same word", sort="true")
    clean(app)
    # “the” stands at 1 and at 6: what each gives the other, of what [CLS] and [SEP] leave.
    weights = attnviz.trace(OPENING.text).stack("encoder")
    left = weights / weights[..., 1:-1].sum(axis=-1, keepdims=True)
    scores = ((left[:, :, 1, 6] + left[:, :, 6, 1]) / 2).ravel()
    atlas = sent(app, "atlas")
    assert sorted(atlas["order"]) == list(range(72))
    assert np.all(np.diff(scores[atlas["order"]]) < 1e-6)
    for at in (0, 8, 37):
        assert atlas["facts"][at].endswith(f"; same word {percent(float(scores[at]))}")
    first = atlas["order"][0]
    told = "\n".join(markdown.value for markdown in app.markdown)
    assert f"Highest: {first // 12 + 1}-{first % 12 + 1} **{percent(float(scores[first]))}**" in told
    app.pills(key="find").set_value(None).run()
    clean(app)
    assert sent(app, "atlas")["order"] == []
    assert "sort" not in app.query_params


def test_the_open_head_leads_to_the_tools(visit: Visit) -> None:
    app = visit(layer="3", head="5", query="3 dog")
    clean(app)
    links = {link.proto.page: link.proto.query_string for link in app.get("page_link")}
    asked = urlencode({"model": "minilm", "text": OPENING.text, "layer": 3, "head": 5, "query": "3 dog"})
    assert {links[name] for name in ("intervene", "behaviour", "plane")} == {asked}


def test_several_heads_are_open_at_once(visit: Visit) -> None:
    app = visit(layer="3", head="7", also=["1", "7", "2"])
    clean(app)
    assert sent(app, "head_view")["heads"] == [7, 1, 2]


def test_the_heads_that_link_two_tokens_are_ranked(visit: Visit) -> None:
    app = visit(key="3 dog")
    clean(app)
    weights = attnviz.trace(OPENING.text).stack("encoder")[:, :, 9, 2]
    layer, head = np.unravel_index(weights.argmax(), weights.shape)
    best = app.pills(key="ranking").options[0]
    assert best == f"{layer + 1}-{head + 1} · {percent(float(weights.max()))}"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_every_example_opens_and_begins_with_its_word(visit: Visit, example: Any) -> None:
    app = visit(text=example.text, other=example.other)
    clean(app)
    assert not app.warning
    assert str(app.selectbox(key="query").value).split(" ", 1)[1] == example.query
    if example.other:
        app.segmented_control(key="show").set_value("change").run()
        clean(app)
        assert sent(app, "head_view")["unit"] == "signed percent"


RUBBISH = {
    "layer": "99",
    "head": "abc",
    "view": "Nope",
    "model": "gpt9",
    "show": "zzz",
    "query": "77 xyz",
    "stage": "<b>",
    "find": "![x](http://example.invalid)",
    "hide": "maybe",
    "unknown": "1",
}


def test_a_link_with_rubbish_opens_and_says_what_it_could_not_have(visit: Visit) -> None:
    app = visit(RUBBISH)
    clean(app)
    told = "\n".join(warning.value for warning in app.warning)
    for name in RUBBISH:
        assert f"`{name}`" in told
    head = sent(app, "head_view")
    assert (head["layer"], head["heads"]) == (4, [2])


def test_the_notice_goes_when_the_visitor_goes_on(visit: Visit) -> None:
    app = visit(layer="99")
    assert app.warning
    app.number_input(key="layer").set_value(2).run()
    assert not app.warning


@pytest.mark.parametrize("text", ["", " ", "\u200b", "\x00"])
def test_a_text_with_nothing_in_it_gets_a_kind_word(visit: Visit, text: str) -> None:
    app = visit()
    app.text_input(key="text").set_value(text).run()
    assert not app.exception
    assert len(app.error) == 1
    assert "Type a sentence" in app.error[0].value
    assert app.text_input(key="text").value == text
    app.text_input(key="text").set_value("It works again.").run()
    clean(app)


def test_a_text_over_the_limit_is_refused_with_its_count_and_kept(visit: Visit) -> None:
    text = "word " * 511
    app = visit()
    app.text_input(key="text").set_value(text).run()
    assert not app.exception
    assert "513" in app.error[0].value
    assert "512" in app.error[0].value
    assert app.text_input(key="text").value == text


def test_a_second_text_over_the_limit_leaves_the_first_on_show(visit: Visit) -> None:
    app = visit()
    app.text_input(key="other").set_value("word " * 600).run()
    clean(app)
    assert "512" in app.warning[0].value
    assert sent(app, "head_view")["unit"] == "percent"


def test_sentences_of_different_lengths_are_shown_but_not_subtracted(visit: Visit) -> None:
    app = visit(text="It rains.", other="It rains here again.", show="change")
    clean(app)
    assert any("tokens" in error.value for error in [*app.error, *app.warning, *app.info])


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "😀",
        "שלום עולם",
        "e\u0301\u0327 noe\u0308l",
        "<script>alert(1)</script>",
        "![x](http://example.invalid/x.png)",
        "$\\LaTeX$",
        ":red[x] :smile:",
        "``a`` `b`",
        "it it it it",
    ],
)
def test_strange_texts_are_shown(visit: Visit, text: str) -> None:
    app = visit(text=text, other=text + " it", find="first", view="Matrix")
    clean(app)
    assert app.text_input(key="text").value == text
    assert sent(app, "head_view")["key_tokens"]


def test_a_new_sentence_leaves_no_token_of_the_old_one_in_the_link(visit: Visit) -> None:
    app = visit(text=OPENING.text, other=OPENING.other, show="narrow", query="13 narrow", key="8 road")
    assert app.selectbox(key="query").value == "13 narrow"
    app.text_input(key="text").set_value("Birds sing.").run()
    clean(app)
    assert app.selectbox(key="query").value == "3 sing"
    assert app.selectbox(key="key").value == "the strongest"
    assert "query" not in app.query_params
    assert "key" not in app.query_params
    assert "show" not in app.query_params


def test_a_token_keeps_its_place_when_the_other_sentence_is_shown(visit: Visit) -> None:
    app = visit(query="13 tired", text=OPENING.text, other=OPENING.other)
    app.segmented_control(key="show").set_value("narrow").run()
    assert app.selectbox(key="query").value == "13 narrow"
    app.segmented_control(key="show").set_value("change").run()
    assert app.selectbox(key="query").value == "13 tired → narrow"


def test_a_link_without_a_sentence_is_not_mentioned_once_there_is_one(visit: Visit) -> None:
    app = visit(text=" ", layer="2")
    app.text_input(key="text").set_value("Here it is.").run()
    clean(app)
    assert not app.warning
    assert app.number_input(key="layer").value == 2


@pytest.mark.parametrize(("word", "guess"), [("narrow", "dog"), ("narrow", "road"), ("small", "suitcase")])
def test_a_guess_opens_its_picture_and_the_weights_judge_it(visit: Visit, word: str, guess: str) -> None:
    app = visit(layer="2", head="7")
    app.pills(key=f"guess {word}").set_value(guess).run()
    clean(app)
    task = next(task for task in TASKS if task.word == word)
    example = task.example("minilm")
    assert app.text_input(key="other").value == example.other
    assert app.segmented_control(key="show").value == word
    assert (sent(app, "head_view")["layer"], sent(app, "head_view")["heads"]) == (4, [2])
    block = attnviz.trace(example.other).block("encoder", 3)
    tokens = [token.text for token in block.key_tokens]
    weight = {answer: block.weights[1, tokens.index("it"), tokens.index(answer)] for answer in task.answers}
    right = max(weight, key=weight.__getitem__)
    told = next(m.value for m in app.markdown if m.value.startswith(("**Yes", "**No")))
    assert told.startswith("**Yes" if guess == right else "**No")
    assert all(percent(float(weight[answer])) in told for answer in task.answers)


def test_the_button_opens_a_head_that_looks_one_word_back(visit: Visit) -> None:
    app = visit()
    next(button for button in app.button if "one word back" in button.label).click().run()
    clean(app)
    assert app.pills(key="find").value == "previous"
    head = sent(app, "head_view")
    weights = attnviz.trace(OPENING.text).block("encoder", head["layer"] - 1).weights[head["heads"][0] - 1]
    assert np.diagonal(weights, -1).mean() > 0.9


@pytest.mark.parametrize(
    "name", ["view", "stage", "show", "layer", "head", "also", "query", "key", "model", "find"]
)
def test_a_link_that_leaves_a_choice_empty_gets_the_default(visit: Visit, name: str) -> None:
    app = visit({name: ""})
    clean(app)
    assert (sent(app, "head_view")["view"], sent(app, "head_view")["layer"]) == ("lines", 4)
