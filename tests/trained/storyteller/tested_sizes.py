"""The sizes of the storyteller, as parameters of a test."""

import pytest

TESTED_SIZES = ["storyteller", pytest.param("storyteller-4-layers", marks=pytest.mark.everything)]
"""The smaller model is tested on every push, and both models in complete test runs."""
