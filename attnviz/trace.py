"""What one forward pass did: every query, key, value, score and weight, as arrays that cannot change."""

from __future__ import annotations

import hashlib
import json
import reprlib
from collections import Counter
from dataclasses import asdict, dataclass
from operator import index
from os import PathLike
from types import NoneType
from typing import IO, Any, Literal, SupportsIndex, TypeVar, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from attnviz import trace_io
from attnviz.errors import InvalidTrace

Kind = Literal["encoder", "decoder", "cross"]
Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]

Array = TypeVar("Array", bound=NDArray[np.generic])

ROUNDING = 1e-5
"""How far above 1 a weight may be: an edit that moves one weight onto another adds the two."""


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


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """One layer's attention.

    The weights are the model's own, to the bit. Scores and output are computed when they are asked for.

    Attributes:
        kind: "encoder", "decoder" (both self-attention) or "cross".
        layer: counts from 0.
        query_tokens, key_tokens: who looks, and who is looked at.
        query: [head, query, d_head], after projection (and rotation, where the model rotates).
        key, value: [head, key, d_head], one per head (grouped keys already repeated).
        weights: [head, query, key], the softmax of the masked scores, after any edits; each from 0 to 1.
        mask: [query, key], True where a query may look.
        scale: what q·k is multiplied by.
        bias: [head, query, key] added to the scaled scores, or None.
        projection: [head, d_head, d_model], each head's slice of W_O, or None where it was not kept.

    Raises:
        InvalidTrace: a shape does not fit the tokens, a number is not finite, a weight is not from 0 to 1, or
            a query may look nowhere.
    """

    kind: Kind
    layer: int
    query_tokens: tuple[Token, ...]
    key_tokens: tuple[Token, ...]
    query: Floats
    key: Floats
    value: Floats
    weights: Floats
    mask: Mask
    scale: float
    bias: Floats | None = None
    projection: Floats | None = None

    def __post_init__(self) -> None:
        for name in ("query", "key", "value", "weights", "bias", "projection"):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, _read_only(array, np.float32, name))
        object.__setattr__(self, "mask", _read_only(self.mask, np.bool_, "mask"))
        if not np.isfinite(self.scale):
            raise InvalidTrace(f"scale is {self.scale}, which is not a finite number.")
        heads, _, d_head = _shape(self.query, 3, "query")
        d_value = _shape(self.value, 3, "value")[2]
        d_model = 0 if self.projection is None else _shape(self.projection, 3, "projection")[2]
        queries, keys = len(self.query_tokens), len(self.key_tokens)
        expected: dict[str, tuple[int, ...]] = {
            "query": (heads, queries, d_head),
            "key": (heads, keys, d_head),
            "value": (heads, keys, d_value),
            "weights": (heads, queries, keys),
            "mask": (queries, keys),
            "bias": (heads, queries, keys),
            "projection": (heads, d_value, d_model),
        }
        for name, shape in expected.items():
            array = getattr(self, name)
            if array is not None and array.shape != shape:
                raise InvalidTrace(f"{name} has shape {array.shape}, but the tokens and heads need {shape}.")
        if self.weights.min(initial=0) < 0 or self.weights.max(initial=0) > 1 + ROUNDING:
            raise InvalidTrace("There are weights that are not from 0 to 1.")
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
        scores = self.query @ self.key.transpose(0, 2, 1) * np.float32(self.scale)
        return _frozen(scores if self.bias is None else scores + self.bias)

    @property
    def output(self) -> Floats:
        """[head, query, d_head]: weights @ value, the weighted average that each query reads."""
        return _frozen(self.weights @ self.value)


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
                there already is replaced when all is written.

        Raises:
            InvalidTrace: the trace is too large for a file.
            OSError: the file cannot be written.
        """
        header, arrays = _described(self)
        # There are as many scores as weights; they are computed when their turn to be written comes.
        stored = (getattr(block, "weights" if name == "scores" else name) for block, name in arrays.values())
        trace_io.write(
            file,
            header,
            ((place, getattr(block, name)) for place, (block, name) in arrays.items()),
            sum(array.nbytes for array in stored),
        )

    @staticmethod
    def load(file: str | PathLike[str] | IO[bytes]) -> Trace:
        """Read what `save` wrote. Nothing in the file is run or trusted.

        Args:
            file: a path, or a binary file open for reading.

        Raises:
            InvalidTrace: it is no trace, of another version, damaged, or too large; the message says which.
            OSError: the file cannot be opened.
        """
        header, arrays = trace_io.read(file)
        try:
            trace = _assembled(header, arrays)
            described, names = _described(trace)
        except InvalidTrace:
            raise
        except Exception as error:  # whatever a header that is not ours leads to: a KeyError, a TypeError
            raise trace_io.damaged(f"{type(error).__name__} in its header") from error
        # As JSON, because there 1, 1.0 and true are not the same.
        if names.keys() != arrays.keys() or json.dumps(described) != json.dumps(header):
            raise trace_io.damaged("it holds other arrays than its header describes")
        return trace


_OWN = ("query", "key", "value", "scores", "weights")
_SHARED = ("mask", "bias", "projection")  # of these, blocks that hold the same numbers share one in the file


def _described(trace: Trace) -> tuple[dict[str, Any], dict[str, tuple[Block, str]]]:
    """What a trace's file says besides its arrays, and each array's name there: whose it is, and which.

    Blocks are named by kind and layer, counted from 1, and arrays by block and attribute: encoder-4.weights.
    """
    sequences = list(
        dict.fromkeys(tokens for block in trace.blocks for tokens in (block.query_tokens, block.key_tokens))
    )
    arrays: dict[str, tuple[Block, str]] = {}
    known: dict[tuple[str, tuple[int, ...], bytes], str] = {}
    blocks = []
    for block in trace.blocks:
        block_name = f"{block.kind}-{block.layer + 1}"
        arrays |= {f"{block_name}.{name}": (block, name) for name in _OWN}
        shared: dict[str, str | None] = dict.fromkeys(_SHARED)
        for name in _SHARED:
            if (array := getattr(block, name)) is not None:
                content = (name, array.shape, hashlib.sha256(array).digest())
                place = known.setdefault(content, f"{block_name}.{name}")
                arrays.setdefault(place, (block, name))
                shared[name] = place
        blocks.append(
            {
                "name": block_name,
                "kind": block.kind,
                "layer": block.layer + 1,
                "scale": float(block.scale),
                "query_tokens": sequences.index(block.query_tokens),
                "key_tokens": sequences.index(block.key_tokens),
                "heads": block.query.shape[0],
                "d_head": block.query.shape[2],
                "d_value": block.value.shape[2],
                "d_model": None if block.projection is None else block.projection.shape[2],
                **shared,
            }
        )
    header = {
        "model": trace.model,
        "text": trace.text,
        "second": trace.second,
        "target": trace.target,
        "written": trace.written,
        "edits": trace.edits,
        "sequences": [[asdict(token) for token in tokens] for tokens in sequences],
        "blocks": blocks,
    }
    return header, arrays


def _assembled(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Trace:
    """The trace that such a header and arrays, here by their names, describe.

    Raises:
        InvalidTrace: something is of another type, or no forward pass can have such numbers.
        Exception: something else in the header is wrong.
    """
    sequences = [tuple(Token(**_typed(Token, fields)) for fields in tokens) for tokens in header["sequences"]]
    if any(token.sentence not in {0, 1} for tokens in sequences for token in tokens):
        raise trace_io.damaged("a token is in neither of two sentences")
    blocks = []
    for fields in header["blocks"]:
        if fields["kind"] not in get_args(Kind):
            raise trace_io.damaged(f"there is no such kind of attention as {reprlib.repr(fields['kind'])}")
        numbers = {name: arrays[f"{fields['name']}.{name}"] for name in _OWN if name != "scores"}
        numbers |= {name: arrays[fields[name]] for name in _SHARED if fields[name] is not None}
        for name, array in numbers.items():
            if array.dtype != (np.bool_ if name == "mask" else np.float32):  # Block would copy it
                raise trace_io.damaged(f"{fields['name']}.{name} is of another type")
        blocks.append(
            Block(
                kind=fields["kind"],
                layer=fields["layer"] - 1,
                query_tokens=sequences[fields["query_tokens"]],
                key_tokens=sequences[fields["key_tokens"]],
                scale=fields["scale"],
                **numbers,
            )
        )
    edits = tuple(header["edits"])
    if not all(isinstance(edit, str) for edit in edits):
        raise trace_io.damaged("an edit is no text")
    return Trace(**_typed(Trace, header), edits=edits, blocks=tuple(blocks))


def _typed(record: type, fields: dict[str, Any]) -> dict[str, Any]:
    """Those fields of a record that are a text, a number, a bool or None, if each is of the right type."""
    found = {}
    for name, hint in get_type_hints(record).items():
        if (types := set(get_args(hint) or [hint])) <= {str, int, bool, NoneType}:
            if type(fields[name]) not in types:  # exactly: True is no number here
                raise trace_io.damaged(f"{name} is {reprlib.repr(fields[name])}, not of type {hint}")
            found[name] = fields[name]
    return found


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
    # A sum is finite only if every number is; it is found in half the time.
    with np.errstate(over="ignore", invalid="ignore"):
        total = array.sum()
    if not (np.isfinite(total) or np.isfinite(array).all()):
        raise InvalidTrace(f"{name} holds numbers that are not finite.")
    return _frozen(array)


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array
