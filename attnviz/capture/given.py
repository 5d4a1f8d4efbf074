"""Convert library arguments to model inputs."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.capture.loading import borrowed
from attnviz.capture.model import ModelInput, Writing
from attnviz.models.resolve import with_settings

_SUPPORTED_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_UNSUPPORTED_INPUTS = frozenset(
    {
        *("position_ids", "inputs_embeds", "past_key_values", "head_mask", "encoder_outputs", "labels"),
        *("decoder_input_ids", "decoder_attention_mask", "decoder_inputs_embeds"),
    }
)
"""Other inputs of transformers models, which are rejected because they would change the result."""


def model_input(
    text: object, second: str | None, target: str | None, writing: Writing | None, images: Any = ()
) -> ModelInput:
    """Return the ModelInput for one text or its token ids."""
    if isinstance(text, str):
        listed = images if isinstance(images, Iterable) and not isinstance(images, str | bytes) else [images]
        pictures = tuple(Path(each) if isinstance(each, str) else each for each in listed)
        return ModelInput(text, second, target, writing, images=pictures)
    if images:
        raise TypeError("Images require a text as a str, not as token ids.")
    given: Mapping[str, Any] = {"input_ids": text}
    if isinstance(text, Mapping) and "input_ids" in text:  # the output of a transformers tokenizer
        given = text
        _refuse_unsupported(given)
    ids, segments = _row(given["input_ids"]), _row(given.get("token_type_ids", ()))
    if "attention_mask" in given and ids.ndim == 1:
        mask = _row(given["attention_mask"])
        ones = np.trim_zeros(mask)
        if len(ids) != len(mask) or (len(mask) and not (len(ones) and (ones == 1).all())):
            raise TypeError(
                "attention_mask must be 1 for text tokens and 0 only for leading or trailing padding, "
                f"not {reprlib.repr(mask.tolist())}."
            )
        ids = ids[mask != 0]
    are_integers = np.issubdtype(ids.dtype, np.integer) or not ids.size
    if ids.ndim != 1 or not are_integers or ids.min(initial=0) < 0:
        raise TypeError(
            "text must be a str or the token ids of one text (non-negative integers, shape "
            f"[token] or [1, token]), not {reprlib.repr(text)} ({type(text).__name__}). "
            "Use trace_many for several texts."
        )
    if second is not None or segments.any():
        raise TypeError("Pass a sentence pair as text, not as token ids: trace(first, second=second).")
    return ModelInput("", None, target, writing, tuple(ids.tolist()))


def _refuse_unsupported(given: Mapping[str, Any]) -> None:
    """Raise for inputs that attnviz does not pass to the model."""
    if unsupported := sorted(_UNSUPPORTED_INPUTS & given.keys()):
        raise TypeError(
            f"attnviz passes only {', '.join(_SUPPORTED_INPUTS)} to the model. Remove "
            f"{', '.join(unsupported)}; pass decoder text as trace(text, target=…)."
        )


def _row(ids: Any) -> NDArray[np.generic]:
    """Return the ids as an array, [token] if their shape is [token] or [1, token]."""
    try:
        rows = np.asarray(ids.tolist() if hasattr(ids, "tolist") else ids)
    except ValueError:
        rows = np.zeros((0, 0))
    return rows[0] if rows.ndim == 2 and len(rows) == 1 else rows


def inputs_of(texts: Iterable[object]) -> Iterator[ModelInput]:
    """Yield the ModelInput of each text, pair, or row of tokenizer output."""
    if isinstance(texts, Mapping):
        _refuse_unsupported(texts)
        names = [name for name in _SUPPORTED_INPUTS if name in texts]
        rows = zip(*(texts[name] for name in names), strict=True)
        texts = (dict(zip(names, row, strict=True)) for row in rows)
    if not isinstance(texts, Iterable) or isinstance(texts, str):
        raise TypeError(f"texts must be a list of texts, such as [text], not {type(texts).__name__}.")
    for text in texts:
        match text:
            case [str(first), str(second)]:
                yield ModelInput(first, second)
            case _:
                yield model_input(text, None, None, None)


@contextmanager
def opened(model: Any, tokenizer: Any, dtype: object = None, device: object = None) -> Iterator[str]:
    """Yield the model's name; a model object has a temporary name inside the block."""
    if not isinstance(model, str | Path):
        if (dtype, device) != (None, None):
            raise TypeError(
                "dtype and device cannot be combined with a model object; convert or move it with "
                "model.to(…)."
            )
        with borrowed(model, tokenizer) as name:
            yield name
        return
    if tokenizer is not None:
        raise TypeError("tokenizer is accepted only with a model object; a model given by name uses its own.")
    yield with_settings(str(model.absolute()) if isinstance(model, Path) else model, dtype, device)
