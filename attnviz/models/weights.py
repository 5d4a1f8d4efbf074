"""The files that hold a model's weights: their names, how many numbers they hold, how to convert others."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from attnviz.errors import ModelFilesDamaged, ModelNotSupported, quoted
from attnviz.models import config

FILE = "model.safetensors"
INDEX = "model.safetensors.index.json"
"""Which part of the weights lies in which file, where one file would be too large."""

ADAPTER = "adapter_config.json"
"""Beside weights that only change those of another model."""

MAX_TENSORS = 20_000
"""The number of tensors of one file; thousands of names take seconds to read."""

MAX_HEADER_BYTES = 10_000_000
"""The size of the list of tensors at the beginning of a file."""

_PART = re.compile(r"\w[\w.-]*\.safetensors", re.ASCII)

_CONVERT = (
    "import transformers; kind = transformers.AutoConfig.from_pretrained(old).architectures[0]; "
    "getattr(transformers, kind).from_pretrained(old).save_pretrained(new); "
    "transformers.AutoProcessor.from_pretrained(old).save_pretrained(new)"
)

# The kinds of numbers that are read, as safetensors names them. Whole ones (place tables) are not learned;
# quantized ones are.
_LEARNED = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I8": "int8"}
_WHOLE = {"I64", "I32", "I16", "U64", "U32", "U16", "U8", "BOOL"}


def learned_numbers(file: Path, name: str, part: str = "") -> Counter[str]:
    """How many learned numbers a safetensors file holds, by their precision. Reads its header only.

    The safetensors library checks every claim of the header against the file's size before it allocates.

    Args:
        name: what a message calls it.
        part: count only what is called like this and more.

    Raises:
        ModelFilesDamaged: it cannot be read, its header is inconsistent, or its dtype is unsupported.
        ModelNotSupported: it lists too many tensors.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with file.open("rb") as opened:
            size = int.from_bytes(opened.read(8), "little")
        if MAX_HEADER_BYTES < size < file.stat().st_size:
            raise too_many_tensors(name)
        with safe_open(file, framework="numpy") as opened:
            names = opened.keys()
            if len(names) > MAX_TENSORS:
                raise too_many_tensors(name)
            arrays = {array: opened.get_slice(array) for array in names}
            tensors = [
                (array, found.get_dtype(), math.prod(found.get_shape())) for array, found in arrays.items()
            ]
    except OSError as error:  # its own message contains the path
        raise ModelFilesDamaged(f"{name} cannot be read. Check that attnviz may read it.") from error
    except SafetensorError as error:
        raise ModelFilesDamaged(f"{name} is damaged ({error}). Copy or download it again.") from error
    return counted(tensors, name, part)


def counted(tensors: Iterable[tuple[str, str, int]], name: str, part: str) -> Counter[str]:
    """How many learned numbers there are, by their precision.

    Args:
        tensors: (name, dtype as safetensors has it, how many numbers) of each.
        name, part: as `learned_numbers` takes them.

    Raises:
        ModelFilesDamaged: a dtype is unsupported.
    """
    learned: Counter[str] = Counter()
    for array, kind, count in tensors:
        if kind not in _LEARNED.keys() | _WHOLE:
            raise ModelFilesDamaged(
                f"{name} stores numbers of a kind that attnviz does not read (in {quoted(array)}). "
                "Take the model as float32, float16 or bfloat16, not a compressed one."
            )
        if kind in _LEARNED and array.startswith(part):
            learned[_LEARNED[kind]] += count
    return learned


def too_many_tensors(name: str) -> ModelNotSupported:
    """Return the refusal of a file that lists more than `MAX_TENSORS`.

    Args:
        name: what the message calls the file.
    """
    return ModelNotSupported(f"{name} lists too many tensors: attnviz reads up to {MAX_TENSORS:,} of a file.")


def files_of_weights(files: Iterable[str], folder: Path, name: str) -> tuple[str, ...]:
    """The names of the files that hold a model's weights: one, or those that the index in the folder lists.

    Args:
        folder: where the index lies, if there is one.
        name: what a message calls the model.

    Raises:
        ModelFilesDamaged: there are no weights, a part is missing, or the index names other files.
        ModelNotSupported: the weights are of another kind, such as a pickle.
    """
    files = set(files)
    if FILE in files:
        return (FILE,)
    if INDEX not in files:
        raise without_weights(files, name)
    parts = config.read_json(folder / INDEX, name).get("weight_map")
    listed = {str(part) for part in parts.values()} if isinstance(parts, dict) else set()
    if not listed or not all(_PART.fullmatch(part) for part in listed):
        raise ModelFilesDamaged(
            f"{INDEX} of {quoted(name)} does not name the files of its weights. Save or download it again."
        )
    if missing := listed - files:
        raise ModelFilesDamaged(
            f"{min(missing)} is missing in {quoted(name)}: a part of its weights. Copy or download it again."
        )
    return tuple(sorted(listed))


def without_weights(files: Iterable[str], name: str) -> ModelFilesDamaged | ModelNotSupported:
    """The error for a model without safetensors.

    Args:
        files: the names of those that there are.
        name: what the message calls the model.
    """
    if ADAPTER in files:
        return ModelNotSupported(
            f"{quoted(name)} is an adapter, which changes another model. Merge the two (merge_and_unload in "
            "peft), save the result, and open that."
        )
    if {Path(file).suffix.lower() for file in files} & {".bin", ".pt", ".pth", ".pkl", ".ckpt"}:
        return ModelNotSupported(
            f"The weights of {quoted(name)} are a pickle, which can run any code when it is read, so attnviz "
            f"reads none. Look for a version with {FILE}. Or, if you trust this one, convert it once in "
            f"Python, from the old folder or id to a new folder: {_CONVERT}"
        )
    return ModelFilesDamaged(
        f"There are no weights in {quoted(name)} that attnviz reads: no {FILE}. Save the model there with "
        "save_pretrained, or look for a version that has this file."
    )
