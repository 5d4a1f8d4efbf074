"""Entropy: with a learned sink, and compared with PyTorch."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attnviz.analysis.entropy import bits, entropy
from attnviz.trace import Floats, Trace


def test_sink_counts_as_a_key() -> None:
    trace = Trace.from_weights([[[[0.25, 0], [0.25, 0.25]]]], ["a", "b"], sink=True)
    assert entropy(trace).ravel().tolist() == pytest.approx([0.25 * 2 + 0.75 * np.log2(4 / 3), 1.5])


@settings(max_examples=40, deadline=None)
@given(arrays(np.float32, (3, 5, 7), elements=st.floats(0, 1, width=32)))
def test_entropy_equals_pytorch(weights: Floats) -> None:
    expected = torch.special.entr(torch.from_numpy(weights).double()).sum(dim=-1) / np.log(2)
    np.testing.assert_allclose(bits(weights), expected, atol=1e-5)
