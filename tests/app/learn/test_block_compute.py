"""The parts of a block add up, its norms are what the formula says, and six blocks make the whole model."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from attnviz.app.learn.block.compute import Norm, Station, Walk, journey, walk, walk_through
from attnviz.errors import EmptyText, TextTooLong
from attnviz.trace import Floats
from attnviz.transformer.feed_forward import FeedForward
from attnviz.transformer.layers import EncoderLayer
from tests.app.learn.block_reference import Array, blocks, cosine

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


def station(walked: Walk, name: str) -> Station:
    found: Station = getattr(walked, name)
    return found


def normed(values: Floats, norm: Norm) -> Array:
    """(s − μ) / √(σ² + ε) ⊙ γ + β in float64."""
    exact = values.astype(np.float64)
    variance = ((exact - exact.mean()) ** 2).mean()
    normal: Array = (exact - exact.mean()) / math.sqrt(variance + norm.epsilon)
    return normal * norm.gain + norm.offset


@given(seed=st.integers(0, 2**31), token=st.integers(0, TOKENS - 1))
def test_the_output_is_the_parts_added_up(seed: int, token: int) -> None:
    layer, tokens = random_layer(seed)
    walked = walk_through(layer, tokens, token)
    x, a, y, f = (
        station(walked, name).values for name in ("came_in", "attention", "attended", "feed_forward")
    )
    np.testing.assert_array_equal(x, tokens[token])
    np.testing.assert_allclose(walked.first_sum.values, x + a, atol=1e-6)
    np.testing.assert_allclose(y, normed(x + a, walked.first_norm), atol=1e-5)
    np.testing.assert_allclose(walked.second_sum.values, y + f, atol=1e-6)
    np.testing.assert_allclose(walked.came_out.values, normed(y + f, walked.second_norm), atol=1e-5)
    with torch.inference_mode():
        np.testing.assert_array_equal(walked.came_out.values, layer(tokens).output[token])


def test_the_feed_forward_network_by_hand() -> None:
    layer, tokens = random_layer()
    walked = walk_through(layer, tokens, 3)
    into, back = (
        [parameter.detach().double().numpy() for parameter in (linear.weight, linear.bias)]
        for linear in (layer.feed_forward.expand, layer.feed_forward.contract)
    )
    expanded = into[0] @ walked.attended.values + into[1]
    gelu = [h * (1 + math.erf(h / math.sqrt(2))) / 2 for h in expanded]
    np.testing.assert_allclose(walked.expanded.values, expanded, atol=1e-5)
    np.testing.assert_allclose(walked.activated.values, gelu, atol=1e-5)
    np.testing.assert_allclose(walked.feed_forward.values, back[0] @ gelu + back[1], atol=1e-5)
    assert walked.firing == sum(value > 0 for value in gelu)
    neurons, values = zip(*walked.strongest(4), strict=True)
    assert list(neurons) == sorted(range(D_FEED_FORWARD), key=lambda neuron: -gelu[neuron])[:4]
    np.testing.assert_allclose(values, sorted(gelu)[-1:-5:-1], atol=1e-5)


@torch.inference_mode()
def test_the_neuron_that_fires_most_is_followed_through_the_sentence() -> None:
    layer, tokens = random_layer()
    walked = walk_through(layer, tokens, 5)
    [(neuron, value)] = walked.strongest(1)
    np.testing.assert_array_equal(
        walked.strongest_everywhere, layer(tokens).feed_forward.activated[:, neuron].numpy()
    )
    assert walked.strongest_everywhere[5] == np.float32(value)


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


@given(seed=st.integers(0, 2**31), changed=st.integers(0, TOKENS - 1), size=st.sampled_from([1e-3, 1e3]))
@torch.inference_mode()
def test_the_feed_forward_network_never_mixes_tokens(seed: int, changed: int, size: float) -> None:
    torch.manual_seed(seed)
    feed_forward = FeedForward(D_MODEL, D_FEED_FORWARD, nn.GELU())
    before = torch.randn(TOKENS, D_MODEL)
    after = before.clone()
    after[changed] += size
    others = torch.arange(TOKENS) != changed
    one, other = feed_forward(before).output, feed_forward(after).output
    assert torch.equal(one[others], other[others])
    assert not torch.equal(one[changed], other[changed])


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
        found, expected = station(walked, name), vectors[token]
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


def test_six_layers_chain_from_the_embedding_to_the_last_hidden_state() -> None:
    states = blocks(TEXT).hidden_states
    walks = [walk(TEXT, layer, IT) for layer in range(6)]
    np.testing.assert_allclose(walks[0].came_in.values, states[0, IT], atol=1e-6)
    for before, after in pairwise(walks):
        np.testing.assert_array_equal(before.came_out.values, after.came_in.values)
    np.testing.assert_allclose(walks[-1].came_out.values, states[-1, IT], atol=1e-5)


def test_two_thirds_of_a_layers_numbers_are_in_its_feed_forward_network() -> None:
    walked, parameters = walk(TEXT, 0, IT), blocks(TEXT).parameters[0]
    dense = (
        "intermediate.dense.weight",
        "intermediate.dense.bias",
        "output.dense.weight",
        "output.dense.bias",
    )
    assert walked.parameters == sum(tensor.size for tensor in parameters.values())
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
    sizes = np.abs(np.concatenate([station(walked, name).values for name in OF_D_MODEL]))
    assert (sizes > walked.reach).mean() == pytest.approx(1 / 50, abs=0.001)


def test_nobody_can_write_into_what_all_visitors_share() -> None:
    walked, through = walk(TEXT, 0, 0), journey(TEXT)
    arrays = [
        *(station(walked, name).values for name in OF_D_MODEL),
        *(walked.first_norm.gain, walked.second_norm.offset, walked.into_neuron.place),
        *(walked.strongest_everywhere, through.came_in, through.similarity),
    ]
    assert not any(array.flags.writeable for array in arrays)


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(EmptyText):
        walk("", 0, 0)
    with pytest.raises(TextTooLong):
        journey("word " * 600)
