"""The window of a mask: how many tokens before and after itself a token may look at."""

import numpy as np

from attnviz.trace import Mask


def window(mask: Mask) -> tuple[int, int] | None:
    """How many tokens before and after itself a query sees; None where distance does not limit it.

    A window that is wider than the text cannot be told from none.

    Args:
        mask: [query, key] of one text, True where a query may look.
    """
    tokens = len(mask)
    queries, keys = np.nonzero(mask)
    before, after = int((queries - keys).max()), int((keys - queries).max())
    distance = np.subtract.outer(np.arange(tokens), np.arange(tokens))
    is_band = bool((mask == ((distance <= before) & (distance >= -after))).all())
    return (before, after) if is_band and before < tokens - 1 else None
