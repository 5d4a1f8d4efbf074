"""Six steps from a vector to a head's output, compared with NumPy and with the model."""

import numpy as np
import pytest
import torch
from torch import nn

from attnviz.app.lessons.query_key_value.values import MAX_ROWS, Walk, head_projection, walk

SENTENCE = "The dog did not cross the road as it was too tired."
LONG = " ".join(f"The dog number {n} did not cross the road." for n in range(1, 9))


def steps_in_numpy(done: Walk) -> dict[str, np.ndarray]:
    """Compute the six steps from the shown numbers alone, in double precision."""
    x = done.vectors.astype(np.float64)  # step 1
    query = done.vector.astype(np.float64) @ done.query_matrix + done.query_bias  # step 2
    keys = x @ done.key_matrix + done.key_bias
    values = x @ done.value_matrix + done.value_bias
    dot_products = np.array([sum(q * k for q, k in zip(query, key, strict=True)) for key in keys])  # step 3
    scores = dot_products / np.sqrt(len(query))  # step 4
    exponentials = np.exp(scores)  # step 5
    weights = exponentials / exponentials.sum()
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


def check(done: Walk) -> None:
    """Check that each step follows from the shown numbers, and that the result equals the model's."""
    expected_steps = steps_in_numpy(done)
    for name, expected in expected_steps.items():
        np.testing.assert_allclose(getattr(done, name), expected, atol=1e-5, err_msg=name)
    np.testing.assert_allclose(expected_steps["output"], done.model_output, atol=1e-5)
    np.testing.assert_allclose(expected_steps["weights"], done.model_weights[done.token], atol=1e-5)
    np.testing.assert_allclose(expected_steps["scores"], done.model_scores[done.token], atol=1e-5)
    assert done.difference <= 1e-5
    assert np.float32(done.weights.sum()) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "layer", "head", "token"),
    [(SENTENCE, 0, 0, 0), (SENTENCE, 3, 1, 9), (SENTENCE, 5, 11, 14), ("?", 2, 7, 1), (LONG, 4, 3, 31)],
)
def test_shown_numbers_lead_to_the_models_output(text: str, layer: int, head: int, token: int) -> None:
    done = walk(text, layer, head, token)
    np.testing.assert_array_equal(done.vector, done.vectors[token])
    assert (done.d_model, done.d_head) == (384, 32)
    assert text == LONG or done.rows == list(range(len(done.tokens)))
    check(done)


def test_columns_of_heads_concatenate_to_the_layer() -> None:
    """Three heads of size 5 project vectors of size 7."""
    linear = nn.Linear(7, 15)
    vectors = torch.randn(11, 7)
    parts = [head_projection(linear, head, 5) for head in range(3)]
    together = torch.cat([vectors @ matrix + bias for matrix, bias in parts], dim=-1)
    torch.testing.assert_close(together, linear(vectors))
    assert [tuple(part.matrix.shape) for part in parts] == [(7, 5)] * 3


def test_long_text_has_rows_for_the_token_and_the_largest_weights() -> None:
    done = walk(LONG, 3, 1, 31)
    assert len(done.tokens) > MAX_ROWS
    assert len(done.rows) == MAX_ROWS
    assert list(done.rows) == sorted(set(done.rows))
    assert 31 in done.rows
    least_shown = min(done.weights[row] for row in done.rows if row != 31)
    assert all(done.weights[t] <= least_shown for t in range(len(done.tokens)) if t not in done.rows)
