"""Every vector and norm in a block: those of transformers' own BERT, and by hand."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from attnviz.app.lessons.block.values import lengths, walk, walk_through
from attnviz.transformer.layers import EncoderLayer
from tests.app.lessons.block_reference import blocks, cosine

TEXT = "The dog did not cross the road as it was too tired."
IT = 9
D_MODEL, HEADS, D_FEED_FORWARD, TOKENS = 35, 5, 53, 11


def random_layer() -> tuple[EncoderLayer, Tensor]:
    """A layer with random parameters, those of its norms too, and an input."""
    torch.manual_seed(0)
    layer = EncoderLayer(D_MODEL, HEADS, D_FEED_FORWARD, nn.GELU()).eval()
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.4)
    return layer, torch.randn(TOKENS, D_MODEL)


@pytest.mark.parametrize("token", range(TOKENS))
def test_the_parts_sum_to_the_output(token: int) -> None:
    walked = walk_through(*random_layer(), token)
    total = np.sum(list(walked.parts.values()), axis=0)
    np.testing.assert_allclose(total, walked.vectors["came_out"].values, atol=1e-5)
    # Each is a part of its own: a sum without one of them is another vector.
    assert min(np.abs(part).max() for part in walked.parts.values()) > 0.01


def test_the_largest_products_are_the_largest_of_all() -> None:
    layer, tokens = random_layer()
    walked = walk_through(layer, tokens, 2)
    for linear, name, found in (
        (layer.feed_forward.expand, "attended", walked.into_neuron),
        (layer.feed_forward.contract, "activated", walked.into_dimension),
    ):
        weight = linear.weight.detach().numpy()
        place = np.abs(weight * walked.vectors[name].values).argmax(axis=1)
        np.testing.assert_array_equal(found.place, place)
        np.testing.assert_array_equal(found.weight, weight[np.arange(len(weight)), place])


@torch.inference_mode()
def test_other_tokens_set_to_zero_change_attention_and_not_the_feed_forward_network() -> None:
    layer, tokens = random_layer()
    walked = walk_through(layer, tokens, 4)
    alone = torch.zeros_like(tokens)
    alone[4] = tokens[4]
    change = layer(alone).attention.output[4] - layer(tokens).attention.output[4]
    assert walked.change_of_attention == pytest.approx(float(change.norm()), abs=1e-6)
    assert walked.change_of_attention > 0.1
    assert walked.change_of_feed_forward == 0


@pytest.mark.parametrize("layer", range(6))
@pytest.mark.parametrize("token", [0, IT, 14])
def test_every_vector_is_the_one_in_transformers(layer: int, token: int) -> None:
    walked, read = walk(TEXT, layer, token), blocks(TEXT)
    assert (walked.layers, walked.tokens) == (6, 15)
    for name, vectors in read.vectors[layer].items():
        found, expected = walked.vectors[name], vectors[token]
        np.testing.assert_allclose(found.values, expected, atol=1e-4, err_msg=name)
        assert found.length == pytest.approx(np.sqrt(expected @ expected), rel=1e-5)
        assert found.mean == pytest.approx(expected.mean(), abs=1e-5)
        if name in {"expanded", "activated"}:
            assert found.cosine is None
        else:
            assert found.cosine == pytest.approx(cosine(expected, read.hidden_states[layer, token]), abs=1e-5)


@pytest.mark.parametrize("layer", range(6))
def test_the_norms_are_the_published_ones(layer: int) -> None:
    walked, read = walk(TEXT, layer, IT), blocks(TEXT)
    names = ("attention.output.LayerNorm", "first_sum"), ("output.LayerNorm", "second_sum")
    for norm, (name, came_in) in zip(walked.norms, names, strict=True):
        total = read.vectors[layer][came_in][IT]
        np.testing.assert_array_equal(norm.gain, read.parameters[layer][f"{name}.weight"])
        np.testing.assert_array_equal(norm.offset, read.parameters[layer][f"{name}.bias"])
        assert norm.mean == pytest.approx(total.mean(), abs=1e-5)
        assert norm.variance == pytest.approx(total.var(), rel=1e-4)
        assert norm.epsilon == 1e-12


def test_the_parameters_of_the_feed_forward_network_are_counted() -> None:
    parameters = blocks(TEXT).parameters[0]
    dense = [f"{part}.dense.{kind}" for part in ("intermediate", "output") for kind in ("weight", "bias")]
    share = sum(parameters[name].size for name in dense) / sum(tensor.size for tensor in parameters.values())
    assert walk(TEXT, 0, IT).feed_forward_share == pytest.approx(share)


def test_lengths_and_cosines_of_all_layers() -> None:
    found, read = lengths(TEXT), blocks(TEXT)
    for name in ("came_in", "attention", "feed_forward"):
        expected = [np.linalg.norm(vectors[name], axis=-1) for vectors in read.vectors]
        np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-4)
    expected = [
        [cosine(now, begun) for now, begun in zip(state, read.hidden_states[0], strict=True)]
        for state in read.hidden_states
    ]
    np.testing.assert_allclose(found.similarity, expected, atol=1e-5)


def test_one_in_fifty_numbers_is_beyond_the_reach() -> None:
    walked = walk(TEXT, 3, IT)
    sizes = np.abs(
        np.concatenate([each.values for each in walked.vectors.values() if len(each.values) == 384])
    )
    assert (sizes > walked.reach).mean() == pytest.approx(1 / 50, abs=0.001)
