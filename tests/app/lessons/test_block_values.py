"""Every vector and norm in a block, compared with transformers' BERT."""

from functools import cache, partial

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attnviz.app.lessons.block.values import walk, walk_through
from attnviz.transformer.layers import EncoderLayer
from tests import reference_bert

TEXT = "The dog did not cross the road as it was too tired."
IT = 9
D_MODEL, HEADS, D_FEED_FORWARD, TOKENS = 35, 5, 53, 11
# Names of outputs in attnviz, and the modules of transformers that compute them.
MODULES = {
    "attention": "attention.output.dense",
    "after_attention": "attention.output.LayerNorm",
    "expanded": "intermediate.dense",
    "activated": "intermediate.intermediate_act_fn",
    "feed_forward": "output.dense",
    "layer_output": "output.LayerNorm",
}

Array = NDArray[np.float64]


@cache
def reference_vectors() -> tuple[list[dict[str, Array]], Array]:
    """Return each layer's vectors by name, [token, dimension], and the hidden states, from transformers."""
    model = reference_bert.model()
    layers: list[dict[str, Array]] = [{} for _ in model.encoder.layer]

    def record(found: dict[str, Array], name: str, *call: Tensor) -> None:
        found[name] = call[-1].reshape(-1, call[-1].shape[-1]).double().numpy()

    hooks = [
        layer.get_submodule(path).register_forward_hook(partial(record, found, name))
        for found, layer in zip(layers, model.encoder.layer, strict=True)
        for name, path in MODULES.items()
    ]
    with torch.inference_mode():
        inputs = reference_bert.tokenizer()(TEXT, return_tensors="pt")
        states = torch.cat(model(**inputs, output_hidden_states=True).hidden_states).double().numpy()
    for hook in hooks:
        hook.remove()
    for found, state in zip(layers, states, strict=False):
        found["layer_input"], found["first_sum"] = state, state + found["attention"]
        found["second_sum"] = found["after_attention"] + found["feed_forward"]
    return layers, states


def cosine(one: Array, other: Array) -> float:
    return float(one @ other / np.sqrt((one @ one) * (other @ other)))


def random_layer() -> tuple[EncoderLayer, Tensor]:
    """Return a layer with random parameters, including its norms, and a random input."""
    torch.manual_seed(0)
    layer = EncoderLayer(D_MODEL, HEADS, D_FEED_FORWARD, nn.GELU()).eval()
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.4)
    return layer, torch.randn(TOKENS, D_MODEL)


@pytest.mark.parametrize("token", range(TOKENS))
def test_parts_sum_to_the_output(token: int) -> None:
    walked = walk_through(*random_layer(), token)
    total = np.sum(list(walked.parts.values()), axis=0)
    np.testing.assert_allclose(total, walked.vectors["layer_output"].values, atol=1e-5)
    # No part is negligible, so the sum would differ if a part were missing.
    assert min(np.abs(part).max() for part in walked.parts.values()) > 0.01


@pytest.mark.parametrize("layer", range(6))
@pytest.mark.parametrize("token", [0, IT, 14])
def test_every_vector_equals_transformers(layer: int, token: int) -> None:
    walked, (layers, states) = walk(TEXT, layer, token), reference_vectors()
    assert walked.tokens == 15
    for name, vectors in layers[layer].items():
        found, expected = walked.vectors[name], vectors[token]
        np.testing.assert_allclose(found.values, expected, atol=1e-4, err_msg=name)
        assert found.length == pytest.approx(np.sqrt(expected @ expected), rel=1e-5)
        assert found.mean == pytest.approx(expected.mean(), abs=1e-5)
        if name in {"expanded", "activated"}:
            assert found.cosine is None
        else:
            assert found.cosine == pytest.approx(cosine(expected, states[layer, token]), abs=1e-5)


@pytest.mark.parametrize("layer", range(6))
def test_norms_equal_transformers(layer: int) -> None:
    walked, (layers, _) = walk(TEXT, layer, IT), reference_vectors()
    names = ("attention.output.LayerNorm", "first_sum"), ("output.LayerNorm", "second_sum")
    for norm, (name, layer_input) in zip(walked.norms, names, strict=True):
        total = layers[layer][layer_input][IT]
        module = reference_bert.model().encoder.layer[layer].get_submodule(name)
        np.testing.assert_array_equal(norm.gain, module.weight.detach())
        np.testing.assert_array_equal(norm.offset, module.bias.detach())
        assert norm.mean == pytest.approx(total.mean(), abs=1e-5)
        assert norm.variance == pytest.approx(total.var(), rel=1e-4)
        assert norm.epsilon == 1e-12
