"""The bundled BERT as files for the browser: 16-bit integers with a scale per row."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from attnviz.trace import Floats
from attnviz.transformer.bert import Bert
from attnviz.transformer.published import read_config

MAX_TOKENS = 128
"""Maximum number of tokens of a sentence; its attention weights need 5 MB, and a second on a laptop."""

SHARD_ROWS = 256  # tokens per file of embeddings; a sentence needs about ten of the 120 files (0.2 MB each)
_NAMES = {
    "attention.to_query": "query",
    "attention.to_key": "key",
    "attention.to_value": "value",
    "attention.to_output": "output",
    "attention_add_norm.norm": "attention_norm",
    "feed_forward.expand": "expand",
    "feed_forward.contract": "contract",
    "feed_forward_add_norm.norm": "norm",
}


def tensors(bert: Bert) -> Iterator[tuple[str, Floats]]:
    """Yield the name in bert.js and the values of each parameter: a matrix, [row, column], or a vector.

    The embedding of the first segment is added to the position embeddings. Parameters that the attention
    weights do not depend on are omitted.
    """
    parameters: dict[str, Floats] = {
        name: parameter.detach().numpy() for name, parameter in bert.named_parameters()
    }
    embeddings, layers = "embeddings", "encoder.layers"
    yield (
        "positions",
        (parameters[f"{embeddings}.positions.table"] + parameters[f"{embeddings}.segments.weight"][0])[
            :MAX_TOKENS
        ],
    )
    for part in ("weight", "bias"):
        yield f"norm.{part}", parameters[f"{embeddings}.norm.{part}"]
    last = len(bert.encoder.layers) - 1
    for layer in range(last + 1):
        for name, short in _NAMES.items():
            if layer < last or short in ("query", "key", "value"):
                for part in ("weight", "bias"):
                    yield f"{layer}.{short}.{part}", parameters[f"{layers}.{layer}.{name}.{part}"]


def words(bert: Bert) -> Floats:
    """Return the embedding of each token of the vocabulary, [token, d_model]."""
    return np.asarray(bert.embeddings.words.weight.detach().numpy())


def rounded(matrix: Floats) -> tuple[NDArray[np.int16], Floats]:
    """Return a matrix as 16-bit integers, [row, column], and the scale of each row."""
    scales = np.abs(matrix).max(axis=1) / 32767
    scales[scales == 0] = 1
    return np.rint(matrix / scales[:, None]).astype("<i2"), scales.astype("<f4")


def vocabulary(model: Path) -> str:
    """Return the tokens in the order of their ids, one per line."""
    ids = json.loads((model / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    return "".join(f"{token}\n" for token in sorted(ids, key=ids.__getitem__))


def write(model: Path, out: Path) -> str:
    """Write the model into a new folder; return the folder's name, which contains a digest of its files.

    Args:
        model: Folder with the published model files.
        out: Folder of the site.
    """
    bert, config = Bert.from_folder(model), read_config(model)
    contents = bytearray()
    offsets: dict[str, dict[str, int]] = {}
    for name, tensor in tensors(bert):
        offsets[name] = {"at": len(contents), **dict(zip(("rows", "columns"), tensor.shape, strict=False))}
        contents += _packed(tensor)
    embeddings = words(bert)
    files = {"weights.bin": bytes(contents), "vocab.txt": vocabulary(model).encode()}
    for number, start in enumerate(range(0, len(embeddings), SHARD_ROWS)):
        files[f"words-{number}.bin"] = _packed(embeddings[start : start + SHARD_ROWS])
    sizes = {
        "layers": config.num_hidden_layers,
        "heads": config.num_attention_heads,
        "epsilon": config.layer_norm_eps,
        "width": embeddings.shape[1],
        "max_tokens": MAX_TOKENS,
        "vocabulary": len(embeddings),
        "shard_rows": SHARD_ROWS,
        "bytes": len(files["weights.bin"]) + len(files["vocab.txt"]),
    }
    files["manifest.json"] = json.dumps({**sizes, "tensors": offsets}).encode()
    name = f"model-{digest(files)}"
    (out / name).mkdir(parents=True, exist_ok=True)
    for file, data in files.items():
        (out / name / file).write_bytes(data)
    return name


def digest(files: dict[str, bytes]) -> str:
    """Return a short hash of the contents of some files."""
    hashed = hashlib.sha256()
    for name, data in sorted(files.items()):
        hashed.update(name.encode() + hashlib.sha256(data).digest())
    return hashed.hexdigest()[:12]


def _packed(tensor: Floats) -> bytes:
    """Pack a matrix as integers followed by its scales, or a vector as float32."""
    if tensor.ndim == 1:
        return tensor.astype("<f4").tobytes()
    values, scales = rounded(tensor)
    return values.tobytes() + scales.tobytes()
