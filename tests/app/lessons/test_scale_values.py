import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.app.lessons.scale import values

SIZES = tuple(2**power for power in range(11))


@pytest.mark.parametrize("seed", [0, 1, 8])
def test_variance_of_q_k_is_d_within_5_standard_errors(seed: int) -> None:
    measured, errors = values.variances(SIZES, 2000, seed)
    assert errors == pytest.approx([values.standard_error(d, 2000) for d in SIZES])
    assert (np.abs(measured - SIZES) < 5 * errors).all()
    # The bound excludes a wrong formula, such as √d or d².
    assert abs(measured[-1] - np.sqrt(1024)) > 5 * errors[-1]


@pytest.mark.parametrize("d", [1, 2, 13])
def test_standard_error_is_the_standard_deviation_of_measurements(d: int) -> None:
    random = np.random.default_rng(5)
    products = (random.standard_normal((4000, 53, d)) * random.standard_normal((4000, 53, d))).sum(axis=-1)
    assert products.var(axis=1, ddof=1).std() == pytest.approx(values.standard_error(d, 53), rel=0.06)


def test_softmax_of_vectors_of_one_entry() -> None:
    # q · k = 0 and ln 3; √1 = 1, so both softmaxes give 1/4 and 3/4.
    row = values.compare(torch.tensor([1.0]), torch.tensor([[0.0], [float(np.log(3))]]))
    assert row.dot_products == pytest.approx([0, 1.0986123])
    for softmax in (row.plain, row.scaled):
        assert softmax.weights == pytest.approx([0.25, 0.75])
        assert softmax.entropy == pytest.approx(0.8112781)
        # ∂w/∂s has four entries ±3/16; with the only nonzero key, ∂w/∂q has two entries ±3/16 · ln 3.
        assert softmax.gradient == pytest.approx(3 / 16 * np.log(3) * np.sqrt(2))


@given(st.lists(st.floats(-6, 6), min_size=1, max_size=11))
@settings(deadline=None, max_examples=60)
def test_jacobian_equals_autograd(scores: list[float]) -> None:
    at = torch.tensor(scores, dtype=torch.float64, requires_grad=True)
    rows = [torch.autograd.grad(at.softmax(dim=-1)[number], at)[0] for number in range(len(scores))]
    at = at.detach()
    weights = at.softmax(dim=-1)
    assert torch.allclose(values.jacobian(weights), torch.stack(rows), atol=1e-12)


@pytest.mark.parametrize(("scale", "name"), [(1.0, "plain"), (7**-0.5, "scaled")])
def test_derivative_with_respect_to_the_query_equals_autograd(scale: float, name: str) -> None:
    query, *others = torch.randn(6, 7, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    query.requires_grad_()
    keys = torch.stack(others)
    weights = (keys @ query * scale).softmax(dim=-1)
    rows = [torch.autograd.grad(weight, query, retain_graph=True)[0] for weight in weights]
    assert torch.allclose(values.derivative(weights.detach(), keys, scale), torch.stack(rows), atol=1e-12)
    found = getattr(values.compare(query.detach(), keys), name)
    assert found.gradient == pytest.approx(float(torch.stack(rows).norm()), rel=1e-5)


def test_larger_d_extends_the_same_vectors() -> None:
    query, *keys = torch.randn(6, 7, generator=torch.Generator().manual_seed(11)).numpy()
    for d in (1, 3, 7):
        row = values.row(d, 7, 5, 11)
        assert row.dot_products == pytest.approx([query[:d] @ key[:d] for key in keys], abs=1e-5)
