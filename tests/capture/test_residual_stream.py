"""Decomposition of the residual stream: the parts sum to a token's output and to its logits."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from attnviz.analysis.decomposition import Part, around_attention
from attnviz.capture import loading
from attnviz.capture.huggingface import HuggingFaceModel
from attnviz.capture.model import Model, ModelInput
from attnviz.capture.residual_stream import decomposition, logit_lens, residual_stream
from attnviz.errors import AttnvizError, InvalidTrace, ModelNotSupported
from attnviz.trace import Floats, Kind
from attnviz.trained.storyteller.sizes import SIZES
from tests.capture.sentences import TIRED, text_for
from tests.capture.tiny import FAMILIES, SENTENCE, TEXTS, FolderOf, families

TARGET = "It was the cat and a fish ."
IT = 5

ENCODER_DECODERS = ("bart", "marian", "t5")
# Unsupported: Gemma 2 normalizes its layers' outputs; GPT-OSS has experts, not one feed-forward network.
SUMS = tuple(family for family in TEXTS if family not in {"gemma2", "gpt_oss"})
POST_NORM = (
    *("bert", "roberta", "distilbert", "albert", "electra", "bart", "marian", "deberta", "deberta-v2"),
    *("mpnet", "roformer", "minilm", "minilm-scratch", "translator"),
)


def opened(name: str, folder_of: FolderOf) -> tuple[Model, ModelInput]:
    if name in FAMILIES:
        return loading.load(str(folder_of(name))), ModelInput(
            SENTENCE, target=TARGET if name in ENCODER_DECODERS else None
        )
    return loading.load(name), ModelInput(text_for(name))


def sum_of(parts: tuple[Part, ...]) -> Floats:
    """Return the sum of the parts' vectors."""
    total = sum(vector for part in parts for vector in part.vectors.reshape(-1, part.vectors.shape[-1]))
    return np.asarray(total, dtype=np.float32)


@pytest.mark.parametrize(
    "name", ["minilm", "minilm-scratch", "translator", *SIZES, *families("residual streams", SUMS)]
)
def test_parts_sum_to_the_output(name: str, folder_of: FolderOf) -> None:
    model, model_input = opened(name, folder_of)
    outcomes, trace = model.outcomes(model_input, [()]), model.trace(model_input)
    for kind in {block.kind for block in trace.blocks} - {"cross"}:
        states = outcomes.states if kind == "decoder" or outcomes.source is None else outcomes.source
        for place in (0, IT):
            found = decomposition(model, model_input, place, kind)
            np.testing.assert_array_equal(found.output, states[0, place])
            np.testing.assert_allclose(sum_of(found.parts), found.output, atol=1e-5)
            assert found.residual < 1e-5
            blocks = [block for block in trace.blocks if block.kind in (kind, "cross")]
            blocks = blocks if kind == "decoder" else [*trace.of_kind(kind)]
            read = [part for part in found.parts if part.vectors.ndim == 3]
            assert [(part.kind, part.layer, part.vectors.shape[:2]) for part in read] == [
                (block.kind, block.layer, block.value.shape[:2]) for block in blocks
            ]
            layers = range(
                0 if name == "storyteller" else len(trace.of_kind(kind))
            )  # the storyteller has only attention
            assert [p.layer for p in found.parts if p.kind == "feed-forward"] == [*layers]


def test_parts_of_bert_equal_a_direct_computation(minilm: Model) -> None:
    """A head's part is its output after all later norms, with the divisors of the model's run."""
    assert isinstance(minilm, HuggingFaceModel)
    found = decomposition(minilm, TIRED, IT)
    network = minilm.network
    ids = torch.tensor([[token.id for token in minilm.tokens(TIRED)]])
    norms = [m for m in network.modules() if isinstance(m, nn.LayerNorm)]
    divisors: dict[nn.Module, Tensor] = {}

    def record(module: nn.Module, inputs: tuple[Tensor]) -> None:
        divisors[module] = (inputs[0].var(-1, correction=0, keepdim=True) + module.eps).sqrt()  # type: ignore[operator]

    hooks = [norm.register_forward_pre_hook(record) for norm in norms]
    with torch.inference_mode():
        network(ids)
    for hook in hooks:
        hook.remove()
    layer, head = 3, 2
    vector = torch.tensor(head_contributions(minilm, layer)[head].sum(axis=0))
    for norm in norms[1 + 2 * layer :]:  # norms[0] is for the embeddings; each layer has two norms
        vector = (vector - vector.mean()) / divisors[norm][0, IT] * norm.weight.detach()
    part = next(part for part in found.parts if (part.kind, part.layer) == ("encoder", layer))
    np.testing.assert_allclose(part.vectors[head].sum(axis=0), vector.numpy(), atol=1e-6)


def head_contributions(model: Model, layer: int) -> Floats:
    """Return the contributions of a layer's heads to the token, [head, key, d_model]."""
    block = model.trace(TIRED).block("encoder", layer)
    assert block.projection is not None
    return np.asarray(block.weights[:, IT, :, None] * (block.value @ block.projection), dtype=np.float32)


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_direct_logit_attribution(family: str, folder_of: FolderOf) -> None:
    """Compare with head outputs, scaled by the last norm, times the unembedding (Elhage et al. 2021)."""
    model = loading.load(str(folder_of(family)))
    assert isinstance(model, HuggingFaceModel)
    network = model.network
    ids = torch.tensor([[token.id for token in model.tokens(SENTENCE)]])
    heads, size = network.config.num_attention_heads, network.config.hidden_size
    mixers = [
        module
        for name, module in network.named_modules()
        if name.endswith(("attn.c_proj", "self_attn.o_proj"))
    ]
    last = next(
        module for name, module in network.named_modules() if name in ("transformer.ln_f", "model.norm")
    )
    recorded: dict[nn.Module, Tensor] = {}
    hooks = [
        module.register_forward_pre_hook(lambda module, inputs: recorded.update({module: inputs[0][0, IT]}))
        for module in (*mixers, last)
    ]
    with torch.inference_mode():
        logits = network(ids).logits[0, IT]
    for hook in hooks:
        hook.remove()
    word = int(logits.argmax())
    stream = recorded[last]
    centred = stream - stream.mean() if family == "gpt2" else stream
    scale = centred.square().mean().add(1e-5 if family == "gpt2" else network.config.rms_norm_eps).rsqrt()
    unembedding = network.lm_head.weight.detach()[word] * last.get_parameter("weight").detach() * scale
    if family == "gpt2":
        unembedding = unembedding - unembedding.mean()

    found = decomposition(model, SENTENCE, IT)
    direction, bias = found.logit(word)
    assert float(found.output @ direction) + bias == pytest.approx(float(logits[word]), abs=1e-4)
    total = sum(float((part.vectors @ direction).sum()) for part in found.parts) + bias
    assert total == pytest.approx(float(logits[word]), abs=1e-4)
    attentions = [part for part in found.parts if part.kind == "decoder"]
    for part, output_layer in zip(attentions, mixers, strict=True):
        weight = output_layer.get_parameter("weight").detach()
        rows = (weight if family == "gpt2" else weight.T).reshape(heads, -1, size)
        outputs = torch.einsum("hd,hdm->hm", recorded[output_layer].reshape(heads, -1), rows)
        np.testing.assert_allclose(
            (part.vectors @ direction).sum(axis=1), (outputs @ unembedding).numpy(), atol=1e-5
        )


@pytest.mark.parametrize("family", ["t5", "bart", "gptj", "translator"])
def test_parts_sum_to_every_logit(family: str, folder_of: FolderOf) -> None:
    model, model_input = opened(family, folder_of)
    found = decomposition(model, model_input, IT)
    rows = [found.logit(row) for row in range(7, 41)]
    sums = [sum(float((p.vectors @ row).sum()) for p in found.parts) + bias for row, bias in rows]
    predicted = model.outcomes(model_input, [()], position=IT).probabilities
    assert predicted is not None
    logs = np.log(predicted[0, 7:41])
    np.testing.assert_allclose(np.array(sums) - sums[0], logs - logs[0], atol=1e-4)


@pytest.mark.parametrize("name", ["minilm", "bert"])
def test_logits_of_a_nonlinear_head_are_refused(name: str, folder_of: FolderOf) -> None:
    """BERT's prediction head has an additional layer and a norm."""
    model, model_input = opened(name, folder_of)
    with pytest.raises(ModelNotSupported, match=r"no logits to decompose: .* Its output can be"):
        decomposition(model, model_input, IT).logit(7)


def test_residual_of_gpt2_is_the_hidden_state(folder_of: FolderOf) -> None:
    model = loading.load(str(folder_of("gpt2")))
    assert isinstance(model, HuggingFaceModel)
    ids = torch.tensor([[token.id for token in model.tokens(SENTENCE)]])
    with torch.inference_mode():
        states = model.network(ids, output_hidden_states=True).hidden_states
    around = around_attention(residual_stream(model, SENTENCE, IT, "decoder"))
    for (_, residual, norm), state in itertools.zip_longest(around, states[:-1]):
        np.testing.assert_allclose(residual, state[0, IT].numpy(), atol=1e-6)
        assert norm is None


@pytest.mark.parametrize("name", ["minilm", "translator", *families("residual streams", SUMS)])
def test_norm_after_attention_only_in_post_norm_models(name: str, folder_of: FolderOf) -> None:
    model, model_input = opened(name, folder_of)
    kind: Kind = model.trace(model_input).blocks[0].kind
    for _, _, norm in around_attention(residual_stream(model, model_input, IT, kind)):
        assert (norm is not None) == (name in POST_NORM)


def test_other_operations_on_the_vector_are_refused(folder_of: FolderOf, tmp_path: Path) -> None:
    class Doubled(nn.Module):
        def forward(self, vectors: Tensor) -> Tensor:
            return 2 * vectors

    folder = folder_of("gpt2")
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    model = loading.load(str(tmp_path))  # not shared with other tests
    assert isinstance(model, HuggingFaceModel)
    model.network.set_submodule("transformer.h.1.mlp.dropout", Doubled())
    with pytest.raises(ModelNotSupported, match="by operations other than"):
        decomposition(model, SENTENCE, IT)


def test_unknown_token_kind_or_row_is_refused(minilm: Model, folder_of: FolderOf) -> None:
    with pytest.raises(AttnvizError, match="no token 15: counted from 0, the last one is 14"):
        decomposition(minilm, TIRED, 15)
    with pytest.raises(InvalidTrace, match="no decoder attention"):
        decomposition(minilm, TIRED, 1, "decoder")
    with pytest.raises(AttnvizError, match="contributes to the decoder’s output"):
        decomposition(loading.load("translator"), TIRED, 1, "cross")
    with pytest.raises(ModelNotSupported):
        decomposition(loading.load(str(folder_of("vit"))), SENTENCE, 1)
    logits = decomposition(loading.load(str(folder_of("gpt2"))), SENTENCE, 1).logit
    for row in (-1, 10**6):
        with pytest.raises(AttnvizError, match=f"no token {row} in the vocabulary: the last id is"):
            logits(row)


def test_too_many_parts_are_refused(minilm: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnviz.capture.residual_stream.MAX_ELEMENTS", 6 * 12 * 15 * 384 - 1)
    with pytest.raises(
        AttnvizError,
        match=r"decomposition would have 414,720 elements; the limit is 414,719\. Shorten the text",
    ):
        decomposition(minilm, TIRED, IT)


@pytest.mark.parametrize("family", ["gpt2", "t5", "bart", "translator", "storyteller"])
def test_logit_lens_ends_with_the_models_logits(family: str, folder_of: FolderOf) -> None:
    model, model_input = opened(family, folder_of)
    found = logit_lens(model, model_input, IT)
    predicted = model.outcomes(model_input, [()], position=IT).probabilities
    assert predicted is not None
    probabilities = torch.tensor(found.logits).softmax(dim=1)
    np.testing.assert_allclose(probabilities[-1], predicted[0], atol=1e-5)
    layers = max(block.layer for block in model.trace(model_input).blocks if block.kind == "decoder") + 1
    assert len(probabilities) == layers + 1


def test_logit_lens_of_gpt2_applies_the_last_norm(folder_of: FolderOf) -> None:
    model = loading.load(str(folder_of("gpt2")))
    assert isinstance(model, HuggingFaceModel)
    ids = torch.tensor([[token.id for token in model.tokens(SENTENCE)]])
    head, norm = model.network.lm_head, model.network.get_submodule("transformer.ln_f")
    with torch.inference_mode():
        *early, _ = model.network(ids, output_hidden_states=True).hidden_states
        expected = [head(norm(state[0, IT])).numpy() for state in early]
    np.testing.assert_allclose(logit_lens(model, SENTENCE, IT).logits[:-1], np.stack(expected), atol=1e-5)
