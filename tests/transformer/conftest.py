"""What the tests of the transformer share: steps whose shapes are checked, and a seed."""

from collections.abc import Callable
from typing import NamedTuple, get_type_hints

import pytest
import torch
from jaxtyping import config, jaxtyped
from torch import Tensor


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@pytest.fixture
def check_shapes() -> Callable[[NamedTuple], None]:
    """Fails unless a step's tensors have the annotated shapes, one size for each name."""
    return _check_shapes


def _check_shapes(steps: NamedTuple) -> None:
    inner = []
    with jaxtyped("context"):
        for field, annotation in get_type_hints(type(steps)).items():
            value = getattr(steps, field)
            if isinstance(value, Tensor):
                assert isinstance(value, annotation), f"{field}: {tuple(value.shape)} is not {annotation}"
            elif hasattr(value, "_fields"):
                inner.append(value)
            else:
                inner.extend(step for step in value if hasattr(step, "_fields"))
    for step in inner:
        _check_shapes(step)


@pytest.fixture
def without_shape_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As outside these tests: wrong shapes reach the functions' own lines."""
    monkeypatch.setattr(config, "jaxtyping_disable", True)
