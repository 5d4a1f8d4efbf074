"""What the tests of the transformer share: a seed, and a way to pass wrong shapes."""

import pytest
import torch
from jaxtyping import config


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@pytest.fixture
def without_shape_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As outside these tests: wrong shapes reach the functions' own lines."""
    monkeypatch.setattr(config, "jaxtyping_disable", True)
