"""Every vector, norm and number inside a block: those of transformers' own BERT, and by hand."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from attnviz.app.learn.block.compute import journey, walk, walk_through
from attnviz.transformer.layers import EncoderLayer
from tests.app.learn.block_reference import blocks, cosine

TEXT = "The dog did not cross the road as it was too tired."
IT = 9
D_MODEL, HEADS, D_FEED_FORWARD, TOKENS = 35, 5, 53, 11
OF_D_MODEL = (
    *("came_in", "attention", "first_sum", "attended"),
    *("feed_forward", "second_sum", "came_out"),
)


def random_layer(seed: int = 0) -> tuple[EncoderLayer, Tensor]:
    """A layer whose every parameter is random, those of its norms too, and tokens to go in."""
    torch.manual_seed(seed)
    layer = EncoderLayer(D_MODEL, HEADS, D_FEED_FORWARD, nn.GELU()).eval()
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.4)
    return layer, torch.randn(TOKENS, D_MODEL)


@torch.inference_mode()
def test_the_neurons_that_fire_are_counted_and_the_strongest_is_followed_through_the_sentence() -> None:
    layer, tokens = random_layer()
    walked, fired = walk_through(layer, tokens, 5), layer(tokens).feed_forward.activated.numpy()
    assert walked.firing == (fired[5] > 0).sum()
    order = sorted(range(D_FEED_FORWARD), key=lambda neuron: -fired[5, neuron])
    assert walked.strongest(4) == tuple((neuron, float(fired[5, neuron])) for neuron in order[:4])
    np.testing.assert_array_equal(walked.strongest_everywhere, fired[:, order[0]])


def test_the_largest_products_are_the_largest_of_all() -> None:
    layer, tokens = random_layer()
    walked = walk_through(layer, tokens, 2)
    for linear, vector, found in (
        (layer.feed_forward.expand, walked.attended, walked.into_neuron),
        (layer.feed_forward.contract, walked.activated, walked.into_dimension),
    ):
        weight = linear.weight.detach().numpy()
        products = weight * vector.values
        place = np.abs(products).argmax(axis=1)
        np.testing.assert_array_equal(found.place, place)
        np.testing.assert_array_equal(found.weight, weight[np.arange(len(weight)), place])
        np.testing.assert_array_equal(found.bias, linear.bias.detach())


@torch.inference_mode()
def test_zeros_in_place_of_the_others_change_attention_and_not_the_feed_forward_network() -> None:
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
    assert (walked.token, walked.layer, walked.layers, walked.tokens) == (token, layer, 6, 15)
    for name, vectors in read.vectors[layer].items():
        found, expected = walked.station(name), vectors[token]
        np.testing.assert_allclose(found.values, expected, atol=1e-4, err_msg=name)
        assert found.length == pytest.approx(np.sqrt(expected @ expected), rel=1e-5)
        assert found.mean == pytest.approx(expected.mean(), abs=1e-5)
        if name in OF_D_MODEL:
            assert found.cosine == pytest.approx(cosine(expected, read.hidden_states[layer, token]), abs=1e-5)
        else:
            assert found.cosine is None


@pytest.mark.parametrize("layer", range(6))
def test_the_norms_are_the_published_ones(layer: int) -> None:
    walked, read = walk(TEXT, layer, IT), blocks(TEXT)
    for norm, name, came_in in (
        (walked.first_norm, "attention.output.LayerNorm", "first_sum"),
        (walked.second_norm, "output.LayerNorm", "second_sum"),
    ):
        total = read.vectors[layer][came_in][IT]
        np.testing.assert_array_equal(norm.gain, read.parameters[layer][f"{name}.weight"])
        np.testing.assert_array_equal(norm.offset, read.parameters[layer][f"{name}.bias"])
        assert norm.mean == pytest.approx(total.mean(), abs=1e-5)
        assert norm.variance == pytest.approx(total.var(), rel=1e-4)
        assert norm.epsilon == 1e-12


def test_two_thirds_of_a_layers_numbers_are_in_its_feed_forward_network() -> None:
    walked, parameters = walk(TEXT, 0, IT), blocks(TEXT).parameters[0]
    assert walked.parameters == sum(tensor.size for tensor in parameters.values())
    dense = [f"{part}.dense.{kind}" for part in ("intermediate", "output") for kind in ("weight", "bias")]
    assert walked.parameters_of_feed_forward == sum(parameters[name].size for name in dense)


def test_the_journey_is_every_tokens_lengths_and_angles() -> None:
    through, read = journey(TEXT), blocks(TEXT)
    for name in ("came_in", "attention", "feed_forward"):
        expected = [np.linalg.norm(vectors[name], axis=-1) for vectors in read.vectors]
        np.testing.assert_allclose(getattr(through, name), expected, rtol=1e-4)
    expected = [
        [cosine(now, begun) for now, begun in zip(state, read.hidden_states[0], strict=True)]
        for state in read.hidden_states
    ]
    np.testing.assert_allclose(through.similarity, expected, atol=1e-5)


def test_one_in_fifty_numbers_goes_beyond_the_reach() -> None:
    walked = walk(TEXT, 3, IT)
    sizes = np.abs(np.concatenate([walked.station(name).values for name in OF_D_MODEL]))
    assert (sizes > walked.reach).mean() == pytest.approx(1 / 50, abs=0.001)
