import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.models.t5.modeling_t5 import T5Attention

from attnviz.app.lessons.compute import bert, run, token_ids, tokens
from attnviz.app.lessons.positions import values

TIRED = "The dog did not cross the road as it was too tired."
ROUNDING = 1e-5  # float32 has 7 digits; the outputs have magnitudes near 1
RATES = 10_000.0 ** (-np.arange(0, values.D_MODEL, 2) / values.D_MODEL)


def test_products_of_sinusoidal_positions_depend_only_on_distance() -> None:
    found = values.waves(15)
    assert found.encoding.shape == (values.REACH, values.D_MODEL)
    distance = np.abs(np.subtract.outer(np.arange(values.REACH), np.arange(values.REACH)))
    products = found.encoding @ found.encoding.T
    np.testing.assert_allclose(products, found.by_distance[distance], atol=1e-4)
    # PE · PE = Σ cos(distance · rate), since cos a cos b + sin a sin b = cos(a − b).
    expected = np.cos(np.arange(values.REACH)[:, None] * RATES).sum(axis=1)
    np.testing.assert_allclose(found.by_distance, expected, atol=1e-4)
    np.testing.assert_allclose(found.rates, RATES)
    assert len(values.waves(101).encoding) == 101


def test_similarity_of_learned_positions_and_its_period() -> None:
    found, table = values.learned(), bert().embeddings.positions.table.detach().numpy()
    assert found.limit == len(table)
    three_apart = [
        table[i] @ table[i + 3] / np.linalg.norm(table[i]) / np.linalg.norm(table[i + 3])
        for i in range(1, len(table) - 3)
    ]
    for statistic, expected in ((found.mean, np.mean), (found.low, np.min), (found.high, np.max)):
        assert statistic[3] == pytest.approx(expected(three_apart), abs=1e-5)
    for distance in (6, 12):
        assert found.mean[distance] > max(found.mean[distance - 3], found.mean[distance + 3])


def test_buckets_equal_transformers() -> None:
    distances = torch.arange(-300, 301)
    expected = T5Attention._relative_position_bucket(distances)  # type: ignore[no-untyped-call]
    found = values.t5_buckets(distances.numpy())
    assert found.tolist() == expected.tolist()
    assert (found[distances.numpy() >= 91] == 31).all()
    assert found[distances.numpy() == 90] == 30


@pytest.mark.parametrize("seed", [1, 2, 7])
def test_bert_without_positions_ignores_word_order(seed: int) -> None:
    found = values.shuffle(TIRED, seed)
    assert found.without.differences.max() < ROUNDING
    assert found.without.cosines.min() > 1 - ROUNDING
    assert found.with_positions.differences.min() > 0.1
    assert found.with_positions.cosines.max() < 0.99


def test_differences_equal_recomputed_outputs() -> None:
    found = values.shuffle(TIRED, 3)
    order = torch.tensor(found.order)
    with torch.inference_mode():
        after = bert()(token_ids(tokens(TIRED))[order]).hidden_states[-1]
    before = run(TIRED).hidden_states[-1][order]
    np.testing.assert_allclose(
        found.with_positions.differences, (before - after).abs().amax(dim=1), atol=ROUNDING
    )
    product = (before * after).sum(dim=1) / before.norm(dim=1) / after.norm(dim=1)
    np.testing.assert_allclose(found.with_positions.cosines, product, atol=ROUNDING)


@given(seed=st.integers(1, 999), text=st.sampled_from([TIRED, "Two words", "unbelievable", "a a a b"]))
def test_shuffle_moves_only_words(seed: int, text: str) -> None:
    read = tokens(text)
    order = values.shuffled(read, seed)
    assert order == values.shuffled(read, seed)
    assert sorted(order) == list(range(len(read)))
    assert (order[0], order[-1]) == (0, len(read) - 1)
    assert (order != tuple(range(len(read)))) == (len(read) > 3)
    assert values.shuffled(read, 0) == tuple(range(len(read)))


def test_rotary_scores_reach_the_key_of_a_long_text() -> None:
    assert values.rotary("dog " * 100, 3, 1, 2, 99).distances.max() == 97
