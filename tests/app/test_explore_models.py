"""Explore with models that somebody brought: what they are given, what they write and expect, and limits."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.analysis import window
from attnviz.app import traces
from attnviz.app.explore import long_head
from attnviz.app.explore.choices import Heads
from attnviz.app.explore.saving import csv_of, report_of
from attnviz.app.explore.views import View
from attnviz.app.models import lookup
from attnviz.app.saving import file_name_of, npz_of
from attnviz.app.server import cache
from attnviz.capture import loading
from attnviz.capture.model import ModelInput, Writing
from attnviz.export.report.page import InitialView, report
from attnviz.models import allowed
from attnviz.text import decimal, percent
from attnviz.trace import Trace
from tests.app.shown import (
    clean,
    labels,
    sent,
    stored,
    try_page,
    visit,
    words,
    worked_weights,
)
from tests.head_table import read_head_table

Open = Callable[[str], str]
PROMPT = "The capital of France is"
ENGLISH = "The dog did not cross the road ."
TOGETHER = "Read together with"


def view(model: str, given: ModelInput, kind: Any = "decoder", **more: str) -> View:
    return View(lookup.entry(model), kind, given, None, "weights", "shared", hide=False, merge=False, **more)


def numbers(app: AppTest) -> list[list[float]]:
    return [row["shares"] for row in sent(app, "share_table")["rows"]]


def keys(elements: Any) -> set[str]:
    return {element.key for element in elements}


# Models that give their weights alone


def test_weights_alone_are_drawn_and_what_is_missing_is_said(opened: Open) -> None:
    model = opened("openai-gpt")
    app = visit("explore", model=model, text=PROMPT, stage="scaled")
    [told] = [info.value for info in app.info if "Weights only" in info.value]
    assert "Only the attention weights that transformers returns are shown" in told
    assert "has a custom attention" in told
    assert "was not measured for this model" not in words(app)  # it cannot be
    assert any("This trace has weights alone" in info.value for info in app.info)  # why this number?
    trace = loading.trace(model, ModelInput(PROMPT))
    assert all(block.weights_alone for block in trace.blocks)
    for page in ("find", "intervene"):
        other = try_page(page, model=model, text=PROMPT)
        said = " ".join(each.value for each in (*other.error, *other.warning))
        assert "Only the attention weights that transformers returns are shown" in said, page
    for page in ("score_heads", "compare"):
        clean(try_page(page, model=model, text=PROMPT))


# Models that are decoders only


def test_a_sink_is_worked_out_has_a_stage_and_is_named_where_rows_are_told(opened: Open) -> None:
    model = opened("gpt_oss")
    app = visit("explore", model=model, text=PROMPT, layer="1", head="2", stage="above the sink")
    block = attnviz.trace(PROMPT, model).blocks[0]
    assert block.sinks is not None
    row = sent(app, "head_view")["query"]
    lacking, sink = 1 - block.weights[1, row].sum(), float(block.sinks[1])
    assert lacking > 0.02
    [line] = [line for line in words(app).splitlines() if line.startswith("| the head’s sink |")]
    assert line.startswith(f"| the head’s sink | {decimal(sink, 3)} |")
    assert line.endswith(f"| {percent(float(lacking), 1)} |")
    assert "minus the head’s sink" in words(app)
    drawn = sent(visit("explore", model=model, text=PROMPT, layer="1", head="2"), "head_view")
    assert "the head’s sink" in drawn["note"]
    for page in ("find", "intervene", "score_heads", "compare"):
        clean(try_page(page, model=model, text=PROMPT))


def test_layers_without_attention_weights_say_what_they_are(opened: Open) -> None:
    model = opened("zamba2")
    app = visit("explore", model=model, text=PROMPT, stage="scaled", layer="3", head="2")
    what = "recurrent (Mamba 2), no attention weights"
    assert [info.value for info in app.info] == [f"Layer 3: {what}. Layer 2 is open."]
    atlas, head = sent(app, "atlas"), sent(app, "head_view")
    heads, layers = atlas["heads"], range(atlas["layers"])
    named = [set(atlas["facts"][layer * heads : (layer + 1) * heads]) == {what} for layer in layers]
    assert named == [True, False, True, False, True]
    assert "No attention weights in layers 1, 3 and 5: recurrent (Mamba 2)." in words(app)
    assert head["layer"] == 2
    read = view(model, ModelInput(PROMPT))
    own = attnviz.trace(PROMPT, model).stack("decoder")
    assert np.array_equal(traces.model_weights(read.model, read.given, "decoder")[1::2], own)
    for page in ("find", "intervene", "score_heads", "compare", "beyond_weights"):
        clean(try_page(page, model=model, text=PROMPT, layer="3"))


def test_a_decoder_shows_what_comes_after_the_last_word(opened: Open) -> None:
    model = opened("gpt2")
    app = visit("explore", model=model, text=PROMPT)
    head = sent(app, "head_view")
    assert labels(head["query_tokens"])[head["query"]] == "is"
    expected = attnviz.predictions(PROMPT, model)[-1].candidates
    shown = [row["shares"][0] for row in sent(app, "share_table")["rows"]]
    assert shown == pytest.approx([each.probability for each in expected[: len(shown)]], rel=1e-4)
    # And what was asked first opens the head that has the clearest link.
    weights = attnviz.trace(PROMPT, model=model).stack("decoder")[:, :, -1, 1:-1].max(axis=-1)
    clearest = np.unravel_index(weights.argmax(), weights.shape)
    assert (head["layer"] - 1, head["heads"][0] - 1) == clearest
    assert "Guess first" not in words(app)


def test_a_decoder_writes_on_and_each_written_token_can_be_stepped_to(opened: Open) -> None:
    model = opened("gpt2")
    app = visit("explore", model=model, text=PROMPT, write="7")
    trace = loading.trace(model, ModelInput(PROMPT, writing=Writing(7)))
    tokens, passage = trace.of_kind("decoder")[0].query_tokens, sent(app, "passage")
    assert passage["typed"] == PROMPT
    assert passage["typed"] + "".join(passage["tokens"]) == trace.text
    assert len(passage["tokens"]) == trace.written == 7
    assert passage["chosen"] == 0, "the last typed token is where the first one is written"
    # Step to the fourth: its query is the token before it, and what was taken there is the fourth.
    clean(app.selectbox(key="query").set_value(app.selectbox(key="query").options[len(tokens) - 4]).run())
    assert sent(app, "passage")["chosen"] == 3
    [taken] = [row for row in sent(app, "share_table")["rows"] if row["mark"]]
    assert (taken["mark"], taken["label"]) == ("taken", tokens[-4].text)
    assert len(taken["shares"]) == 1, "without chance there are no filters to show"


def test_a_link_holds_all_that_the_model_was_given(opened: Open) -> None:
    app = visit("explore", model=opened("gpt2"), text=PROMPT)
    chosen = {"write": 4, "temperature": 0.7, "top_k": 3, "top_p": 0.9, "seed": 5}
    for key, value in chosen.items():
        clean(app.number_input(key=key).set_value(value).run())
    link = parse_qs(sent(app, "copy_link")["query"])
    assert {key: link[key] for key in chosen} == {key: [str(value)] for key, value in chosen.items()}
    again = visit("explore", link)
    assert not again.warning
    assert sent(again, "passage") == sent(app, "passage")
    pair = visit("explore", text="Birds sing.", other="Cats sleep.", second=TOGETHER, between="B→A")
    link = parse_qs(sent(pair, "copy_link")["query"])
    assert (link["second"], link["between"]) == ([TOGETHER], ["B→A"])


# Encoder–decoders


# Pairs and masks


def test_two_sentences_are_read_together_and_told_apart() -> None:
    one, other = "The dog did not cross the road.", "It was too tired."
    app = visit("explore", text=one, other=other, second=TOGETHER)
    trace, head = loading.trace("minilm", ModelInput(one, second=other)), sent(app, "head_view")
    tokens = trace.blocks[0].query_tokens
    assert labels(head["query_tokens"]) == [f"{token.text} {'ᴬᴮ'[token.sentence]}" for token in tokens]
    assert labels(head["query_tokens"])[head["query"]] == "it ᴮ"
    row = trace.block("encoder", 3).weights[1, head["query"]]
    in_b = np.array([token.sentence == 1 for token in trace.blocks[0].key_tokens])
    clean(app.segmented_control(key="between").set_value("B→A").run())
    head = sent(app, "head_view")
    assert all(label.endswith("ᴮ") for label in labels(head["query_tokens"]))
    assert all(label.endswith("ᴬ") for label in labels(head["key_tokens"]))
    assert len(head["query_tokens"]) == in_b.sum() != len(head["key_tokens"])
    weight, left = float(row[~in_b].max()), row[~in_b].sum()
    assert worked_weights(app) == [percent(weight / left, 1)]
    assert f"{percent(weight, 1)} ÷ {left:.4f} = **{percent(weight / left, 1)}**" in words(app)


def test_a_word_is_masked_and_filled_in(opened: Open) -> None:
    model = opened("bert")
    app = visit("explore", model=model, text="the dog did cross the road")
    assert "Type `[MASK]` in place of a word" in words(app)
    text = "the dog did [MASK] the road"
    app = visit("explore", model=model, text=text)
    assert str(app.selectbox(key="query").value) == "5 [MASK]"
    [expected] = attnviz.predictions(text, model)
    shown = [row[0] for row in numbers(app)]
    assert shown == pytest.approx([each.probability for each in expected.candidates[: len(shown)]], rel=1e-4)


# Limits, and what is taken along


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of some ten tokens are long here, and of more than 4 a matrix shows blocks."""
    monkeypatch.setattr(traces, "MAX_WEIGHTS", 6 * 10**2)
    monkeypatch.setattr(traces, "MAX_GUEST_WEIGHTS", 6 * 10**2)
    monkeypatch.setattr(window, "MAX_CELLS", 4)
    monkeypatch.setattr(window, "MIN_SPAN", 2)
    cache.clear()


@pytest.mark.usefixtures("long")
def test_weights_of_a_long_text_are_computed_as_they_are_shown(opened: Open) -> None:
    model, text = opened("gpt2"), "red dog " * 6
    app = visit("explore", model=model, text=text, layer="2", head="3", view="Matrix")
    weights = attnviz.trace(text, model).block("decoder", 1).weights[2]
    message = sent(app, "head_view")
    assert message["part"]["size"] == [12, 12]
    blocks = np.tril(weights).reshape(4, 3, 4, 3).max(axis=(1, 3))
    shown = stored(app, "part exact")["values"][0]
    np.testing.assert_allclose(np.nan_to_num(shown), blocks, atol=1e-6)
    assert np.isnan(shown[0, 1])  # masked
    assert [token["label"] for token in message["query_tokens"]][:2] == ["1 red …", "4 dog …"]

    app.session_state["hidden below"] = 0.1
    hides = sent(clean(app.run()), "head_view")["part"]["hides"]
    expected = weights[weights < 0.1].sum() / weights.sum()
    assert hides == f"not drawn: {percent(float(expected), 1)} of the head’s weight"


@pytest.mark.usefixtures("long")
def test_lines_of_a_long_text_lead_from_around_the_chosen_token(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "AROUND", 1)
    monkeypatch.setattr(long_head, "TOP", 2)
    model, text = opened("gpt2"), "red dog " * 6
    app = visit("explore", model=model, text=text, layer="2", head="3", query="10 dog", view="Lines")
    weights = attnviz.trace(text, model).block("decoder", 1).weights[2]
    columns = sorted({8, 9, 10, *np.argsort(weights[9])[-2:].tolist()})
    message, shown = sent(app, "head_view"), stored(app, "part exact")["values"][0]
    titles = [token["title"].split(":")[0] for token in message["key_tokens"]]
    assert titles == [f"token {n + 1}" for n in columns]
    assert message["query"] == 1
    row = np.where(np.array(columns) > 9, np.nan, weights[9, columns])  # the last one is masked
    np.testing.assert_allclose(shown[1], row, atol=1e-6)


@pytest.mark.usefixtures("long")
def test_other_visitors_and_changed_texts_keep_the_smaller_limit(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = try_page("explore", model=opened("gpt2"), text="red dog " * 6, write="2")
    assert "can have 10 tokens" in app.error[0].value
    assert app.text_input(key="text").value == "red dog " * 6
    clean(app.text_input(key="text").set_value("red dog").run())
    monkeypatch.setattr(allowed, "_restriction", lambda: False)
    app = try_page("explore", text="the dog " * 6)
    assert "Shorten the text" in app.error[0].value


def test_all_that_was_given_and_written_is_in_the_files(opened: Open, tmp_path: Path) -> None:
    given, model = ModelInput(PROMPT, writing=Writing(4, 0.8, 5, 0.9, 7)), opened("gpt2")
    (tmp_path / "taken.npz").write_bytes(npz_of(traces.trace(lookup.entry(model), given)))
    trace, taken = traces.trace(lookup.entry(model), given), Trace.load(tmp_path / "taken.npz")
    assert (taken.text, taken.written) == (trace.text, 4)
    told, _ = read_head_table(csv_of(view(model, given), Heads(1, 1, ())))
    assert told["sampling"] == "temperature 0.8; top k 5; top p 0.9; seed 7"
    [end] = [value for name, value in told.items() if name.startswith("generated text")]
    assert trace.text.removeprefix(PROMPT).strip() in end
    page = report_of(view(model, given), Heads(2, 3, ()), 4)
    assert page == report([trace], InitialView(kind="decoder", layer=1, head=2, query=4))


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


def test_a_pair_that_a_sliding_window_forbids_has_no_weight(opened: Open) -> None:
    text = "red dog green cat red dog green fish bird house"
    app = visit("explore", model=opened("mistral"), text=text, query="11 house", key="2 red")
    assert "Why does `house` not attend to `red`?" in app.subheader[0].value
    clean(app.selectbox(key="key").set_value("11 house").run())
    assert "Why does `house` attend to `house`?" in app.subheader[0].value
