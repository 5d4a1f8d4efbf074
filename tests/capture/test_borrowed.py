"""Model objects passed by the caller: exact attention weights, and an unchanged model."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import peft
import pytest
import torch
from torch import nn
from transformers import AttentionInterface, AutoConfig, AutoModelForSequenceClassification

import attnviz
from attnviz.capture import loading
from attnviz.errors import AttnvizError, EmptyText, InvalidEdit, ModelNotSupported, TextTooLong, UnknownModel
from attnviz.trace import Kind, Trace
from tests.capture.reference import (
    ENCODER_DECODERS,
    TARGET,
    cached_trace,
    reference_model,
    reference_tokenizer,
    reference_weights,
)
from tests.capture.tiny import SENTENCE, TEXTS, FolderOf, families, untrained


@pytest.fixture
def network(folder_of: FolderOf) -> Any:
    return reference_model(folder_of("bert"))


@pytest.fixture
def tokenizer(folder_of: FolderOf) -> Any:
    return reference_tokenizer(folder_of("bert"))


def state(network: nn.Module) -> list[Any]:
    """Return everything that must not change: config, mode, hooks, tensors and gradients."""
    config: Any = network.config
    found: list[Any] = [str(config), config._attn_implementation]
    for name, module in network.named_modules():
        hooks = {key: list(value) for key, value in vars(module).items() if key.endswith("_hooks")}
        found.append((name, id(module), module.training, sorted(vars(module)), hooks))
    for name, tensor in (*network.named_parameters(), *network.named_buffers()):
        properties = (tensor._version, tensor.dtype, tensor.requires_grad, id(tensor.grad))
        found.append((name, id(tensor), properties))
    return found


def assert_same_weights(found: Trace, expected: Trace) -> None:
    for one, other in zip(found.blocks, expected.blocks, strict=True):
        assert (one.kind, one.layer) == (other.kind, other.layer)
        assert np.array_equal(one.weights, other.weights)


@pytest.mark.parametrize("family", families("objects", TEXTS))
def test_weights_of_an_object_equal_eager_and_leave_it_unchanged(folder_of: FolderOf, family: str) -> None:
    network = reference_model(folder_of(family)).train()
    next(network.parameters()).grad = torch.ones_like(next(network.parameters()))
    before = state(network)
    target = TARGET if family in ENCODER_DECODERS else None
    found = attnviz.trace(SENTENCE, network, target=target, tokenizer=reference_tokenizer(folder_of(family)))
    assert state(network) == before
    for kind, layers in reference_weights(folder_of(family)).items():
        for block, weights in zip(found.of_kind(kind), layers, strict=True):
            assert np.array_equal(block.weights, weights)
    assert_same_weights(found, cached_trace(folder_of(family)))
    assert found.blocks[0].query_tokens == cached_trace(folder_of(family)).blocks[0].query_tokens


def test_attention_implementation_of_the_object_does_not_matter(folder_of: FolderOf) -> None:
    for family in ("falcon", "gpt2"):  # Falcon's cannot be changed after loading
        network = reference_model(folder_of(family), implementation="sdpa")
        found = attnviz.trace(SENTENCE, network, tokenizer=reference_tokenizer(folder_of(family)))
        assert_same_weights(found, cached_trace(folder_of(family)))


def test_object_is_unchanged_by_threads_and_errors(network: Any, tokenizer: Any) -> None:
    before, backend = state(network), tokenizer.backend_tokenizer.to_str()
    expected = attnviz.trace(SENTENCE, network, tokenizer=tokenizer)

    def use(number: int) -> None:
        if number % 2:
            with pytest.raises(InvalidEdit):
                attnviz.trace(SENTENCE, network, tokenizer=tokenizer, edits=["encoder 9-9"])
        else:
            assert_same_weights(attnviz.trace(SENTENCE, network, tokenizer=tokenizer), expected)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(use, range(20)))
    assert state(network) == before
    assert tokenizer.backend_tokenizer.to_str() == backend


def test_object_that_raises_is_unchanged(network: Any, tokenizer: Any) -> None:
    def refuse(*_: Any) -> None:
        raise RuntimeError("no more memory")

    network.base_model.encoder.layer[1].register_forward_hook(refuse)
    before = state(network)
    with pytest.raises(ModelNotSupported, match=r"pass of BertModel raised RuntimeError: no more memory"):
        attnviz.trace(SENTENCE, network, tokenizer=tokenizer)
    assert state(network) == before


def test_borrowed_weights_are_shared_with_the_object(network: Any, tokenizer: Any) -> None:
    with attnviz.borrowed(network, tokenizer) as name:
        before = attnviz.trace(SENTENCE, name)
        with torch.no_grad():
            network.base_model.encoder.layer[0].attention.self.query.weight.mul_(0.5)
        after = attnviz.trace(SENTENCE, name)
    changed = returned_weights(network, tokenizer)
    assert not np.allclose(before.blocks[0].weights, after.blocks[0].weights, atol=0.01)
    assert all(np.array_equal(block.weights, each) for block, each in zip(after.blocks, changed, strict=True))
    with pytest.raises(UnknownModel):
        attnviz.trace(SENTENCE, name)


def returned_weights(network: Any, tokenizer: Any) -> list[Any]:
    with torch.inference_mode():
        returned = network(**tokenizer(SENTENCE, return_tensors="pt"), output_attentions=True).attentions
    return [layer[0].numpy() for layer in returned]


def test_hooks_of_the_caller_run(network: Any, tokenizer: Any) -> None:
    steered: Any = network.base_model.encoder.layer[0]
    steered.register_forward_hook(lambda _module, _given, returned: returned + torch.arange(15.0))
    found = attnviz.trace(SENTENCE, network, tokenizer=tokenizer)
    expected = returned_weights(network, tokenizer)
    assert all(
        np.array_equal(block.weights, each) for block, each in zip(found.blocks, expected, strict=True)
    )


def test_training_mode_checkpointing_and_autocast_change_nothing(network: Any, tokenizer: Any) -> None:
    expected = attnviz.trace(SENTENCE, network, tokenizer=tokenizer)
    network.train()
    network.activation_checkpointing_enable()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = attnviz.trace(SENTENCE, network, tokenizer=tokenizer)
    assert_same_weights(found, expected)
    for one, other in zip(found.blocks, expected.blocks, strict=True):
        assert one.projection is not None
        np.testing.assert_array_equal(one.projection, other.projection)


def test_padding_is_removed(network: Any, tokenizer: Any) -> None:
    tokenizer.pad_token, texts = "[PAD]", (SENTENCE, "The dog was tired .")
    expected = [attnviz.trace(text, network, tokenizer=tokenizer) for text in texts]
    padded = tokenizer(texts[1], padding="max_length", max_length=30)
    assert_same_weights(attnviz.trace(padded, network), expected[1])
    for encoded in (
        tokenizer(list(texts), padding=True),
        tokenizer(list(texts), padding=True, return_tensors="pt"),
    ):
        found = list(attnviz.trace_many(encoded, network, tokenizer=tokenizer))
        assert [len(trace.tokens) for trace in found] == [len(trace.tokens) for trace in expected]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one.stack(), other.stack(), atol=1e-6)


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
def test_prompt_tuning_is_refused(network: Any, tokenizer: Any) -> None:
    settings = peft.PromptTuningConfig(
        task_type="FEATURE_EXTRACTION",
        num_virtual_tokens=3,
        num_layers=2,
        token_dim=15,
        num_attention_heads=3,
    )
    with pytest.raises(ModelNotSupported, match="prepends vectors that are not tokens"):
        attnviz.trace(SENTENCE, peft.get_peft_model(network, settings), tokenizer=tokenizer)


def test_token_ids_and_their_text_have_equal_weights(network: Any, tokenizer: Any) -> None:
    expected = attnviz.trace(SENTENCE, network, tokenizer=tokenizer)
    encoded = tokenizer(SENTENCE)
    ids = encoded["input_ids"]
    for given in (ids, np.array(ids), torch.tensor([ids]), encoded, tokenizer(SENTENCE, return_tensors="pt")):
        assert_same_weights(attnviz.trace(given, network, tokenizer=tokenizer), expected)
    found = attnviz.trace(ids, network, tokenizer=tokenizer)
    tokens = found.blocks[0].query_tokens
    assert [token.text for token in tokens] == tokenizer.convert_ids_to_tokens(ids)
    assert [found.text[token.start : token.end] for token in tokens[1:-1]] == SENTENCE.split()
    numbered = attnviz.trace(ids, network)
    assert_same_weights(numbered, expected)
    assert [token.text for token in numbered.blocks[0].query_tokens] == [str(number) for number in ids]
    assert_same_weights(attnviz.trace(ids, network.name_or_path), expected)


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        ([], EmptyText, "no tokens"),
        ([1] * 99, TextTooLong, "99"),
        ([1, -1], TypeError, r"non-negative integers.*not \[1, -1\]"),
        ([1.5, 2], TypeError, "non-negative integers"),
        ([[1, 2], [3, 4]], TypeError, "token ids of one text"),
        ([[1, 2], [3]], TypeError, "token ids of one text"),
        ([1, 9_999], ModelNotSupported, "has embeddings only"),
        ({"input_ids": [1, 2], "token_type_ids": [0, 1]}, TypeError, "Pass a sentence pair as text"),
    ],
)
def test_invalid_token_ids_are_refused(network: Any, ids: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        attnviz.trace(ids, network)


def test_invalid_model_or_tokenizer_is_refused(network: Any, tokenizer: Any) -> None:
    model: Any
    for model in (nn.Linear(2, 2), 7, None):
        with pytest.raises(
            TypeError, match=r"must be a name, such as \"minilm\".*, not (Linear|int|NoneType)"
        ):
            attnviz.trace(SENTENCE, model)
    with pytest.raises(ModelNotSupported, match="needs a tokenizer to read a text: pass tokenizer="):
        attnviz.trace(SENTENCE, network)
    with pytest.raises(TypeError, match=r"tokenizer must be a transformers tokenizer.*, not 7"):
        attnviz.trace(SENTENCE, network, tokenizer=7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="only with a model object"):
        attnviz.trace(SENTENCE, "minilm", tokenizer=tokenizer)
    with pytest.raises(EmptyText):
        attnviz.trace(" ", network, tokenizer=tokenizer)


def test_unsupported_objects_are_refused(tokenizer: Any, folder_of: FolderOf) -> None:
    def assert_refused(model: Any, message: str) -> None:
        with pytest.raises(ModelNotSupported, match=message):
            attnviz.trace(SENTENCE, model, tokenizer=tokenizer)

    assert_refused(reference_model(folder_of("vit")), "reads images")
    assert_refused(
        reference_model(folder_of("bloom")).bfloat16(),
        r"only in float32, not in bfloat16\. Open it without bfloat16, or call model\.float\(\)",
    )
    assert_refused(reference_model(folder_of("bert")).double(), "computes in float64")
    partly_loaded: Any = reference_model(folder_of("bert"))
    partly_loaded.base_model.encoder.layer[1].to("meta")
    assert_refused(partly_loaded, "are not in memory")
    partly_loaded = reference_model(folder_of("bert"))
    partly_loaded.base_model.embeddings.position_ids = torch.zeros(1, 5, device="meta")
    assert_refused(partly_loaded, "are not in memory")


def test_layers_that_compute_attention_twice_give_a_warning() -> None:
    sizes = {"vocab_size": 61, "hidden_size": 16, "num_attention_heads": 4, "num_key_value_heads": 2}
    message = "has 3 layers of decoder attention, but attnviz recorded 6 layers"
    network = untrained("diffllama", **sizes, num_hidden_layers=3, intermediate_size=8)
    for call in (
        lambda: [attnviz.trace([2, 5, 7], network)],
        lambda: attnviz.trace_many([[2, 5, 7]], network),
    ):
        with pytest.warns(match=message) as warned:
            assert next(iter(call())).blocks[2].weights_alone
        assert warned[0].filename == __file__


BATCH = (SENTENCE, "The dog was tired .", "The cat saw a fish and the old man went home", "he was")


@pytest.mark.parametrize("family", families("many at once", TEXTS))
def test_batched_traces_equal_single_ones(folder_of: FolderOf, family: str) -> None:
    batched = list(attnviz.trace_many(iter(BATCH), folder_of(family), batch_size=3))
    assert len(batched) == len(BATCH)
    for text, found in zip(BATCH, batched, strict=True):
        single = attnviz.trace(text, folder_of(family))
        assert (found.text, found.target) == (single.text, single.target)
        for one, other in zip(found.blocks, single.blocks, strict=True):
            assert one.query_tokens == other.query_tokens
            assert np.array_equal(one.mask, other.mask)
            for part in ("query", "key", "value", "weights"):
                np.testing.assert_allclose(getattr(one, part), getattr(other, part), atol=5e-6, rtol=1e-5)


def test_invalid_batches_are_refused() -> None:
    assert list(attnviz.trace_many([])) == []
    for texts in (SENTENCE, None):
        with pytest.raises(
            TypeError, match=r"texts must be a list of texts, such as \[text\], not (str|NoneType)"
        ):
            list(attnviz.trace_many(texts))  # type: ignore[arg-type]  # must fail
    with pytest.raises(TypeError, match=r"batch_size must be a whole number, not 1\.5"):
        list(attnviz.trace_many([SENTENCE], batch_size=1.5))  # type: ignore[arg-type]  # must fail
    with pytest.raises(TypeError, match="Remove position_ids"):
        list(attnviz.trace_many({"input_ids": [[1]], "position_ids": [[3]]}))
    with pytest.raises(AttnvizError, match="batch_size must be 1 or more, not 0"):
        list(attnviz.trace_many([SENTENCE], batch_size=0))
    with pytest.raises(EmptyText):
        list(attnviz.trace_many([SENTENCE, " "]))


PAIR = (SENTENCE, "The cat saw a fish .")


def test_batched_pairs_equal_single_ones(folder_of: FolderOf, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, other = folder_of("bert"), (PAIR[1], PAIR[0])
    single = [attnviz.trace(one, folder, second) for one, second in (PAIR, other)]
    monkeypatch.setattr(loading.load(str(folder)), "trace", None)  # the pairs must run in one batch
    for one, expected in zip(attnviz.trace_many([PAIR, other], folder), single, strict=True):
        assert (one.text, one.second, one.tokens) == (expected.text, expected.second, expected.tokens)
        np.testing.assert_allclose(one.stack(), expected.stack(), atol=5e-6, rtol=1e-5)


@pytest.mark.parametrize("names", [["input_ids", "token_type_ids"], ["input_ids"]])
def test_model_gets_token_type_ids_of_its_tokenizer(network: Any, tokenizer: Any, names: list[str]) -> None:
    tokenizer.model_input_names = names
    with torch.inference_mode():
        expected = network(**tokenizer(*PAIR, return_tensors="pt"), output_attentions=True).attentions
    found = attnviz.trace(PAIR[0], network, second=PAIR[1], tokenizer=tokenizer)
    assert [token.sentence for token in found.tokens].count(1) > 1
    for block, weights in zip(found.blocks, expected, strict=True):
        assert np.array_equal(block.weights, weights[0].numpy())


def test_custom_attention_function_is_refused() -> None:
    def sharp(module: Any, query: Any, key: Any, value: Any, mask: Any, **_: Any) -> Any:  # noqa: ARG001
        weights = (3 * query @ key.mT).softmax(-1)
        return (weights @ value).transpose(1, 2), weights

    AttentionInterface.register("sharp", sharp)
    network = untrained("bert", hidden_size=32, num_attention_heads=4, num_hidden_layers=1, vocab_size=60)
    network.set_attn_implementation("sharp")
    with pytest.raises(ModelNotSupported, match=r"a custom function, “sharp”.*set_attn_implementation"):
        attnviz.trace([1, 7, 9], network)
    network.set_attn_implementation("eager")
    assert attnviz.trace([1, 7, 9], network).stack().shape == (1, 4, 3, 3)


@pytest.mark.parametrize("family", ["bart", "mbart", "t5"])
def test_decoder_of_a_classifier_reads_the_text_again(family: str) -> None:
    sizes = {
        "bart": {"decoder_layers": 2, "encoder_layers": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24},
        "t5": {"d_kv": 8, "d_ff": 24, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0},
    }
    heads = {} if family == "t5" else {"encoder_attention_heads": 4, "decoder_attention_heads": 4}
    settings = {**sizes["t5" if family == "t5" else "bart"], **heads, "d_model": 32, "vocab_size": 60}
    config = AutoConfig.for_model(family, **settings, eos_token_id=2, pad_token_id=1)
    build: Any = AutoModelForSequenceClassification.from_config  # untyped in transformers
    network = build(config, attn_implementation="eager").eval()
    ids = [5, 7, 9, 30, 2]
    trace = attnviz.trace(ids, network)
    with torch.inference_mode():
        returned = network(torch.tensor([ids]), output_attentions=True)
    expected: dict[Kind, Any] = {
        "encoder": returned.encoder_attentions,
        "decoder": returned.decoder_attentions,
        "cross": returned.cross_attentions,
    }
    for kind, weights in expected.items():
        assert np.array_equal(trace.stack(kind), torch.cat(weights).numpy())
