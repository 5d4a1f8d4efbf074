"""Explore with a user's own models: inputs, generation, predictions, files and limits."""

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
    explained_weights,
    labels,
    message_to,
    open_page,
    page_text,
    stored_arrays,
    visit,
)
from tests.head_table import read_head_table

Open = Callable[[str], str]
PROMPT = "The capital of France is"
ENGLISH = "The dog did not cross the road ."
TOGETHER = "Read together with"


def view(model: str, model_input: ModelInput, kind: Any = "decoder", **options: str) -> View:
    return View(
        lookup.entry(model), kind, model_input, None, "weights", "shared", hide=False, merge=False, **options
    )


def numbers(app: AppTest) -> list[list[float]]:
    return [row["shares"] for row in message_to(app, "share_table")["rows"]]


def keys(elements: Any) -> set[str]:
    return {element.key for element in elements}


# Models that return only their weights


def test_model_with_only_weights_is_drawn_with_a_note_of_missing_parts(opened: Open) -> None:
    model = opened("openai-gpt")
    app = visit("explore", model=model, text=PROMPT, stage="scaled")
    [notice] = [info.value for info in app.info if "Weights only" in info.value]
    assert "Only the attention weights that transformers returns are shown" in notice
    assert "has custom attention code" in notice
    assert any("This trace has only weights" in info.value for info in app.info)  # instead of the arithmetic
    trace = loading.trace(model, ModelInput(PROMPT))
    assert all(block.weights_alone for block in trace.blocks)
    for page in ("find", "intervene"):
        other = open_page(page, model=model, text=PROMPT)
        messages = " ".join(each.value for each in (*other.error, *other.warning))
        assert "Only the attention weights that transformers returns are shown" in messages, page
    for page in ("score_heads", "compare"):
        clean(open_page(page, model=model, text=PROMPT))


# Decoder-only models


def test_sink_is_in_the_arithmetic_and_named_in_notes(opened: Open) -> None:
    model = opened("gpt_oss")
    app = visit("explore", model=model, text=PROMPT, layer="1", head="2", stage="minus sink")
    block = attnviz.trace(PROMPT, model).blocks[0]
    assert block.sinks is not None
    row = message_to(app, "head_view")["query"]
    lacking, sink = 1 - block.weights[1, row].sum(), float(block.sinks[1])
    assert lacking > 0.02
    [line] = [line for line in page_text(app).splitlines() if line.startswith("| the head’s sink |")]
    assert line.startswith(f"| the head’s sink | {decimal(sink, 3)} |")
    assert line.endswith(f"| {percent(float(lacking), 1)} |")
    assert "minus the head’s sink score" in page_text(app)
    drawn = message_to(visit("explore", model=model, text=PROMPT, layer="1", head="2"), "head_view")
    assert "the head’s sink" in drawn["note"]
    for page in ("find", "intervene", "score_heads", "compare"):
        clean(open_page(page, model=model, text=PROMPT))


def test_layers_without_attention_weights_are_named(opened: Open) -> None:
    model = opened("zamba2")
    app = visit("explore", model=model, text=PROMPT, stage="scaled", layer="3", head="2")
    layer_kind = "recurrent (Mamba 2), no attention weights"
    assert [info.value for info in app.info] == [f"Layer 3: {layer_kind}. Showing layer 2."]
    atlas, head = message_to(app, "atlas"), message_to(app, "head_view")
    heads, layers = atlas["heads"], range(atlas["layers"])
    named = [set(atlas["facts"][layer * heads : (layer + 1) * heads]) == {layer_kind} for layer in layers]
    assert named == [True, False, True, False, True]
    assert "No attention weights in layers 1, 3 and 5: recurrent (Mamba 2)." in page_text(app)
    assert head["layer"] == 2
    read = view(model, ModelInput(PROMPT))
    original = attnviz.trace(PROMPT, model).stack("decoder")
    assert np.array_equal(traces.model_weights(read.model, read.given, "decoder")[1::2], original)
    filtered = visit("explore", model=model, text=PROMPT, filter="previous")
    assert f"of {original.shape[0] * original.shape[1]} heads." in page_text(filtered)
    for page in ("find", "intervene", "score_heads", "compare", "beyond_weights"):
        clean(open_page(page, model=model, text=PROMPT, layer="3"))


def test_decoder_shows_predictions_after_the_last_token(opened: Open) -> None:
    model = opened("gpt2")
    app = visit("explore", model=model, text=PROMPT)
    head = message_to(app, "head_view")
    assert labels(head["query_tokens"])[head["query"]] == "is"
    expected = attnviz.predictions(PROMPT, model)[-1].candidates
    shown = [row["shares"][0] for row in message_to(app, "share_table")["rows"]]
    assert shown == pytest.approx([each.probability for each in expected[: len(shown)]], rel=1e-4)
    # The page opens with the head that has the largest weight in this row.
    weights = attnviz.trace(PROMPT, model=model).stack("decoder")[:, :, -1, 1:-1].max(axis=-1)
    clearest = np.unravel_index(weights.argmax(), weights.shape)
    assert (head["layer"] - 1, head["heads"][0] - 1) == clearest
    assert "Guess first" not in page_text(app)


def test_generated_tokens_can_be_stepped_through(opened: Open) -> None:
    model = opened("gpt2")
    app = visit("explore", model=model, text=PROMPT, write="7")
    trace = loading.trace(model, ModelInput(PROMPT, writing=Writing(7)))
    tokens, passage = trace.of_kind("decoder")[0].query_tokens, message_to(app, "passage")
    assert passage["typed"] == PROMPT
    assert passage["typed"] + "".join(passage["tokens"]) == trace.text
    assert len(passage["tokens"]) == trace.written == 7
    assert passage["chosen"] == 0, "the first generated token is selected"
    # For the fourth generated token, the query is the token before it.
    clean(app.selectbox(key="query").set_value(app.selectbox(key="query").options[len(tokens) - 4]).run())
    assert message_to(app, "passage")["chosen"] == 3
    [taken] = [row for row in message_to(app, "share_table")["rows"] if row["mark"]]
    assert (taken["mark"], taken["label"]) == ("chosen", tokens[-4].text)
    assert len(taken["shares"]) == 1, "greedy decoding has no filters"


def test_link_holds_the_complete_input(opened: Open) -> None:
    app = visit("explore", model=opened("gpt2"), text=PROMPT)
    chosen = {"write": 4, "temperature": 0.7, "top_k": 3, "top_p": 0.9, "seed": 5}
    for key, value in chosen.items():
        clean(app.number_input(key=key).set_value(value).run())
    link = parse_qs(message_to(app, "copy_link")["query"])
    assert {key: link[key] for key in chosen} == {key: [str(value)] for key, value in chosen.items()}
    reopened = visit("explore", link)
    assert not reopened.warning
    assert message_to(reopened, "passage") == message_to(app, "passage")
    pair = visit("explore", text="Birds sing.", other="Cats sleep.", second=TOGETHER, between="B→A")
    link = parse_qs(message_to(pair, "copy_link")["query"])
    assert (link["second"], link["between"]) == ([TOGETHER], ["B→A"])


# Pairs and masks


def test_two_sentences_read_together_are_labelled_a_and_b() -> None:
    one, other = "The dog did not cross the road.", "It was too tired."
    app = visit("explore", text=one, other=other, second=TOGETHER)
    trace, head = loading.trace("minilm", ModelInput(one, second=other)), message_to(app, "head_view")
    tokens = trace.blocks[0].query_tokens
    assert labels(head["query_tokens"]) == [f"{token.text} {'ᴬᴮ'[token.sentence]}" for token in tokens]
    assert labels(head["query_tokens"])[head["query"]] == "it ᴮ"
    row = trace.block("encoder", 3).weights[1, head["query"]]
    in_b = np.array([token.sentence == 1 for token in trace.blocks[0].key_tokens])
    clean(app.segmented_control(key="between").set_value("B→A").run())
    head = message_to(app, "head_view")
    assert all(label.endswith("ᴮ") for label in labels(head["query_tokens"]))
    assert all(label.endswith("ᴬ") for label in labels(head["key_tokens"]))
    assert len(head["query_tokens"]) == in_b.sum() != len(head["key_tokens"])
    weight, left = float(row[~in_b].max()), row[~in_b].sum()
    assert explained_weights(app) == [percent(weight / left, 1)]
    assert f"{percent(weight, 1)} ÷ {left:.4f} = **{percent(weight / left, 1)}**" in page_text(app)


def test_masked_token_shows_its_predictions(opened: Open) -> None:
    model = opened("bert")
    app = visit("explore", model=model, text="the dog did cross the road")
    assert "Type `[MASK]` in place of a word" in page_text(app)
    text = "the dog did [MASK] the road"
    app = visit("explore", model=model, text=text)
    assert str(app.selectbox(key="query").value) == "5 [MASK]"
    [expected] = attnviz.predictions(text, model)
    shown = [row[0] for row in numbers(app)]
    assert shown == pytest.approx([each.probability for each in expected.candidates[: len(shown)]], rel=1e-4)


# Limits and files


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the limits: about ten tokens are a long text, and a matrix of more than 4 tokens shows blocks."""
    monkeypatch.setattr(traces, "MAX_WEIGHTS", 6 * 10**2)
    monkeypatch.setattr(traces, "MAX_GUEST_WEIGHTS", 6 * 10**2)
    monkeypatch.setattr(window, "MAX_CELLS", 4)
    monkeypatch.setattr(window, "MIN_SPAN", 2)
    cache.clear()


@pytest.mark.usefixtures("long")
def test_matrix_of_a_long_text_shows_blocks(opened: Open) -> None:
    model, text = opened("gpt2"), "red dog " * 6
    app = visit("explore", model=model, text=text, layer="2", head="3", view="Matrix")
    weights = attnviz.trace(text, model).block("decoder", 1).weights[2]
    message = message_to(app, "head_view")
    assert message["part"]["size"] == [12, 12]
    blocks = np.tril(weights).reshape(4, 3, 4, 3).max(axis=(1, 3))
    shown = stored_arrays(app, "part exact")["values"][0]
    np.testing.assert_allclose(np.nan_to_num(shown), blocks, atol=1e-6)
    assert np.isnan(shown[0, 1])  # masked
    assert [token["label"] for token in message["query_tokens"]][:2] == ["1 red …", "4 dog …"]

    app.session_state["hidden below"] = 0.1
    note = message_to(clean(app.run()), "head_view")["part"]["hidden_weight"]
    expected = weights[weights < 0.1].sum() / weights.sum()
    assert note == f"not drawn: {percent(float(expected), 1)} of the head’s weight"


@pytest.mark.usefixtures("long")
def test_lines_of_a_long_text_surround_the_token(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "LINE_RADIUS", 1)
    monkeypatch.setattr(long_head, "NUM_TOP_KEYS", 2)
    model, text = opened("gpt2"), "red dog " * 6
    app = visit("explore", model=model, text=text, layer="2", head="3", query="10 dog", view="Lines")
    weights = attnviz.trace(text, model).block("decoder", 1).weights[2]
    columns = sorted({8, 9, 10, *np.argsort(weights[9])[-2:].tolist()})
    message, shown = message_to(app, "head_view"), stored_arrays(app, "part exact")["values"][0]
    titles = [token["title"].split(":")[0] for token in message["key_tokens"]]
    assert titles == [f"token {n + 1}" for n in columns]
    assert message["query"] == 1
    row = np.where(np.array(columns) > 9, np.nan, weights[9, columns])  # the last key is masked
    np.testing.assert_allclose(shown[1], row, atol=1e-6)


@pytest.mark.usefixtures("long")
def test_limit_applies_to_generation_and_remote_visitors(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_page("explore", model=opened("gpt2"), text="red dog " * 6, write="2")
    assert "can have at most 10 tokens" in app.error[0].value
    assert app.text_input(key="text").value == "red dog " * 6
    clean(app.text_input(key="text").set_value("red dog").run())
    monkeypatch.setattr(allowed, "_restriction", lambda: False)
    app = open_page("explore", text="the dog " * 6)
    assert "Shorten the text" in app.error[0].value


def test_files_have_the_input_and_the_generated_text(opened: Open, tmp_path: Path) -> None:
    model_input, model = ModelInput(PROMPT, writing=Writing(4, 0.8, 5, 0.9, 7)), opened("gpt2")
    (tmp_path / "saved.npz").write_bytes(npz_of(traces.trace(lookup.entry(model), model_input)))
    trace, saved = traces.trace(lookup.entry(model), model_input), Trace.load(tmp_path / "saved.npz")
    assert (saved.text, saved.written) == (trace.text, 4)
    metadata, _ = read_head_table(csv_of(view(model, model_input), Heads(1, 1, ())))
    assert metadata["sampling"] == "temperature 0.8; top k 5; top p 0.9; seed 7"
    [end] = [value for name, value in metadata.items() if name.startswith("generated text")]
    assert trace.text.removeprefix(PROMPT).strip() in end
    page = report_of(view(model, model_input), Heads(2, 3, ()), 4)
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
def test_file_name_is_never_a_path(model: str, name: str) -> None:
    assert file_name_of(model) == name


def test_pair_outside_a_sliding_window_has_no_weight(opened: Open) -> None:
    text = "red dog green cat red dog green fish bird house"
    app = visit("explore", model=opened("mistral"), text=text, query="11 house", key="2 red")
    assert "Why does `house` not attend to `red`?" in app.subheader[0].value
    clean(app.selectbox(key="key").set_value("11 house").run())
    assert "Why does `house` attend to `house`?" in app.subheader[0].value
