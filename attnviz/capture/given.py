"""What a caller of the library gives: a text or its tokens, and a model's name or a model object."""

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

_READ = ("input_ids", "attention_mask", "token_type_ids")
_OTHERS = frozenset(
    {
        *("position_ids", "inputs_embeds", "past_key_values", "head_mask", "encoder_outputs", "labels"),
        *("decoder_input_ids", "decoder_attention_mask", "decoder_inputs_embeds"),
    }
)
"""What a model of transformers may be given too, and would change what it computes."""


def model_input(
    text: object, second: str | None, target: str | None, writing: Writing | None, images: Any = ()
) -> ModelInput:
    """What the model is given: a text, perhaps with one or several pictures, or the tokens of one."""
    if isinstance(text, str):
        several = images if isinstance(images, Iterable) and not isinstance(images, str | bytes) else [images]
        pictures = tuple(Path(each) if isinstance(each, str) else each for each in several)
        return ModelInput(text, second, target, writing, images=pictures)
    if images:
        raise TypeError("Pictures are read with a text, not with its tokens.")
    given: Mapping[str, Any] = {"input_ids": text}
    if isinstance(text, Mapping) and "input_ids" in text:  # what a tokenizer of transformers returns
        given = text
        _refuse_others(given)
    ids, segments = _row(given["input_ids"]), _row(given.get("token_type_ids", ()))
    if "attention_mask" in given and ids.ndim == 1:
        mask = _row(given["attention_mask"])
        ones = np.trim_zeros(mask)
        if len(ids) != len(mask) or (len(mask) and not (len(ones) and (ones == 1).all())):
            raise TypeError(
                "attention_mask must be 1 for the tokens that are read, and 0 for padding before or behind "
                f"them alone, not {reprlib.repr(mask.tolist())}."
            )
        ids = ids[mask != 0]
    whole = np.issubdtype(ids.dtype, np.integer) or not ids.size
    if ids.ndim != 1 or not whole or ids.min(initial=0) < 0:
        raise TypeError(
            "The text must be one str, or the tokens of one text: whole numbers from 0, [token] or "
            f"[1, token], not {reprlib.repr(text)} ({type(text).__name__}). trace_many takes a list of such."
        )
    if second is not None or segments.any():
        raise TypeError("A pair of sentences is read as text: trace(first, second=second).")
    return ModelInput("", None, target, writing, tuple(ids.tolist()))


def _refuse_others(given: Mapping[str, Any]) -> None:
    """Refuse what a model might be given, and attnviz does not give it."""
    if others := sorted(_OTHERS & given.keys()):
        raise TypeError(
            f"attnviz gives the model {', '.join(_READ)} and nothing else. Leave out {', '.join(others)}; "
            "what a decoder reads is a target, trace(text, target=…)."
        )


def _row(ids: Any) -> NDArray[np.generic]:
    """An array of one row; [1, token] too is one."""
    try:
        rows = np.asarray(ids.tolist() if hasattr(ids, "tolist") else ids)
    except ValueError:
        rows = np.zeros((0, 0))
    return rows[0] if rows.ndim == 2 and len(rows) == 1 else rows


def inputs_of(texts: Iterable[object]) -> Iterator[ModelInput]:
    """Those of many texts or pairs, or of what a tokenizer of transformers returns for several."""
    if isinstance(texts, Mapping):
        _refuse_others(texts)
        names = [name for name in _READ if name in texts]
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
    """The name of a model; a model object gets one while the block lasts."""
    if not isinstance(model, str | Path):
        if (dtype, device) != (None, None):
            raise TypeError(
                "A model object runs in its own numbers and where it is: move it with model.to(…), and leave "
                "out dtype and device."
            )
        with borrowed(model, tokenizer) as name:
            yield name
        return
    if tokenizer is not None:
        raise TypeError(
            "attnviz opens this model with its own tokenizer or image processor. Give one with a model "
            "object only."
        )
    yield with_settings(str(model.absolute()) if isinstance(model, Path) else model, dtype, device)
