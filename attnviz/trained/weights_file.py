"""Weight files of the bundled models: float16 tensors and metadata."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import nn

from attnviz.errors import ModelFilesDamaged

AnyNetwork = TypeVar("AnyNetwork", bound=nn.Module)


def write(file: Path, network: nn.Module, header: Mapping[str, object]) -> None:
    """Write a network in float16; the output is deterministic.

    Args:
        header: Metadata; `read` passes it to `build`.
    """
    tensors = {name: tensor.half() for name, tensor in network.state_dict().items()}
    # A single metadata entry, because safetensors writes several entries in random order.
    file.write_bytes(save(tensors, {"attnviz": json.dumps(header, sort_keys=True)}))


def read(
    file: Path, build: Callable[[Mapping[str, Any]], AnyNetwork]
) -> tuple[AnyNetwork, Mapping[str, Any]]:
    """Read a network, in float32, and the file's header.

    Args:
        build: Returns the untrained network for a header.

    Raises:
        ModelFilesDamaged: the file is missing or damaged.
    """
    try:
        with safe_open(file, framework="pt") as opened:
            [header] = map(json.loads, opened.metadata().values())
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - no mapping
    except (OSError, SafetensorError) as error:
        raise ModelFilesDamaged(
            f"The model file {file} is missing or damaged. Install attnviz again."
        ) from error
    network = build(header)
    network.load_state_dict(tensors)
    return network, header
