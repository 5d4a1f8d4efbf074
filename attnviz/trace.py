"""What one forward pass did: every query, key, value, score and weight, as arrays that cannot change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from operator import index
from os import PathLike
from typing import IO, Literal, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import InvalidTrace

Kind = Literal["encoder", "decoder", "cross"]
Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]

Array = TypeVar("Array", bound=NDArray[np.generic])

Attend = Callable[[Floats, Floats, Mask, float, Floats | None], tuple[Floats, Floats]]
"""(query, key, mask, scale, bias) → (scores, weights), both [head, query, key]."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token, and where in the text it stands.

    Attributes:
        text: the tokenizer's own spelling ("##ing" for a piece inside a word).
        id: its row in the model's vocabulary.
        start, end: the characters it stands for, `source[start:end]`; 0, 0 for a special token.
        word: the number of its word, from 0; None for a special token.
        special: True if the tokenizer added it ([CLS], [SEP]).
        sentence: 0, or 1 in the second sentence of a pair, where start and end count in that one.
    """

    text: str
    id: int
    start: int
    end: int
    word: int | None
    special: bool
    sentence: int = 0


def attend(
    query: Floats, key: Floats, mask: Mask, scale: float, bias: Floats | None = None
) -> tuple[Floats, Floats]:
    """softmax(QKᵀ · scale + bias), exactly 0 where the mask forbids (Vaswani et al. 2017, eq. 1).

    Args:
        query: [head, query, d_head].
        key: [head, key, d_head].
        mask: [query, key], True where a query may look; every row has at least one True.
        scale: what q·k is multiplied by, 1/√d_head in the paper.
        bias: [head, query, key], added to the scaled scores; None for none.

    Returns:
        The scores before the mask, and the weights, both [head, query, key].
    """
    scores = query @ key.transpose(0, 2, 1) * np.float32(scale)
    if bias is not None:
        scores = scores + bias
    allowed = np.where(mask, scores, -np.inf)
    exponentials = np.exp(allowed - allowed.max(axis=-1, keepdims=True))
    return scores, exponentials / exponentials.sum(axis=-1, keepdims=True)


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """One layer's attention.

    Only query, key, value, mask, scale and bias are kept; scores, weights and output are computed
    when they are asked for, by `attend`: the very function the model used, so that the numbers are
    the model's to the bit.

    Attributes:
        kind: "encoder", "decoder" (both self-attention) or "cross".
        layer: counts from 0.
        query_tokens, key_tokens: who looks, and who is looked at.
        query: [head, query, d_head], after projection (and rotation, where the model rotates).
        key, value: [head, key, d_head], one per head (grouped keys already repeated).
        mask: [query, key], True where a query may look.
        scale: what q·k is multiplied by.
        bias: [head, query, key] added to the scaled scores, or None.
        projection: [head, d_head, d_model], each head's slice of W_O, or None where it was not kept.
        attend: computes (scores, weights) from the arrays above.

    Raises:
        InvalidTrace: a shape does not fit the tokens, a number is not finite, or a query may look nowhere.
    """

    kind: Kind
    layer: int
    query_tokens: tuple[Token, ...]
    key_tokens: tuple[Token, ...]
    query: Floats
    key: Floats
    value: Floats
    mask: Mask
    scale: float
    bias: Floats | None = None
    projection: Floats | None = None
    attend: Attend = attend

    def __post_init__(self) -> None:
        for name in ("query", "key", "value", "bias", "projection"):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, _read_only(array, np.float32, name))
        object.__setattr__(self, "mask", _read_only(self.mask, np.bool_, "mask"))
        if not np.isfinite(self.scale):
            raise InvalidTrace(f"scale is {self.scale}, which is not a finite number.")
        heads, _, d_head = _shape(self.query, 3, "query")
        queries = len(self.query_tokens)
        keys = len(self.key_tokens)
        expected: dict[str, tuple[int, ...]] = {
            "query": (heads, queries, d_head),
            "key": (heads, keys, d_head),
            "value": (heads, keys, _shape(self.value, 3, "value")[2]),
            "mask": (queries, keys),
            "bias": (heads, queries, keys),
        }
        for name, shape in expected.items():
            array = getattr(self, name)
            if array is not None and array.shape != shape:
                raise InvalidTrace(f"{name} has shape {array.shape}, but the tokens and heads need {shape}.")
        if self.projection is not None and _shape(self.projection, 3, "projection")[:2] != (
            heads,
            self.value.shape[2],
        ):
            raise InvalidTrace(
                f"projection has shape {self.projection.shape}, but the heads need "
                f"({heads}, {self.value.shape[2]}, d_model)."
            )
        blind = np.flatnonzero(~self.mask.any(axis=1))
        if blind.size:
            raise InvalidTrace(
                f"The mask lets token {blind[0] + 1} look nowhere: a softmax over nothing has no value. "
                "Leave at least one cell open in every row."
            )

    def __repr__(self) -> str:
        return f"<attnviz.Block: {self.kind}, layer {self.layer}, {_sizes(self)}>"

    @property
    def scores(self) -> Floats:
        """[head, query, key]: query·key × scale (+ bias), before the mask."""
        return self._attended()[0]

    @property
    def weights(self) -> Floats:
        """[head, query, key]: the softmax of the masked scores; every row sums to 1."""
        return self._attended()[1]

    @property
    def output(self) -> Floats:
        """[head, query, d_head]: weights @ value, the weighted average that each query reads."""
        return _frozen(self.weights @ self.value)

    def _attended(self) -> tuple[Floats, Floats]:
        scores, weights = self.attend(self.query, self.key, self.mask, self.scale, self.bias)
        return _frozen(scores), _frozen(weights)


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """One forward pass of one model over one text (two, for an encoder–decoder).

    A trace equals itself only: `==` of two that hold the same numbers is False. Compare their arrays, as in
    `numpy.array_equal(one.stack("encoder"), other.stack("encoder"))`.

    Attributes:
        model: the catalogue name, folder or Hugging Face id that was asked for.
        text: what the visitor typed; of a decoder that wrote on, what it wrote too.
        second: the second sentence of a pair that was read together, else None.
        target: the second text of an encoder–decoder, else None.
        written: how many of the last tokens a decoder wrote itself.
        blocks: every layer's attention, in the order the model ran them.
        edits: the changes that were made to the weights while it ran, in words; the blocks' weights are the
            changed ones.

    Raises:
        InvalidTrace: two blocks are of the same kind and layer, or `written` is negative.
    """

    model: str
    text: str
    blocks: tuple[Block, ...]
    second: str | None = None
    target: str | None = None
    written: int = 0
    edits: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        counts = Counter((block.kind, block.layer) for block in self.blocks)
        for (kind, layer), count in counts.items():
            if count > 1:
                raise InvalidTrace(f"There are {count} blocks for {kind} layer {layer}.")
        if self.written < 0:
            raise InvalidTrace(f"A model cannot have written {self.written} tokens.")

    def __repr__(self) -> str:
        kinds = Counter(block.kind for block in self.blocks)
        told = [f"{kind} {layers} × {_sizes(self.of_kind(kind)[0])}" for kind, layers in kinds.items()]
        return f"<attnviz.Trace of {self.model!r}: {'; '.join(told)}>"

    def of_kind(self, kind: Kind) -> tuple[Block, ...]:
        """The blocks of one kind, by layer.

        Raises:
            InvalidTrace: the model has no such attention.
        """
        blocks = tuple(sorted((b for b in self.blocks if b.kind == kind), key=lambda b: b.layer))
        if not blocks:
            present = ", ".join(sorted({b.kind for b in self.blocks}))
            raise InvalidTrace(f"{self.model} has no {kind} attention; it has: {present}.")
        return blocks

    def block(self, kind: Kind, layer: int) -> Block:
        """One layer's attention; `layer` counts from 0.

        Raises:
            InvalidTrace: the model has no such layer.
            TypeError: `layer` is no whole number.
        """
        blocks = self.of_kind(kind)
        wanted = whole(layer, "layer")
        for block in blocks:
            if block.layer == wanted:
                return block
        raise InvalidTrace(f"{self.model} has {kind} layers 0 to {blocks[-1].layer}, not {layer}.")

    def stack(self, kind: Kind) -> Floats:
        """All weights of one kind, [layer, head, query, key]."""
        return _frozen(np.stack([block.weights for block in self.of_kind(kind)]))

    def save(self, file: str | PathLike[str] | IO[bytes]) -> None:
        """Write everything to a file (NPZ, no pickle); `Trace.load` gives it back equal to the bit.

        Args:
            file: a path, taken as it is (no ".npz" is added), or a binary file open for writing. What is
                there already is written over, as by `numpy.savez`.

        Raises:
            InvalidTrace: the trace is too large for a file.
            OSError: the file cannot be written.
        """
        from attnviz import trace_io

        trace_io.write(self, file)

    @staticmethod
    def load(file: str | PathLike[str] | IO[bytes]) -> Trace:
        """Read what `save` wrote. Nothing in the file is run or trusted.

        Args:
            file: a path, or a binary file open for reading.

        Raises:
            InvalidTrace: it is no trace, of another version, damaged, or too large; the message says which.
            OSError: the file cannot be opened.
        """
        from attnviz import trace_io

        return trace_io.read(file)


def _sizes(block: Block) -> str:
    return f"{len(block.query)} heads, {len(block.query_tokens)} × {len(block.key_tokens)} tokens"


def checked_trace(found: object) -> Trace:
    """What was given, if it is a trace.

    Raises:
        TypeError: it is something else; of a file's name the message says how to load it.
    """
    if isinstance(found, Trace):
        return found
    if isinstance(found, str | PathLike):
        raise TypeError(f"A trace is needed, not the name of its file. Load it first: Trace.load({found!r}).")
    raise TypeError(f"A trace is needed, as attnviz.trace(…) returns one, not {type(found).__name__}.")


def head_name(layer: int, head: int) -> str:
    """What a person calls a head, as in Clark et al. 2019: layer 3 and head 1, from 0, are "4-2"."""
    return f"{layer + 1}-{head + 1}"


def whole(number: SupportsIndex, name: str) -> int:
    """A whole number, of numpy's too.

    Raises:
        TypeError: it is something else.
    """
    try:
        return index(number)
    except TypeError as error:
        raise TypeError(f"{name} must be a whole number, not {number!r:.30}.") from error


def _shape(array: NDArray[np.generic], dimensions: int, name: str) -> tuple[int, ...]:
    if array.ndim != dimensions:
        raise InvalidTrace(f"{name} has {array.ndim} dimensions, not {dimensions}.")
    return array.shape


def _read_only(array: NDArray[np.generic], dtype: type[np.generic], name: str) -> NDArray[np.generic]:
    """An array that nobody can write to: a frozen dataclass alone would not stop `array[0] = 1`.

    What is such an array already, contiguous and of this dtype, is shared (a model's W_O serves all its
    traces); anything else is copied.
    """
    flags = array.flags if isinstance(array, np.ndarray) else None
    shareable = flags is not None and flags.owndata and flags.c_contiguous and not flags.writeable
    if not (shareable and array.dtype == dtype):
        array = np.array(array, dtype=dtype, copy=True, order="C")
    if not np.isfinite(array).all():
        raise InvalidTrace(f"{name} holds numbers that are not finite.")
    return _frozen(array)


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array
