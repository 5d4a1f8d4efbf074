"""Six steps from a vector to a head's output: by hand, in numpy, and against what the model computed."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from attnviz.errors import EmptyText, TextTooLong
from attnviz.lessons.query_key_value import MOST_ROWS, Projection, Walk, of_head, six_steps, walk

SENTENCE = "The dog did not cross the road as it was too tired."
LONG = " ".join(f"The dog number {n} did not cross the road." for n in range(1, 9))


def in_numpy(done: Walk) -> dict[str, np.ndarray]:
    """The six steps with nothing but the numbers on the screen, in double precision."""
    x = done.vectors.astype(np.float64)  # step 1
    query = x[done.token] @ done.query_matrix + done.query_bias  # step 2
    keys = x @ done.key_matrix + done.key_bias
    values = x @ done.value_matrix + done.value_bias
    dot_products = np.array([sum(q * k for q, k in zip(query, key, strict=True)) for key in keys])  # step 3
    scores = dot_products / np.sqrt(len(query))  # step 4
    weights = np.exp(scores) / np.exp(scores).sum()  # step 5
    output = sum(weight * value for weight, value in zip(weights, values, strict=True))  # step 6
    return {
        "query": query,
        "keys": keys,
        "values": values,
        "dot_products": dot_products,
        "scores": scores,
        "weights": weights,
        "output": np.asarray(output),
    }


@pytest.mark.parametrize(
    ("text", "layer", "head", "token"),
    [(SENTENCE, 0, 0, 0), (SENTENCE, 3, 1, 9), (SENTENCE, 5, 11, 14), ("?", 2, 7, 1), (LONG, 4, 3, 31)],
)
def test_the_steps_from_the_shown_numbers_give_the_models_output(
    text: str, layer: int, head: int, token: int
) -> None:
    done = walk(text, layer, head, token)
    again = in_numpy(done)
    for name, expected in again.items():
        np.testing.assert_allclose(getattr(done, name), expected, atol=1e-5, err_msg=name)
    np.testing.assert_allclose(again["output"], done.model_output, atol=1e-5)
    np.testing.assert_allclose(again["weights"], done.model_weights[token], atol=1e-5)
    np.testing.assert_allclose(again["scores"], done.model_scores[token], atol=1e-5)
    assert done.difference <= 1e-5
    assert np.float32(done.weights.sum()) == pytest.approx(1, abs=1e-6)


def test_sizes_and_read_only() -> None:
    done = walk(SENTENCE, 3, 1, 9)
    assert (done.d_model, done.d_head, len(done.tokens)) == (384, 32, 15)
    arrays = {name: value for name, value in vars(done).items() if isinstance(value, np.ndarray)}
    assert {name for name, array in arrays.items() if array.flags.writeable} == set()
    assert {array.dtype.name for array in arrays.values()} == {"float32"}


def test_it_looks_at_the_dog() -> None:
    done = walk(SENTENCE, 3, 1, 9)
    assert done.tokens[int(done.weights.argmax())].text == "dog"


def test_by_hand() -> None:
    """Two tokens, (1, 2) and (3, 0); d_head = 1. W_Q picks the first number, W_K and W_V the second."""
    vectors = torch.tensor([[1.0, 2.0], [3.0, 0.0]])
    first, second = torch.tensor([[1.0], [0.0]]), torch.tensor([[0.0], [1.0]])
    steps = six_steps(
        vectors,
        1,
        Projection(first, torch.tensor([-2.0])),  # q = 3 − 2 = 1
        Projection(second, torch.tensor([0.0])),  # k = 2, 0
        Projection(second, torch.tensor([5.0])),  # v = 7, 5
    )
    assert steps.query.tolist() == [1.0]
    assert steps.keys.tolist() == [[2.0], [0.0]]
    assert steps.values.tolist() == [[7.0], [5.0]]
    assert steps.dot_products.tolist() == [2.0, 0.0]
    assert steps.scores.tolist() == [2.0, 0.0]
    first_weight = np.e**2 / (np.e**2 + 1)
    assert steps.weights.tolist() == pytest.approx([first_weight, 1 - first_weight])
    assert steps.output.tolist() == pytest.approx([7 * first_weight + 5 * (1 - first_weight)])


def test_the_scores_are_divided_by_the_root_of_d_head() -> None:
    """d_head = 4: every dot product is halved."""
    vectors = torch.randn(7, 5)
    maps = [Projection(torch.randn(5, 4), torch.randn(4)) for _ in range(3)]
    steps = six_steps(vectors, 2, *maps)
    torch.testing.assert_close(steps.scores, steps.dot_products / 2)


@given(st.integers(0, 2**32 - 1), st.integers(0, 6))
def test_an_output_is_a_mixture_of_the_values(seed: int, token: int) -> None:
    generator = torch.Generator().manual_seed(seed)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    steps = six_steps(random(7, 5), token, *[Projection(random(5, 3), random(3)) for _ in range(3)])
    assert float(steps.weights.sum()) == pytest.approx(1, abs=1e-5)
    assert (steps.output >= steps.values.amin(0) - 1e-5).all()
    assert (steps.output <= steps.values.amax(0) + 1e-5).all()


def test_a_heads_columns_stand_side_by_side() -> None:
    """Three heads of 5 numbers, from vectors of 7."""
    linear = nn.Linear(7, 15)
    vectors = torch.randn(11, 7)
    parts = [of_head(linear, head, 5) for head in range(3)]
    together = torch.cat([vectors @ matrix + bias for matrix, bias in parts], dim=-1)
    torch.testing.assert_close(together, linear(vectors))
    assert [tuple(part.matrix.shape) for part in parts] == [(7, 5)] * 3


def test_a_short_text_has_a_row_for_every_token() -> None:
    assert walk(SENTENCE, 3, 1, 9).rows == tuple(range(15))


def test_a_long_text_has_rows_for_the_token_and_those_that_it_looks_at_most() -> None:
    done = walk(LONG, 3, 1, 31)
    assert len(done.tokens) > MOST_ROWS
    assert len(done.rows) == MOST_ROWS
    assert list(done.rows) == sorted(set(done.rows))
    assert 31 in done.rows
    least_shown = min(done.weights[row] for row in done.rows if row != 31)
    assert all(done.weights[t] <= least_shown for t in range(len(done.tokens)) if t not in done.rows)


def test_weights_are_unique_in_a_short_text_and_not_in_a_long_one() -> None:
    short, long = walk(SENTENCE, 3, 1, 9), walk(LONG, 3, 1, 31)
    assert short.free_directions == 0
    assert long.free_directions == len(long.tokens) - (long.d_head + 1)


def test_other_weights_give_the_very_same_output() -> None:
    """One of the free directions, walked along."""
    done = walk(LONG, 3, 1, 31)
    constraints = np.column_stack([done.values, np.ones(len(done.values))]).astype(np.float64)
    direction = np.linalg.svd(constraints.T)[2][-1]
    step = 0.5 * (done.weights / np.abs(direction).clip(1e-12)).min()
    others = done.weights + step * direction
    assert np.abs(others - done.weights).max() > 1e-5
    assert others.min() > 0
    assert others.sum() == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(others @ done.values, done.output, atol=1e-6)


def test_a_text_that_cannot_be_read_says_so() -> None:
    with pytest.raises(EmptyText):
        walk("", 0, 0, 0)
    with pytest.raises(TextTooLong):
        walk("dog " * 600, 0, 0, 0)
