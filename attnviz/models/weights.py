"""The files with a model's weights: names, numbers of parameters, and errors for other formats."""

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
"""The file that lists the file of each weight, for models with several weight files."""

ADAPTER = "adapter_config.json"
"""The config file of an adapter: weights that only change another model."""

MAX_TENSORS = 20_000
"""The maximum number of tensors in one file; reading thousands of names takes seconds."""

MAX_HEADER_BYTES = 10_000_000
"""The maximum size of a file's header, the list of its tensors."""

_PART = re.compile(r"\w[\w.-]*\.safetensors", re.ASCII)

_CONVERT = (
    "import transformers; kind = transformers.AutoConfig.from_pretrained(old).architectures[0]; "
    "getattr(transformers, kind).from_pretrained(old).save_pretrained(new); "
    "transformers.AutoProcessor.from_pretrained(old).save_pretrained(new)"
)

# Supported dtypes, by their names in safetensors. Of the integers, only int8 holds parameters (quantized).
_PARAMETER_DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I8": "int8"}
_INTEGER_DTYPES = {"I64", "I32", "I16", "U64", "U32", "U16", "U8", "BOOL"}


def count_parameters(file: Path, name: str, part: str = "") -> Counter[str]:
    """Return the number of parameters in a safetensors file, by dtype; read only its header.

    The safetensors library checks the header against the file's size before it allocates memory.

    Args:
        name: the file's name, for messages.
        part: count only tensors with this prefix.

    Raises:
        ModelFilesDamaged: the file cannot be read, its header is inconsistent, or a dtype is unsupported.
        ModelNotSupported: the file lists too many tensors.
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
    except OSError as error:  # its message contains the path
        raise ModelFilesDamaged(f"{name} cannot be read. Check its permissions.") from error
    except SafetensorError as error:
        raise ModelFilesDamaged(f"{name} is damaged ({error}). Copy or download it again.") from error
    return parameter_counts(tensors, name, part)


def parameter_counts(tensors: Iterable[tuple[str, str, int]], name: str, part: str) -> Counter[str]:
    """Return the number of parameters, by dtype.

    Args:
        tensors: the name, the dtype in safetensors and the number of elements of each tensor.
        name, part: as for `count_parameters`.

    Raises:
        ModelFilesDamaged: a dtype is unsupported.
    """
    parameters: Counter[str] = Counter()
    for array, kind, count in tensors:
        if kind not in _PARAMETER_DTYPES.keys() | _INTEGER_DTYPES:
            raise ModelFilesDamaged(
                f"The tensor {quoted(array)} in {name} has the unsupported dtype {quoted(kind)}. "
                "Use a version of the model in float32, float16 or bfloat16, not a quantized version."
            )
        if kind in _PARAMETER_DTYPES and array.startswith(part):
            parameters[_PARAMETER_DTYPES[kind]] += count
    return parameters


def too_many_tensors(name: str) -> ModelNotSupported:
    """Return the error for a file that lists more than `MAX_TENSORS` tensors.

    Args:
        name: the file's name, for the message.
    """
    return ModelNotSupported(f"{name} lists too many tensors: the maximum is {MAX_TENSORS:,} per file.")


def weight_files(files: Iterable[str], folder: Path, name: str) -> tuple[str, ...]:
    """Return the names of the files with a model's weights: a single file, or the files in its index.

    Args:
        folder: the folder of the index, if there is one.
        name: the model's name, for messages.

    Raises:
        ModelFilesDamaged: there are no weights, a part is missing, or the index lists other file types.
        ModelNotSupported: the weights have another format, such as pickle.
    """
    files = set(files)
    if FILE in files:
        return (FILE,)
    if INDEX not in files:
        raise missing_weights_error(files, name)
    parts = config.read_json(folder / INDEX, name).get("weight_map")
    listed = {str(part) for part in parts.values()} if isinstance(parts, dict) else set()
    if not listed or not all(_PART.fullmatch(part) for part in listed):
        raise ModelFilesDamaged(
            f"{INDEX} of {quoted(name)} does not name the files of its weights. Save or download it again."
        )
    if missing := listed - files:
        raise ModelFilesDamaged(
            f"{quoted(name)} lacks {min(missing)}, a part of its weights. Copy or download it again."
        )
    return tuple(sorted(listed))


def missing_weights_error(files: Iterable[str], name: str) -> ModelFilesDamaged | ModelNotSupported:
    """Return the error for a model without safetensors.

    Args:
        files: the names of the model's files.
        name: the model's name, for the message.
    """
    if ADAPTER in files:
        return ModelNotSupported(
            f"{quoted(name)} is an adapter, which changes another model. Merge it into that model "
            "(merge_and_unload in peft), save the result, and open it."
        )
    if {Path(file).suffix.lower() for file in files} & {".bin", ".pt", ".pth", ".pkl", ".ckpt"}:
        return ModelNotSupported(
            f"The weights of {quoted(name)} are in pickle format, which can run any code when it is read, so "
            f"attnviz does not read it. Look for a version with {FILE}. If you trust this model, set `old` "
            f"to its folder or id, and `new` to an empty folder, and convert it in Python: {_CONVERT}"
        )
    return ModelFilesDamaged(
        f"There are no supported weights in {quoted(name)}: {FILE} is missing. Save the model with "
        "save_pretrained, or look for a version that has this file."
    )
