"""The sizes of the storyteller, as parameters of a test."""

import pytest

TESTED_SIZES = ["storyteller", pytest.param("storyteller-4-layers", marks=pytest.mark.everything)]
"""The small size on every push; both sizes in complete test runs."""
