"""Explore with models that somebody brought: what they are given, what they write and expect, and limits."""

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

import attnviz
from attnviz.app import caches
from attnviz.app.caches import View
from attnviz.app.explore.choices import Heads
from attnviz.app.explore.saving import csv_of, report_of
from attnviz.app.saving import file_name_of, npz_of
from attnviz.capture import loading
from attnviz.capture.model import ModelInput, Writing
from attnviz.export.report import contents
from attnviz.export.report.page import Opening, report
from attnviz.models import allowed
from attnviz.trace import Trace
from tests.app.conftest import Visit
from tests.app.shown import clean, sent, words
from tests.capture.tiny import tiny

PROMPT = "The capital of France is"
ENGLISH = "The dog did not cross the road ."


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """Opens a small model of a family on this server, and gives its name; each is opened once."""
    folder = tmp_path_factory.mktemp("models")
    names: dict[str, str] = {}

    def open_family(family: str) -> str:
        if family not in names:
            names[family] = str(tiny(family, folder / family))
            loading.open_model(names[family])
        return names[family]

    yield open_family
    allowed._opened.clear()
    caches.clear()


def labels(tokens: list[dict[str, Any]]) -> list[str]:
    return [token["label"] for token in tokens]


def press(app: AppTest, label: str) -> None:
    next(button for button in app.button if label in button.label).click().run()


# Models that are decoders only


def test_a_decoder_shows_what_comes_after_the_last_word(visit: Visit, opened: Callable[[str], str]) -> None:
    model = opened("gpt2")
    app = visit(model=model, text=PROMPT)
    clean(app)
    head = sent(app, "head_view")
    assert labels(head["query_tokens"])[head["query"]] == "is"
    network = AutoModelForCausalLM.from_pretrained(model, attn_implementation="eager")
    block = attnviz.trace(PROMPT, model=model).block("decoder", 0)
    with torch.inference_mode():
        expected = (
            network(torch.tensor([[token.id for token in block.query_tokens]])).logits[0, -1].softmax(-1)
        )
    shown = [row["numbers"] for row in sent(app, "candidates")["rows"]]
    np.testing.assert_allclose(shown, np.sort(expected.numpy())[::-1][:10, None], rtol=1e-4)
    # And what was asked first opens the head that has the clearest link.
    weights = attnviz.trace(PROMPT, model=model).stack("decoder")[:, :, -1, 1:-1].max(axis=-1)
    clearest = np.unravel_index(weights.argmax(), weights.shape)
    assert (head["layer"] - 1, head["heads"][0] - 1) == clearest
    assert "Guess first" not in "".join(title.value for title in app.subheader)


def test_a_decoder_writes_on_and_each_written_token_can_be_stepped_to(
    visit: Visit, opened: Callable[[str], str]
) -> None:
    model = opened("gpt2")
    app = visit(model=model, text=PROMPT, write="7")
    clean(app)
    trace = loading.trace(model, ModelInput(PROMPT, writing=Writing(7)))
    tokens = trace.of_kind("decoder")[0].query_tokens
    passage = sent(app, "passage")
    assert passage["typed"] == PROMPT
    assert passage["typed"] + "".join(passage["tokens"]) == trace.text
    assert len(passage["tokens"]) == trace.written == 7
    assert passage["chosen"] == 0, "the last typed token is where the first one is written"
    # Step to the fourth: its query is the token before it, and what was taken there is the fourth.
    app.selectbox(key="query").set_value(app.selectbox(key="query").options[len(tokens) - 4]).run()
    clean(app)
    assert sent(app, "passage")["chosen"] == 3
    [taken] = [row for row in sent(app, "candidates")["rows"] if row["mark"]]
    assert taken["mark"] == "taken"
    assert taken["label"] == tokens[-4].text
    assert len(taken["numbers"]) == 1, "without chance there are no filters to show"


def test_what_was_drawn_is_shown_before_and_after_the_filters(
    visit: Visit, opened: Callable[[str], str]
) -> None:
    model = opened("gpt2")
    app = visit(model=model, text=PROMPT, write="5", temperature="0.5", top_k="3", seed="7")
    clean(app)
    rows = sent(app, "candidates")["rows"]
    before, after = np.array([row["numbers"] for row in rows]).T
    tempered = before[:3] ** 2 / (before[:3] ** 2).sum()  # temperature ½ squares the probabilities
    np.testing.assert_allclose(after[:3], tempered, rtol=1e-4)
    assert not after[3:].any(), "top k leaves three"
    again = visit(model=model, text=PROMPT, write="5", temperature="0.5", top_k="3", seed="7")
    assert sent(again, "passage") == sent(app, "passage")
    given = ModelInput(PROMPT, writing=Writing(5, 0.5, 3, 1.0, 7))
    assert "".join(sent(app, "passage")["tokens"]) == loading.trace(model, given).text.removeprefix(PROMPT)


def test_a_model_that_wrote_less_than_asked_says_why(visit: Visit, opened: Callable[[str], str]) -> None:
    model, text = opened("gpt2"), "dog " * 58
    app = visit(model=model, text=text, write="9")
    clean(app)
    written = loading.trace(model, ModelInput(text, writing=Writing(9))).written
    assert written == 3
    assert "The model wrote 3 of 9 tokens: more than 61 it cannot read." in words(app)


def test_a_link_holds_all_that_the_model_was_given(visit: Visit, opened: Callable[[str], str]) -> None:
    app = visit(model=opened("gpt2"), text=PROMPT)
    chosen = {"write": 4, "temperature": 0.7, "top_k": 3, "top_p": 0.9, "seed": 5}
    for key, value in chosen.items():
        app.number_input(key=key).set_value(value).run()
    clean(app)
    link = parse_qs(sent(app, "copy_link")["query"])
    assert {key: link[key] for key in chosen} == {key: [str(value)] for key, value in chosen.items()}
    again = visit(link)
    clean(again)
    assert not again.warning
    assert sent(again, "passage") == sent(app, "passage")
    pair = visit(text="Birds sing.", other="Cats sleep.", second="Read together with", between="B→A")
    link = parse_qs(sent(pair, "copy_link")["query"])
    assert (link["second"], link["between"]) == (["Read together with"], ["B→A"])


RUBBISH = {
    "write": "-3",
    "temperature": "hot",
    "top_k": "",
    "top_p": "2",
    "seed": "x",
    "second": "?",
    "between": "C→D",
}


def test_a_link_with_rubbish_opens(visit: Visit, opened: Callable[[str], str]) -> None:
    for model in (opened("gpt2"), opened("bert"), "minilm"):
        app = visit(RUBBISH, model=model, text=ENGLISH)
        clean(app)
        told = "\n".join(warning.value for warning in app.warning)
        assert all(f"`{name}`" in told for name in RUBBISH)


def test_settings_of_writing_are_offered_to_those_that_can_write(
    visit: Visit, opened: Callable[[str], str]
) -> None:
    app = visit(write="5")
    clean(app)
    assert "write" not in {number.key for number in app.number_input}
    assert any("`write`" in warning.value for warning in app.warning)
    app = visit(model=opened("bert"), text=ENGLISH)
    assert "write" not in {number.key for number in app.number_input}


def test_a_sliding_window_is_shown_layer_by_layer(visit: Visit, opened: Callable[[str], str]) -> None:
    model = opened("mistral")
    app = visit(
        model=model, text="red dog green cat red dog green fish bird house", query="11 house", key="2 red"
    )
    clean(app)
    assert "The mask forbids" in words(app)
    assert "nobody looks so far" in words(app)
    assert sent(app, "arithmetic")["masked"] is True
    app.selectbox(key="key").set_value("11 house").run()
    clean(app)
    assert sent(app, "arithmetic")["masked"] is False


def test_layers_with_masks_of_their_own_are_drawn_with_them(opened: Callable[[str], str]) -> None:
    model, text = opened("modernbert"), "The dog did not cross the road as it was too tired ."
    blocks = attnviz.trace(text, model=model).of_kind("encoder")
    masks = [block.mask for block in blocks]
    assert not all(np.array_equal(mask, masks[0]) for mask in masks)
    view = View(model, "encoder", ModelInput(text), None, "weights", "shared", False, False)
    np.testing.assert_array_equal(caches.drawn(view).levels[:, 0] == 255, [~mask for mask in masks])
    for layer, block in enumerate(blocks, 1):
        [numbers] = caches.readable(view, layer, [1])
        np.testing.assert_array_equal(np.isnan(numbers), ~block.mask)


@pytest.mark.parametrize(("family", "kind"), [("bloom", "decoder"), ("t5", "encoder")])
def test_a_bias_is_a_picture_and_part_of_the_sum(
    visit: Visit, opened: Callable[[str], str], family: str, kind: str
) -> None:
    model = opened(family)
    app = visit(model=model, text=ENGLISH, stage="bias", kind=kind, layer="1", head="2")
    clean(app)
    assert app.segmented_control(key="stage").value == "bias"
    assert "what is added to each score" in words(app)
    message = sent(app, "arithmetic")
    block = next(b for b in attnviz.trace(ENGLISH, model=model).blocks if b.kind == kind and b.layer == 0)
    assert block.bias is not None
    query = sent(app, "head_view")["query"]
    assert message["bias"] == pytest.approx(float(block.bias[1, query, message["position"]]))
    assert message["score"] == pytest.approx(
        message["dot_product"] * message["scale"] + message["bias"], abs=1e-4
    )


def test_a_model_without_a_bias_has_no_such_stage(visit: Visit, opened: Callable[[str], str]) -> None:
    app = visit(model=opened("gpt2"), text=PROMPT, stage="bias")
    clean(app)
    assert "bias" not in app.segmented_control(key="stage").options
    assert any("`stage`" in warning.value for warning in app.warning)


# Encoder–decoders


@pytest.fixture(scope="module")
def typed(opened: Callable[[str], str]) -> Trace:
    return loading.trace(opened("bart"), ModelInput(ENGLISH, target="a man went home"))


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_both_texts_of_an_encoder_decoder_are_linked(
    visit: Visit, opened: Callable[[str], str], typed: Trace, kind: Any
) -> None:
    app = visit(
        model=opened("bart"), text=ENGLISH, target="a man went home", second="The decoder reads", kind=kind
    )
    clean(app)
    assert not app.warning
    block = typed.block(kind, 0)
    head = sent(app, "head_view")
    assert len(head["query_tokens"]) == len(block.query_tokens)
    assert len(head["key_tokens"]) == len(block.key_tokens)
    passage = sent(app, "passage")
    assert passage["written"] is False
    assert passage["tokens"] == [" <s> ", "a", " man", " went", " home"]
    marks = {row["mark"] for row in sent(app, "candidates")["rows"]} if kind != "encoder" else set()
    assert marks <= {"", "in the text"}


def test_an_encoder_decoder_writes_where_nothing_was_typed(
    visit: Visit, opened: Callable[[str], str]
) -> None:
    app = visit(model=opened("bart"), text=ENGLISH, second="The decoder reads", kind="cross")
    clean(app)
    trace = loading.trace(opened("bart"), ModelInput(ENGLISH))
    assert "".join(sent(app, "passage")["tokens"]).startswith(str(trace.target)[:8])
    assert [row["mark"] for row in sent(app, "candidates")["rows"]].count("taken") == 1


def test_the_names_of_special_tokens_stay_letters(visit: Visit, opened: Callable[[str], str]) -> None:
    app = visit(model=opened("t5"), text=ENGLISH, find="separator", hide="true")
    clean(app)
    rule = next(markdown.value for markdown in app.markdown if "heads.**" in markdown.value)
    assert "\\</s\\>" in rule
    assert "</s>" not in rule
    assert "</s>" not in app.toggle(key="hide").help


def test_a_decoder_that_ends_at_once_is_shown_all_the_same(
    visit: Visit, opened: Callable[[str], str]
) -> None:
    model, text = opened("t5"), "The dog did not cross the road as it was too tired ."
    assert not loading.trace(model, ModelInput(text)).target
    for kind in ("encoder", "decoder", "cross"):
        app = visit(model=model, text=text, kind=kind)
        clean(app)
        assert "ended it at once" in words(app)
    # Compared with one that did write, with nothing left of it when special tokens are hidden.
    app = visit(model=model, text=ENGLISH, other=text, kind="decoder", hide="true")
    clean(app)
    assert "moves most" not in words(app)


# Pairs and masks


def test_two_sentences_are_read_together_and_told_apart(visit: Visit) -> None:
    one, other = "The dog did not cross the road.", "It was too tired."
    app = visit(text=one, other=other, second="Read together with")
    clean(app)
    trace = loading.trace("minilm", ModelInput(one, second=other))
    head = sent(app, "head_view")
    assert labels(head["query_tokens"]) == [
        f"{token.text} {'ᴬᴮ'[token.sentence]}" for token in trace.blocks[0].query_tokens
    ]
    assert labels(head["query_tokens"])[head["query"]] == "it ᴮ"
    row = trace.block("encoder", 3).weights[1, head["query"]]
    in_b = np.array([token.sentence == 1 for token in trace.blocks[0].key_tokens])
    assert f"**{row[~in_b].sum():.0%}".replace("%", "") in words(app)
    app.segmented_control(key="between").set_value("B→A").run()
    clean(app)
    head = sent(app, "head_view")
    assert all(label.endswith("ᴮ") for label in labels(head["query_tokens"]))
    assert all(label.endswith("ᴬ") for label in labels(head["key_tokens"]))
    assert len(head["query_tokens"]) == in_b.sum() != len(head["key_tokens"])
    message = sent(app, "arithmetic")
    position = message["position"]
    assert message["weight"] == pytest.approx(float(row[position]), abs=1e-6)
    assert message["result"] == pytest.approx(float(row[position] / row[~in_b].sum()), abs=1e-6)


def test_the_second_box_changes_its_meaning_and_keeps_what_was_typed(visit: Visit) -> None:
    app = visit(text="Birds sing.", other="Cats sleep.")
    app.radio(key="second").set_value("Read together with").run()
    clean(app)
    assert (app.text_input(key="text").value, app.text_input(key="other").value) == (
        "Birds sing.",
        "Cats sleep.",
    )
    assert "between" in {control.key for control in app.segmented_control}
    assert "show" not in {control.key for control in app.segmented_control}
    app.radio(key="second").set_value("Compare with").run()
    clean(app)
    assert "between" not in {control.key for control in app.segmented_control}
    assert "show" in {control.key for control in app.segmented_control}


def test_a_model_that_reads_one_text_has_its_own_examples(visit: Visit) -> None:
    app = visit(text="Birds sing.", other="Cats sleep.", second="Read together with")
    app.selectbox(key="model").set_value("translator").run()
    assert "second" not in {radio.key for radio in app.radio}
    assert app.pills(key="example").options[0] == "dog / road"


def test_an_example_gives_way_to_one_of_the_new_meaning(visit: Visit) -> None:
    app = visit()
    app.radio(key="second").set_value("Read together with").run()
    clean(app)
    assert app.text_input(key="other").value == "It was too tired."
    for name in app.pills(key="example").options:
        app.pills(key="example").set_value(name).run()
        clean(app)
        assert not app.warning


def test_a_table_of_a_pair_names_both_sentences() -> None:
    view = View(
        "minilm",
        "encoder",
        ModelInput("Birds sing.", "Cats sleep."),
        None,
        "weights",
        "shared",
        False,
        False,
        "A→B",
    )
    rows = list(csv.reader(io.StringIO(csv_of(view, Heads(1, 1, ())).lstrip("\ufeff"))))
    facts = {row[0]: row[1] for row in rows if row[0].startswith("#")}
    assert facts["# text"] == "“Birds sing.”"
    assert facts["# read together with"] == "“Cats sleep.”"
    assert [len(row) for row in rows if row and not row[0].startswith("#")] == [5] * 6


def test_a_masked_word_is_filled_in(visit: Visit, opened: Callable[[str], str]) -> None:
    model = opened("bert")
    app = visit(model=model, text="the dog did cross the road", query="6 the")
    clean(app)
    app.selectbox(key="query").set_value("5 cross").run()
    press(app, "Mask `cross`")
    clean(app)
    text = app.text_input(key="text").value
    assert text == "the dog did [MASK] the road"
    app = visit(model=model, text=text)
    clean(app)
    assert str(app.selectbox(key="query").value) == "5 [MASK]"
    network = AutoModelForMaskedLM.from_pretrained(model, attn_implementation="eager")
    ids = [token.id for token in attnviz.trace(text, model=model).blocks[0].query_tokens]
    with torch.inference_mode():
        expected = network(torch.tensor([ids])).logits[0, 4].softmax(-1)
    shown = [row["numbers"][0] for row in sent(app, "candidates")["rows"]]
    np.testing.assert_allclose(shown, np.sort(expected.numpy())[::-1][:10], rtol=1e-4)


def test_of_two_masked_words_the_query_chooses(visit: Visit, opened: Callable[[str], str]) -> None:
    text = "the [MASK] did [MASK] the road"
    app = visit(model=opened("bert"), text=text, other="he was sad", second="Read together with")
    clean(app)
    predictions = loading.load(opened("bert")).predictions(ModelInput(text, second="he was sad"))
    assert [prediction.position for prediction in predictions] == [2, 4]
    for between in ("All", "A→B"):
        app.segmented_control(key="between").set_value(between).run()
        for prediction in predictions:
            app.selectbox(key="query").set_value(f"{prediction.position + 1} [MASK] ᴬ").run()
            clean(app)
            shown = [row["label"] for row in sent(app, "candidates")["rows"]]
            assert shown == [candidate.text.strip() for candidate in prediction.candidates]


# Limits, and what is taken along


def test_more_weights_than_the_page_can_hold_are_refused_with_a_remedy(
    visit: Visit, opened: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caches, "MOST_WEIGHTS", 6 * 10**2)
    caches.clear()
    text = "red dog " * 6
    app = visit(model=opened("gpt2"), text=text)
    assert not app.exception
    assert "may have 10 tokens" in app.error[0].value
    assert app.text_input(key="text").value == text
    app.text_input(key="text").set_value("red dog").run()
    clean(app)


def test_what_is_too_long_to_read_and_write_is_refused_and_kept(
    visit: Visit, opened: Callable[[str], str]
) -> None:
    text = "dog " * 62
    app = visit(model=opened("gpt2"), text=text, write="5")
    assert not app.exception
    assert "61" in app.error[0].value
    assert app.text_input(key="text").value == text
    assert app.number_input(key="write").value == 5


def test_all_that_was_given_is_in_the_files(opened: Callable[[str], str], tmp_path: Path) -> None:
    given = ModelInput(PROMPT, writing=Writing(5))
    view = View(opened("gpt2"), "decoder", given, None, "weights", "shared", False, False)
    (tmp_path / "taken.npz").write_bytes(npz_of(caches.trace(view.model, view.given)))
    taken = Trace.load(tmp_path / "taken.npz")
    assert taken.text == loading.trace(opened("gpt2"), given).text
    assert taken.written == 5


def test_the_report_opens_where_the_visitor_is(opened: Callable[[str], str]) -> None:
    given = ModelInput(PROMPT, writing=Writing(5))
    view = View(opened("gpt2"), "decoder", given, None, "weights", "shared", False, False)
    page = report_of(view, Heads(2, 3, ()), 4)
    trace = loading.trace(opened("gpt2"), given)
    assert page == report([trace], Opening(kind="decoder", layer=1, head=2, query=4))


def test_a_report_that_would_be_too_large_is_not_offered(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "MOST_WEIGHTS", 1000)
    app = visit(text=ENGLISH)
    clean(app)
    assert "No report" in words(app)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("minilm", "attnviz-minilm"),
        ("openai/gpt-2.1", "attnviz-openai-gpt-2-1"),
        ("/srv/../my model/", "attnviz-srv-my-model"),
        ("..", "attnviz-model"),
        ("C:\\x\n\u202e", "attnviz-C-x"),
    ],
)
def test_a_files_name_is_never_a_path(model: str, name: str) -> None:
    assert file_name_of(model) == name


def test_a_model_whose_folder_has_changed_is_read_anew(visit: Visit, tmp_path: Path) -> None:
    model = str(tiny("gpt2", tmp_path / "mine"))
    loading.open_model(model)
    before = sent(visit(model=model, text=PROMPT), "candidates")
    network = AutoModelForCausalLM.from_pretrained(model)
    with torch.no_grad():
        network.lm_head.weight.mul_(-1)
    network.save_pretrained(model)
    caches.look_again()  # as half a minute does
    after = sent(visit(model=model, text=PROMPT), "candidates")
    assert before != after


# What a link says and the page says back


def test_a_number_is_the_same_however_it_is_written(visit: Visit, opened: Callable[[str], str]) -> None:
    app = visit(model=opened("gpt2"), text=PROMPT, write="3", temperature="1", top_p="0.70")
    clean(app)
    assert not app.warning
    plain = visit(model=opened("gpt2"), text=PROMPT, write="3", temperature="1")
    assert all(len(row["numbers"]) == 1 for row in sent(plain, "candidates")["rows"]), "nothing is altered"


def test_a_file_says_what_the_model_wrote_and_how(opened: Callable[[str], str]) -> None:
    given = ModelInput(PROMPT, writing=Writing(4, 0.8, 5, 0.9, 7))
    model = opened("gpt2")
    view = View(model, "decoder", given, None, "weights", "shared", hide=False, merge=False)
    lines = csv_of(view, Heads(1, 1, ())).splitlines()
    written = caches.trace(model, given).text.removeprefix(PROMPT)
    assert any(
        line.startswith("# its end as the model wrote it,") and written.strip() in line for line in lines
    )
    assert "# written with,temperature 0.8; top k 5; top p 0.9; seed 7" in lines


def test_equal_words_of_a_pair_are_told_apart_where_a_weight_is_worked_out(visit: Visit) -> None:
    app = visit(
        text="The dog sees it.",
        other="The dog ran.",
        second="Read together with",
        query="3 dog ᴬ",
        key="9 dog ᴮ",
    )
    clean(app)
    worked = sent(app, "arithmetic")
    assert (worked["query_word"], worked["key_word"]) == ("dog ᴬ", "dog ᴮ")
    assert [row["label"] for row in worked["row"] if row["label"].startswith("dog")] == ["dog ᴬ", "dog ᴮ"]


def test_the_text_to_compare_with_and_the_decoders_text_are_two(
    visit: Visit, opened: Callable[[str], str]
) -> None:
    app = visit(model=opened("bart"), text=ENGLISH, other="The cat did not cross the road .")
    app.radio(key="second").set_value("The decoder reads").run()
    app.text_input(key="target").set_value("a man went home").run()
    app.radio(key="second").set_value("Compare with").run()
    assert app.text_input(key="other").value == "The cat did not cross the road ."
    app.radio(key="second").set_value("The decoder reads").run()
    assert app.text_input(key="target").value == "a man went home"
    clean(app)
