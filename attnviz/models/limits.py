"""How large a model may be: what its operator allows it to take in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal

from attnviz.errors import ModelTooLarge, WrongSetting

SETTING = "ATTNVIZ_MAX_GB"
"""The environment variable with the limit, in gigabytes (10⁹ bytes)."""

DEFAULT_GB = 4.0
"""The limit where none is set: one billion numbers, which a laptop bears."""

DType = Literal["float32", "bfloat16", "float16"]
"""In which numbers a model runs."""

BYTES_OF_A_NUMBER: Mapping[DType, int] = {"float32": 4, "bfloat16": 2, "float16": 2}


def max_bytes() -> int:
    """What one model may take in memory.

    Raises:
        WrongSetting: the operator has set something that is no size.
    """
    setting = os.environ.get(SETTING, "").strip()
    try:
        gigabytes = float(setting) if setting else DEFAULT_GB
    except ValueError:
        gigabytes = -1.0
    if not 0 < gigabytes < 1e6:
        raise WrongSetting(f"{SETTING} should be a number of gigabytes, for example {SETTING}=8.")
    return int(gigabytes * 1e9)


def in_memory(parameters: int, dtype: DType = "float32") -> int:
    """The bytes that so many numbers take."""
    return parameters * BYTES_OF_A_NUMBER[dtype]


def check(parameters: int, dtype: DType = "float32") -> None:
    """Whether a model of so many numbers may be loaded, to run in this precision.

    Raises:
        ModelTooLarge: it may not; the message names its size, the limit, and how to raise it.
        WrongSetting: as `max_bytes`.
    """
    needed, limit = in_memory(parameters, dtype), max_bytes()
    if needed > limit:
        raise ModelTooLarge(
            needed,
            limit,
            "Choose a smaller one. If there is so much memory, whoever runs attnviz can set "
            f"{SETTING}={-(-needed // 10**9)}.",
        )
