"""How far a token may look."""

import numpy as np
import pytest

from attnviz.analysis.window import window

ALL = np.ones((7, 7), bool)


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        (ALL, None),
        (np.tril(ALL), None),
        (np.tril(np.triu(ALL, -2)), (2, 0)),
        (np.tril(np.triu(ALL, -3), 1), (3, 1)),
        (np.triu(np.tril(ALL)) | (np.arange(7) == 0), None),
    ],
)
def test_a_window(mask: np.ndarray[tuple[int, int], np.dtype[np.bool_]], expected: object) -> None:
    assert window(mask) == expected
