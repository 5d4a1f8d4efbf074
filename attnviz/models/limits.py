"""The operator's memory limit for one model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal

from attnviz.errors import ModelTooLarge, WrongSetting

SETTING = "ATTNVIZ_MAX_GB"
"""The environment variable with the limit, in gigabytes (10⁹ bytes)."""

DEFAULT_GB = 4.0
"""The default limit: one billion float32 parameters, which suits a laptop."""

DType = Literal["float32", "bfloat16", "float16"]
"""The floating-point type of the parameters."""

BYTES_PER_PARAMETER: Mapping[DType, int] = {"float32": 4, "bfloat16": 2, "float16": 2}


def max_bytes() -> int:
    """Return the limit in bytes.

    Raises:
        WrongSetting: the setting is not a valid size.
    """
    setting = os.environ.get(SETTING, "").strip()
    try:
        gigabytes = float(setting) if setting else DEFAULT_GB
    except ValueError:
        gigabytes = -1.0
    if not 0 < gigabytes < 1e6:
        raise WrongSetting(f"{SETTING} must be a number of gigabytes, for example {SETTING}=8.")
    return int(gigabytes * 1e9)


def in_memory(parameters: int, dtype: DType = "float32") -> int:
    """Return the size of the parameters, in bytes."""
    return parameters * BYTES_PER_PARAMETER[dtype]


def check(parameters: int, dtype: DType = "float32") -> None:
    """Raise if a model with this many parameters exceeds the memory limit.

    Raises:
        ModelTooLarge: the model exceeds the limit; the message explains how to raise it.
        WrongSetting: as for `max_bytes`.
    """
    needed, limit = in_memory(parameters, dtype), max_bytes()
    if needed > limit:
        raise ModelTooLarge(
            needed,
            limit,
            "Choose a smaller model, or, if the machine has enough memory, ask the operator to "
            f"set {SETTING}={-(-needed // 10**9)}.",
        )
