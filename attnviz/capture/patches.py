"""What a model that sees pictures reads: the picture cut into patches, each a token."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from attnviz.errors import ModelFilesDamaged, quoted
from attnviz.trace import Token

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
"""What a picture may be."""

WHOLE = "[CLS]"
"""The token that stands for the picture as a whole."""

_SIZE, _PATCH = 224, 16  # what a config means that does not say


def patch_tokens(folder: Path) -> tuple[Token, ...]:
    """[CLS], and the patches row by row, named "row,column" from 1 (Dosovitskiy et al. 2021, section 3.1).

    They are the same for every picture, and stand for no characters: `start` and `end` are 0.

    Args:
        folder: where the model's config lies.

    Raises:
        ModelFilesDamaged: the config cannot be read, or has no such sizes.
    """
    try:
        config = json.loads((folder / "config.json").read_text("utf-8"))
        height, width = _pair(config.get("image_size", _SIZE))
        down, across = _pair(config.get("patch_size", _PATCH))
        places = list(product(range(height // down), range(width // across)))
    except (OSError, ValueError, TypeError, AttributeError, ZeroDivisionError) as error:
        raise ModelFilesDamaged(
            f"The config of {quoted(folder.name)} does not say how large its pictures and patches are. "
            "Save or download it again."
        ) from error
    patches = (
        Token(f"{row + 1},{column + 1}", place + 1, 0, 0, place, special=False)
        for place, (row, column) in enumerate(places)
    )
    return (Token(WHOLE, 0, 0, 0, None, special=True), *patches)


def grid(tokens: Sequence[Token]) -> tuple[int, int]:
    """(rows, columns) of the patches that these tokens are."""
    row, column = tokens[-1].text.split(",")
    return int(row), int(column)


def _pair(size: int | Sequence[int]) -> tuple[int, int]:
    """(height, width)."""
    height, width = (size, size) if isinstance(size, int) else size
    return int(height), int(width)
