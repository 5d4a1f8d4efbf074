"""Run a model on sentences; skipped sentences are recorded with the reason."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attnviz.capture.model import Model, ModelInput
from attnviz.errors import AttnvizError, ModelNotSupported
from attnviz.experiments.corpus import NOT_UTF_8, is_damaged
from attnviz.models.catalogue import Entry
from attnviz.trace import Kind, Trace

_BATCH = 16  # maximum number of examples in a batch; larger batches are no faster
_BATCH_CELLS = 16 * 256**2  # maximum number of weights of a head in a batch of several examples


class UnusableSentence(AttnvizError):
    """A sentence that is skipped because it cannot be read or has no score."""


@dataclass(frozen=True, slots=True)
class SkippedSentence:
    """A skipped sentence.

    Attributes:
        text: The sentence.
        reason: The reason.
    """

    text: str
    reason: str


def skipped(sentences: Sequence[str], error: AttnvizError) -> SkippedSentence:
    """Return the record of a skipped example; bytes that are not UTF-8 become question marks."""
    return SkippedSentence(" / ".join(sentences).encode("utf-8", "replace").decode(), str(error))


def check_any_read(read: int, unit: str, skipped: Sequence[SkippedSentence]) -> None:
    """Check that the model could read at least one example.

    Raises:
        AttnvizError: the model could read no example.
    """
    if not read:
        first = [f"The first one: {each.reason}" for each in skipped[:1]]
        raise AttnvizError(
            " ".join([f"The model cannot read any of the {unit}. Choose another model or text.", *first])
        )


def traces(
    entry: Entry, model: Model, examples: Sequence[Sequence[str]]
) -> Iterator[tuple[int, list[Trace] | SkippedSentence]]:
    """Trace the sentences of each example; examples of similar length share a forward pass.

    Args:
        examples: The sentences of each example.

    Yields:
        In any order: the number of each example, from 0, and its traces or the reason why it was skipped.
    """
    lengths: dict[int, int] = {}
    for number, sentences in enumerate(examples):
        try:
            lengths[number] = max(_length(model, text) for text in sentences)
        except AttnvizError as error:
            yield number, skipped(sentences, error)
    waiting = sorted(lengths, key=lengths.__getitem__, reverse=True)
    while waiting:
        size = max(1, min(_BATCH, _BATCH_CELLS // lengths[waiting[0]] ** 2))
        batch, waiting = waiting[:size], waiting[size:]
        yield from _read(entry, model, {number: examples[number] for number in batch})
        _return_freed_memory()


def _length(model: Model, text: str) -> int:
    if is_damaged(text):
        raise UnusableSentence(NOT_UTF_8)
    return len(model.tokens(text))


def _read(
    entry: Entry, model: Model, batch: dict[int, Sequence[str]]
) -> Iterator[tuple[int, list[Trace] | SkippedSentence]]:
    """Trace one batch; if the model rejects it, trace its examples one by one."""
    try:
        inputs = [_input_of(entry, text) for sentences in batch.values() for text in sentences]
        found = iter(list(model.traces(inputs)))
    except AttnvizError as error:
        for number, sentences in batch.items():
            if len(batch) > 1:
                yield from _read(entry, model, {number: sentences})
            else:
                yield number, skipped(sentences, error)
        return
    for number, sentences in batch.items():
        yield number, [next(found) for _ in sentences]


def _input_of(entry: Entry, text: str) -> ModelInput:
    """Return the model's input for its self-attention over a text.

    In a transformers encoder–decoder, the text is also the target: generating a target would take much
    longer, and the encoder does not depend on it. The bundled translators generate their target.
    """
    target = text if "cross" in entry.kinds and entry.engine == "transformers" else None
    return ModelInput(text, target=target)


def self_attention(entry: Entry) -> Kind:
    """Return the kind of self-attention over a sentence: "encoder", or "decoder" if there is no encoder.

    Raises:
        ModelNotSupported: the model does not read text.
    """
    if not entry.is_text_model:
        raise ModelNotSupported("This model does not read text. Use a text model.")
    return "encoder" if "encoder" in entry.kinds else "decoder"


def _return_freed_memory() -> None:
    """Return freed memory to the operating system; only with glibc.

    Tensors of many sizes fragment the heap. glibc keeps the gaps, so the memory of a process that reads
    sentences of many lengths would grow without limit.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
