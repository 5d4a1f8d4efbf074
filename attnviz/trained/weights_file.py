"""Weight files of the bundled models: float16 tensors, metadata, and a digest of both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from attnviz.errors import ModelFilesDamaged

AnyNetwork = TypeVar("AnyNetwork", bound=nn.Module)


def write(
    file: Path, kind: str, network: nn.Module, words: Sequence[str], header: Mapping[str, object]
) -> None:
    """Write a network in float16; the output is deterministic.

    Args:
        kind: Kind of model, the name of the file's one metadata entry.
        words: Words of its vocabularies, in order.
        header: Metadata, including the arguments of `build` in `read`.
    """
    tensors = {name: tensor.half() for name, tensor in network.state_dict().items()}
    header = {**header, "vocabularies": _digest_of_words(words)}
    # One entry: safetensors writes several in random order.
    written = json.dumps({**header, "digest": _digest_of_all(header, tensors)}, sort_keys=True)
    file.write_bytes(save(tensors, {kind: written}))


def read(
    file: Path,
    kind: str,
    words: Sequence[str],
    build: Callable[[Mapping[str, Any]], AnyNetwork],
) -> tuple[AnyNetwork, Mapping[str, Any]]:
    """Read a network, in float32, and the file's header.

    The file includes a digest of its contents to detect damage.

    Args:
        kind, words: as in `write`.
        build: Builds the network without its weights, from the header.

    Raises:
        ModelFilesDamaged: the file is missing, damaged, or from a version of attnviz with another vocabulary
            or network.
    """

    def damaged(what: str) -> ModelFilesDamaged:
        return ModelFilesDamaged(f"The model file {file} {what}. Install attnviz again.")

    try:
        with safe_open(file, framework="pt") as opened:
            header = json.loads(opened.metadata()[kind])
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - no mapping
        intact = header.pop("digest") == _digest_of_all(header, tensors)
    except FileNotFoundError as error:
        raise damaged("is missing") from error
    except (OSError, SafetensorError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise damaged("cannot be read") from error
    if not intact:
        raise damaged("is damaged")
    # Token ids are valid only for the same vocabulary.
    if header["vocabularies"] != _digest_of_words(words):
        raise damaged("was trained on another vocabulary")
    try:
        network = build(header)
        network.load_state_dict(tensors)
    except (TypeError, KeyError, RuntimeError) as error:
        raise damaged("is for another version of the network") from error
    return network, header


def _digest_of_words(words: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


def _digest_of_all(header: Mapping[str, object], tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()
