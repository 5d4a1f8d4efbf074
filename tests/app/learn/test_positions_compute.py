"""Without positions a shuffle shuffles the outputs; four kinds of positions; a model's own positions."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnviz.app.learn.compute import bert, run, token_ids, tokens
from attnviz.app.learn.positions import compute
from attnviz.app.learn.positions.compute import REACH, STARTS, encode, set_experiment, shuffled

TIRED = "The dog did not cross the road as it was too tired."
ROUNDING = 1e-5  # float32 holds 7 digits; the outputs are about 1


@pytest.mark.parametrize("seed", [1, 2, 3, 5, 7])
def test_the_real_bert_sees_a_set_without_positions_and_a_sentence_with_them(seed: int) -> None:
    found = set_experiment(TIRED, seed)
    assert sorted(found.order) == list(range(15))
    assert found.without.differences.max() < ROUNDING
    assert found.without.cosines.min() > 1 - ROUNDING
    assert found.with_positions.differences.min() > 0.1
    assert found.with_positions.cosines.max() < 0.99


def test_before_and_after_are_the_models_outputs() -> None:
    found = set_experiment(TIRED, 3)
    order = torch.tensor(found.order)
    with torch.inference_mode():
        after = bert()(token_ids(tokens(TIRED))[order]).hidden_states[-1]
    before = run(TIRED).hidden_states[-1][order]
    # LayerNorm(word + segment + position) here, (word + position) + segment there: another order of adding.
    np.testing.assert_allclose(found.with_positions.before, before, atol=ROUNDING)
    np.testing.assert_allclose(found.with_positions.after, after, atol=ROUNDING)
    np.testing.assert_allclose(
        found.with_positions.differences, (before - after).abs().amax(dim=1), atol=ROUNDING
    )
    product = (before * after).sum(dim=1) / before.norm(dim=1) / after.norm(dim=1)
    np.testing.assert_allclose(found.with_positions.cosines, product, atol=ROUNDING)


def test_the_same_word_twice_is_one_vector_without_positions() -> None:
    found = set_experiment(TIRED, 1)
    assert found.twins is not None
    assert (found.twins.first, found.twins.second) == (1, 6)
    assert {found.tokens[place].text for place in (1, 6)} == {"the"}
    assert found.twins.without < ROUNDING
    read = run(TIRED).hidden_states[-1]
    assert found.twins.with_positions == pytest.approx(float((read[1] - read[6]).abs().max()), abs=ROUNDING)
    assert found.twins.with_positions > 0.1


def test_a_sentence_of_different_words_has_no_twins() -> None:
    assert set_experiment("Every word differs", 1).twins is None


def test_the_input_without_positions_is_the_norm_of_word_and_segment() -> None:
    ids = token_ids(tokens(TIRED))
    parts = bert().embeddings
    with torch.inference_mode():
        given_in = encode(bert(), ids, with_positions=False).hidden_states[0]
        vector = parts.words.weight[ids[9]] + parts.segments.weight[0]
    expected = (vector - vector.mean()) / (vector.var(correction=0) + parts.norm.eps).sqrt()
    torch.testing.assert_close(given_in[9], expected * parts.norm.weight + parts.norm.bias)


@given(seed=st.integers(1, 999), text=st.sampled_from([TIRED, "Two words", "unbelievable", "a a a b"]))
def test_a_shuffle_moves_words_only_and_always_something(seed: int, text: str) -> None:
    read = tokens(text)
    order = shuffled(read, seed)
    assert order == shuffled(read, seed)
    assert sorted(order) == list(range(len(read)))
    assert (order[0], order[-1]) == (0, len(read) - 1)
    assert (order != tuple(range(len(read)))) == (len(read) > 3)


def test_number_0_is_the_original_order() -> None:
    found = set_experiment(TIRED, 0)
    assert found.order == tuple(range(15))
    assert found.with_positions.differences.max() == 0


def test_products_of_waves_depend_on_the_distance_alone() -> None:
    found = compute.waves(15)
    assert found.encoding.shape == (REACH, compute.D_MODEL)
    distance = np.abs(np.subtract.outer(np.arange(REACH), np.arange(REACH)))
    np.testing.assert_allclose(found.products, found.by_distance[distance], atol=1e-4)
    # PE · PE = Σ cos(distance · rate), since cos a cos b + sin a sin b = cos(a − b).
    rates = 10_000.0 ** (-np.arange(0, compute.D_MODEL, 2) / compute.D_MODEL)
    expected = np.cos(np.arange(REACH)[:, None] * rates).sum(axis=1)
    np.testing.assert_allclose(found.by_distance, expected, atol=1e-4)
    np.testing.assert_allclose(found.rates, rates)
    assert len(compute.waves(101).encoding) == 101


def test_berts_table_is_its_own() -> None:
    found = compute.table(7)
    every = bert().embeddings.positions.table.detach().numpy()
    assert np.array_equal(found.vectors, every[:7])
    np.testing.assert_allclose(
        found.cosines[3, 5], every[3] @ every[5] / np.prod(found.lengths[[3, 5]]), rtol=1e-5
    )
    three_apart = [
        every[i] @ every[i + 3] / np.linalg.norm(every[i]) / np.linalg.norm(every[i + 3])
        for i in range(1, len(every) - 3)
    ]
    for statistic, expected in ((found.mean, np.mean), (found.low, np.min), (found.high, np.max)):
        assert statistic[3] == pytest.approx(expected(three_apart), abs=1e-5)


def test_rotary_scores_of_two_words_are_the_same_wherever_they_stand() -> None:
    found = compute.rotary(TIRED, 3, 1, 9, 2)
    assert found.moved.shape == (len(STARTS), 2 * REACH + 1)
    np.testing.assert_allclose(found.moved, found.moved[:1].repeat(len(STARTS), axis=0), atol=ROUNDING)
    at = {int(distance): place for place, distance in enumerate(found.distances)}
    assert found.moved[0, at[2 - 9]] == pytest.approx(found.scores[9, 2], abs=ROUNDING)
    assert found.moved[0, at[0]] == pytest.approx(found.plain[9, 2], abs=ROUNDING)
    np.testing.assert_allclose(found.scores.diagonal(), found.plain.diagonal(), atol=ROUNDING)


def test_rotary_scores_by_complex_numbers() -> None:
    # A pair of numbers is one complex number, and a turn by m θ is a product with e^(i m θ).
    found = compute.rotary(TIRED, 0, 4, 9, 2)
    query, key = (vector[0::2] + 1j * vector[1::2] for vector in (found.query, found.key))
    turn = np.exp(1j * (9 - 2) * found.frequencies)
    score = (query * np.conj(key) * turn).sum().real / np.sqrt(len(found.query))
    assert score == pytest.approx(found.scores[9, 2], abs=ROUNDING)


def test_without_rotation_the_same_word_twice_gets_the_same_scores() -> None:
    found = compute.rotary(TIRED, 3, 1, 9, 2)
    assert found.plain[:, 1] == pytest.approx(found.plain[:, 6], abs=ROUNDING)
    assert np.abs(found.scores[:, 1] - found.scores[:, 6]).max() > 0.1


def test_biases_fall_by_the_slope_and_nobody_looks_ahead() -> None:
    found = compute.alibi(5, 8)
    assert found.bias.shape == (8, 5, 5)
    assert found.bias[0, 4].tolist() == [-2, -1.5, -1, -0.5, 0]
    assert np.isnan(found.bias[0, 2]).tolist() == [False, False, False, True, True]
    assert found.by_distance[7, :3].tolist() == [0, -1 / 256, -2 / 256]
    assert found.slopes[2] == 1 / 8
