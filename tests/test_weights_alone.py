"""Traces created from weights alone: arrays, lists, and outputs of transformers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

import attnviz
from attnviz.analysis.display_tokens import queries_and_keys
from attnviz.errors import InvalidTrace
from attnviz.trace import Floats, Trace
from tests.capture.tiny import FolderOf

WORDS = ("The", "tired", "dog", "sleeps", "now")


def random_weights(*shape: int) -> Floats:
    weights: Floats = np.random.default_rng(3).random(shape, dtype=np.float32) ** 3
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights


def test_arrays_lists_and_tensors_give_the_same_trace() -> None:
    weights = random_weights(2, 3, 5, 5)
    expected = Trace.from_weights(weights, WORDS)
    for same_weights in (
        weights.tolist(),
        torch.tensor(weights),
        tuple(layer[None] for layer in torch.tensor(weights)),
    ):
        assert np.array_equal(Trace.from_weights(same_weights, WORDS).stack("encoder"), weights)
    assert np.array_equal(expected.stack("encoder"), weights)
    assert expected.text == "The tired dog sleeps now"
    tokens = expected.blocks[1].key_tokens
    assert [expected.text[token.start : token.end] for token in tokens] == list(WORDS)
    assert repr(expected) == "<attnviz.Trace of 'weights alone': encoder 2 × 3 heads, 5 × 5 tokens>"
    assert expected.blocks[0].mask.all()


def test_vectors_are_refused_and_everything_else_works(tmp_path: Path) -> None:
    trace = Trace.from_weights(random_weights(2, 3, 5, 5), WORDS)
    for name in ("scores", "output"):
        with pytest.raises(
            InvalidTrace, match="This trace has only weights; its queries, keys and values are unknown"
        ):
            getattr(trace.blocks[0], name)
    trace.save(tmp_path / "alone.npz")
    loaded = Trace.load(tmp_path / "alone.npz")
    assert loaded.blocks[1].weights_alone
    assert np.array_equal(loaded.stack("encoder"), trace.stack("encoder"))
    table = attnviz.links_table(trace)
    assert len(table) == 2 * 3 * 5 * 5
    assert repr(attnviz.show(random_weights(2, 3, 5, 5), WORDS, head=2)) == (
        "<attnviz: Layer 1, head 3 of weights alone>"
    )


def test_a_file_without_w_o_is_small(tmp_path: Path) -> None:
    trace = attnviz.trace("The dog slept.")
    for what in ("all", "attention"):
        trace.save(tmp_path / what, what=what)
    loaded = Trace.load(tmp_path / "attention")
    assert (loaded.text, loaded.tokens) == (trace.text, trace.tokens)
    for one, other in zip(loaded.blocks, trace.blocks, strict=True):
        assert one.projection is None
        assert np.array_equal(one.scores, other.scores)
        assert np.array_equal(one.output, other.output)
    assert (tmp_path / "attention").stat().st_size < (tmp_path / "all").stat().st_size / 20
    with pytest.raises(InvalidTrace, match='"all" or "attention", not 7'):
        trace.save(tmp_path / "none.npz", what=7)  # type: ignore[arg-type]
    assert not (tmp_path / "none.npz").exists()


def test_rows_may_sum_to_less_than_1_if_there_is_a_sink(tmp_path: Path) -> None:
    weights = random_weights(2, 3, 5, 5) * np.linspace(0.2, 1, 5, dtype=np.float32)[:, None]
    with pytest.raises(
        InvalidTrace, match=r"weight belongs to a sink, as in GPT-OSS, use Trace\.from_weights\(…, sink"
    ):
        Trace.from_weights(weights, WORDS)
    trace = Trace.from_weights(weights, WORDS, sink=True)
    assert np.array_equal(trace.stack(), weights)
    trace.save(tmp_path / "sink.npz")
    for each in (trace, Trace.load(tmp_path / "sink.npz")):
        assert queries_and_keys(each, "encoder")[0].sink
    assert not queries_and_keys(Trace.from_weights(random_weights(1, 1, 5, 5), WORDS), "encoder")[0].sink
    with pytest.raises(InvalidTrace, match=r"Row 5 of encoder layer 1, head 1 sums to 1\.5, not to 1"):
        Trace.from_weights(1.5 * weights, WORDS, sink=True)
    assert "weight is on the head" in attnviz.show(trace).page


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([], "There are no weights"),
        ((None, None), "There are no weights.*output_attentions=True"),
        ("five", "not an array of numbers"),
        (random_weights(3, 5, 5), r"have the shape \(5, 5\)"),
        (random_weights(2, 3, 4, 4), "4 × 4 tokens, but there are 5 × 5"),
        (random_weights(2, 3, 5, 5) * np.nan, "not finite"),
        ({"last_hidden_state": 1}, "pass the attentions"),
        (np.eye(5)[None, None] * 3 - 0.4, r"contains -0\.4"),
        (random_weights(2, 0, 5, 5), "are empty"),
        ([random_weights(1, 5, 5), random_weights(2, 5, 5)], "layer 2 has 2 heads"),
        (random_weights(1, 2, 5, 5) / 2, r"Row \d of encoder layer 1, head 1 sums to 0\.5, not to 1\."),
    ],
)
def test_invalid_weights_are_refused(weights: Any, message: str) -> None:
    with pytest.raises(InvalidTrace, match=message):
        Trace.from_weights(weights, WORDS)


def test_show_needs_tokens_for_weights_and_refuses_them_for_a_trace() -> None:
    weights = random_weights(2, 3, 5, 5)
    with pytest.raises(TypeError, match="needs a trace, or weights with tokens=, not ndarray alone"):
        attnviz.show(weights)
    with pytest.raises(TypeError, match="A trace already has tokens"):
        attnviz.show(Trace.from_weights(weights, WORDS), WORDS)
    assert "These weights were passed to attnviz" in attnviz.show(weights, range(5)).page  # type: ignore[arg-type]


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("family", ["gemma2", "t5"])
def test_the_output_of_generate_becomes_one_trace(folder_of: FolderOf, family: str, use_cache: bool) -> None:
    is_encoder_decoder = family == "t5"
    auto = AutoModelForSeq2SeqLM if is_encoder_decoder else AutoModelForCausalLM
    network: Any = auto.from_pretrained(folder_of(family), attn_implementation="eager")
    ids = torch.tensor([[5, 9, 7, 6, 8, 10]])
    generated = network.generate(
        ids,
        max_new_tokens=4,
        do_sample=False,
        eos_token_id=None,
        use_cache=use_cache,
        output_attentions=True,
        return_dict_in_generate=True,
        disable_compile=True,
    )
    read_ids = generated.sequences[:, :-1]
    with torch.inference_mode():
        single_pass = network(
            **(
                {"input_ids": ids, "decoder_input_ids": read_ids}
                if is_encoder_decoder
                else {"input_ids": read_ids}
            ),
            output_attentions=True,
        )
    if is_encoder_decoder:
        found = Trace.from_weights(
            generated.encoder_attentions,
            ids[0].tolist(),
            decoder=generated.decoder_attentions,
            cross=generated.cross_attentions,
            target_tokens=generated.sequences[0].tolist(),
        )
        np.testing.assert_allclose(found.stack("cross"), torch.cat(single_pass.cross_attentions), atol=1e-5)
    else:
        found = Trace.from_weights(generated.attentions, generated.sequences[0].tolist())
    expected = single_pass.decoder_attentions if is_encoder_decoder else single_pass.attentions
    np.testing.assert_allclose(found.stack("decoder"), torch.cat(expected), atol=1e-5)
