"""The storyteller's sizes, as parameters of a test."""

import pytest

SMALL_FIRST = ["storyteller", pytest.param("storyteller-4-layers", marks=pytest.mark.everything)]
"""The small one on every push; both where everything is tested."""
