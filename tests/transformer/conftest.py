"""Fixtures for the tests of the transformer: a fixed seed, and disabled shape checks."""

import pytest
import torch
from jaxtyping import config


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@pytest.fixture
def without_shape_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn off the shape checks, which are active only in tests, so that wrong shapes reach the functions."""
    monkeypatch.setattr(config, "jaxtyping_disable", True)
