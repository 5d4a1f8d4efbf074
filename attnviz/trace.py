"""The recorded attention of one forward pass: queries, keys, values and weights, as read-only arrays."""

from __future__ import annotations

import hashlib
import json
import reprlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from operator import index
from os import PathLike
from types import NoneType, UnionType
from typing import (
    IO,
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    NamedTuple,
    Protocol,
    SupportsIndex,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

import numpy as np
from numpy.typing import NDArray

from attnviz import trace_io
from attnviz.errors import InvalidTrace
from attnviz.given_weights import as_array, decode, layers_of, token_spelling
from attnviz.spelling import SPACES
from attnviz.text import joined, layers_by_kind, plural

if TYPE_CHECKING:
    from torch import Tensor

Kind = Literal["encoder", "decoder", "cross", "vision"]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]

Array = TypeVar("Array", bound=NDArray[np.generic])
Stored = TypeVar("Stored", bound=NDArray[Any] | None)

WEIGHTS_ALONE = "weights alone"
"""The default model name of a trace that has only weights."""

_NO_WEIGHTS = (
    "There are no weights. Pass the weights of at least one layer; a transformers model returns them "
    'as `outputs.attentions` if it is loaded with attn_implementation="eager" and called with '
    "output_attentions=True."
)

PNG = b"\x89PNG\r\n\x1a\n"
"""The signature of a PNG file."""

ROW_ROUNDING = 0.02
"""The maximum difference between a row's sum and 1: the rounding errors of bfloat16 add up."""

ROUNDING = 1e-5
"""The maximum amount by which a weight may exceed 1: an edit can add weights, with rounding errors."""


class Patch(NamedTuple):
    """The part of an image that a token represents.

    Attributes:
        picture: the index of the image, from 0.
        view: 0 for the whole image; 1 for the image at a higher resolution, if the model cuts it into tiles.
        row, column: the position among the patches of this view, from 0.
        box: left, top, right and bottom edges, relative to the image's width and height. They can be below
            0 or above 1 if the model adds a margin.
    """

    picture: int
    view: int
    row: int
    column: int
    box: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Token:
    """A token and its place in the text.

    Attributes:
        text: the tokenizer's own spelling ("##ing" for a piece inside a word).
        id: the index in the model's vocabulary.
        start, end: the character range, `source[start:end]`; 0, 0 for a special token.
        word: the number of the word, from 0; None for a special token.
        special: True if the tokenizer added it ([CLS], [SEP]).
        sentence: 1 in the second sentence of a pair (start and end are positions in it), else 0.
        patch: the part of an image that the token represents, or None.
    """

    text: str
    id: int
    start: int
    end: int
    word: int | None
    special: bool
    sentence: int = 0
    patch: Patch | None = None


Pooling = Literal["max", "mean", "sum"]
"""How a block of weights is reduced to one number."""

_TILE = 2**22
"""The maximum number of weights read at a time, to limit memory."""


class Lazy(Protocol):
    """Values that are computed or copied into an array when they are first read."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""

    def numpy(self) -> NDArray[Any]:
        """Return the array.

        Raises:
            InvalidTrace: the values have changed since the model used them.
        """


class _Array(Generic[Stored]):
    """A field of `Block`: a read-only array, made from the recorded tensor when it is first read."""

    def __init__(self, dtype: type[np.generic], *, optional: bool = False) -> None:
        self._dtype, self._optional = dtype, optional

    def __set_name__(self, owner: type[Block], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, block: None, owner: type[Block]) -> None: ...
    @overload
    def __get__(self, block: Block, owner: type[Block]) -> Stored: ...
    def __get__(self, block: Block | None, owner: type[Block]) -> Stored | None:
        if block is None:  # `dataclass` reads the default here; AttributeError means no default
            if self._optional:
                return None
            raise AttributeError(self._name)
        stored = vars(block)[self._name]
        if stored is not None and not isinstance(stored, np.ndarray):
            stored = _checked(self._name, _frozen(as_array(stored, self._dtype)))
            vars(block)[self._name] = stored
        return cast("Stored", stored)

    def __set__(self, block: Block, given: Stored | Tensor | Lazy) -> None:
        if isinstance(given, np.ndarray) or not (given is None or hasattr(given, "shape")):
            given = cast("Stored", _checked(self._name, _read_only(given, self._dtype)))
        vars(block)[self._name] = given


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """One layer's attention.

    The weights equal the model's own bit for bit; with `store="vectors"`, up to rounding. Recorded tensors
    keep the model's device and dtype until they are first read; each field is then converted to an array.
    Scores and output are computed on each access. W_O is shared with the model and kept as long as the trace.

    Attributes:
        kind: "encoder", "decoder" (both self-attention), "cross", or "vision" for the vision encoder of a
            vision-language model.
        layer: the index of the layer, from 0.
        query_tokens, key_tokens: the tokens of the rows and of the columns.
        query: [head, query, d_head], after projection (and rotary embedding, if the model has one).
        key, value: [head, key, d_head], one per head (grouped keys repeated); d_head of values may differ.
        weights: [head, query, key], the softmax of the masked scores, after any edits; each from 0 to 1.
        mask: [query, key], True where a query may attend.
        scale: the factor applied to q·k.
        bias: [head, query, key], added to the scaled scores, or None.
        projection: [head, d_head, d_model], each head's slice of W_O, or None if it was not recorded.
        cap: the bound of the soft cap on scores, cap · tanh(score / cap) (Gemma 2: Riviere et al. 2024, §2);
            or None.
        heads: the selected heads, in the order of the arrays; None: all heads.
        queries: the positions of the selected query tokens; None: all queries.
        sinks: [head], the learned score of each head's attention sink (GPT-OSS: Agarwal et al. 2025). A sink
            is not a token, but its score is part of every row's softmax, so rows sum to less than 1.
            Empty if the scores are unknown, in a trace that has only weights. None: no sinks.

    Raises:
        InvalidTrace: a shape does not match the tokens, a number is not finite, a weight is outside 0 to 1,
            or all keys of a query are masked. The values of recorded tensors are checked when first read.
    """

    kind: Kind
    layer: int
    query_tokens: tuple[Token, ...]
    key_tokens: tuple[Token, ...]
    query: _Array[Floats] = _Array(np.float32)
    key: _Array[Floats] = _Array(np.float32)
    value: _Array[Floats] = _Array(np.float32)
    weights: _Array[Floats] = _Array(np.float32)
    mask: _Array[Mask] = _Array(np.bool_)
    scale: float
    bias: _Array[Floats | None] = _Array(np.float32, optional=True)
    projection: _Array[Floats | None] = _Array(np.float32, optional=True)
    cap: float | None = None
    sinks: _Array[Floats | None] = _Array(np.float32, optional=True)
    heads: tuple[int, ...] | None = None
    queries: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not np.isfinite(self.scale):
            raise InvalidTrace(f"scale must be a finite number, not {self.scale}.")
        if self.cap is not None and not (np.isfinite(self.cap) and self.cap > 0):
            raise InvalidTrace(f"cap must be a finite number above 0, not {self.cap}.")
        shapes = {name: tuple(given.shape) for name, given in vars(self).items() if hasattr(given, "shape")}
        for name in ("query", "value", "projection"):
            if len(shapes.get(name, (0,) * 3)) != 3:
                raise InvalidTrace(f"{name} has {len(shapes[name])} dimensions, not 3.")
        heads, _, d_head = shapes["query"]
        d_value, d_model = shapes["value"][2], shapes.get("projection", (0,))[-1]
        queries, keys = len(self.query_tokens), len(self.key_tokens)
        for name, count in (("heads", heads), ("queries", queries)):
            if (numbers := getattr(self, name)) is not None and len({*numbers}) != count:
                raise InvalidTrace(f"{name} has {len({*numbers})} different numbers, not {count}.")
        expected: dict[str, tuple[int, ...]] = {
            "query": (heads, queries, d_head),
            "key": (heads, keys, d_head),
            "value": (heads, keys, d_value),
            "weights": (heads, queries, keys),
            "mask": (queries, keys),
            "bias": (heads, queries, keys),
            "projection": (heads, d_value, d_model),
            "sinks": (heads if d_head else 0,),
        }
        for name, shape in shapes.items():
            if shape != expected[name]:
                raise InvalidTrace(
                    f"{name} has shape {shape}; for these tokens and heads, it must be {expected[name]}."
                )

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields for pickling, as arrays: another process may not have the tensors' device."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        return f"<attnviz.Block: {self.kind}, layer {self.layer}, {_sizes(self)}>"

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of heads, queries and keys: the shape of the weights."""
        return len(vars(self)["query"]), len(self.query_tokens), len(self.key_tokens)

    @property
    def weights_alone(self) -> bool:
        """True if the block has no queries, keys and values (d_head is 0); see `Trace.from_weights`."""
        return not vars(self)["query"].shape[2]

    @property
    def scores(self) -> Floats:
        """[head, query, key]: query·key × scale (+ bias), after the soft cap, if any, and before the mask.

        Raises:
            InvalidTrace: the block has only weights.
        """
        return _frozen(self.capped(self.scaled))

    @property
    def scaled(self) -> Floats:
        """[head, query, key]: the scores before any soft cap.

        Raises:
            InvalidTrace: the block has only weights.
        """
        self.need_vectors()
        if hasattr(stored := vars(self)["weights"], "check_size"):
            stored.check_size()  # the scores take as much memory as the weights
        scaled = self.query @ self.key.transpose(0, 2, 1) * np.float32(self.scale)
        return scaled if self.bias is None else scaled + self.bias

    def capped(self, scaled: Floats) -> Floats:
        """Return scores after the soft cap, cap · tanh(score / cap), if there is one."""
        return scaled if self.cap is None else np.tanh(scaled / np.float32(self.cap)) * np.float32(self.cap)

    @property
    def output(self) -> Floats:
        """[head, query, d_head]: weights @ value, the weighted average of the values for each query.

        Raises:
            InvalidTrace: the block has only weights.
        """
        self.need_vectors()
        return _frozen(self.weights @ self.value)

    def row(self, head: SupportsIndex, query: SupportsIndex | str) -> Floats:
        """Return one query's weights, [key]; arguments and errors as for `rows`."""
        found: Floats = self.rows(head, [query])[0]
        return found

    def rows(self, head: SupportsIndex, queries: Iterable[SupportsIndex | str]) -> Floats:
        """Return the weights of some queries, [query, key], without reading the other rows.

        In a trace with `store="vectors"`, they are computed from queries and keys in the model's dtype, and
        equal the model's own up to rounding.

        Args:
            head: the head's number in the model, from 0.
            queries: positions in the text, from 0, or the texts of tokens that occur once.

        Raises:
            InvalidTrace: there is no such head or query, it was not selected, or a text occurs several
                times.
            TypeError: a number is not an integer.
        """
        at = _place(head, self.heads, self.shape[0], "head")
        places = [self._query(query) for query in queries]
        return self._rows(at, places)

    def _rows(self, at: int, places: Sequence[int]) -> Floats:
        stored = vars(self)["weights"]
        found = stored.rows(at, places) if hasattr(stored, "rows") else as_array(stored[at][[*places]])
        return cast("Floats", _frozen(_checked("weights", found)))

    def allowed(self, queries: Iterable[SupportsIndex]) -> Mask:
        """Return the rows of `mask` for some queries, bool [query, key], without reading the other rows.

        Raises:
            InvalidTrace, TypeError: as for `rows`.
        """
        places = [self._query(query) for query in queries]
        stored = vars(self)["weights"]
        found = stored.allowed(places) if hasattr(stored, "allowed") else self.mask[places]
        return cast("Mask", _frozen(found))

    def _query(self, query: SupportsIndex | str) -> int:
        if isinstance(query, str):
            return checked_place(query, self.query_tokens, "query")
        return _place(query, self.queries, self.shape[1], "query")

    def top(self, head: SupportsIndex, k: SupportsIndex) -> Top:
        """Return the k keys with the largest weights for each query, in descending order.

        Args:
            head: the head's number in the model, from 0.
            k: the number of keys; limited to the number of tokens.

        Raises:
            InvalidTrace: there is no such head, it was not selected, or k is below 1.
            TypeError: a number is not an integer.
        """
        if (count := as_int(k, "k")) < 1:
            raise InvalidTrace(f"k must be 1 or more, not {count}.")
        count = min(count, self.shape[2])
        parts = []
        for rows in self._tiles(head):
            keys = np.argpartition(rows, -count, axis=1)[:, -count:]
            order = np.argsort(-np.take_along_axis(rows, keys, axis=1), axis=1, kind="stable")
            keys = np.take_along_axis(keys, order, axis=1)
            parts.append(Top(keys, np.take_along_axis(rows, keys, axis=1)))
        return Top(*(_frozen(np.concatenate(each)) for each in zip(*parts, strict=True)))

    def pooled(self, head: SupportsIndex, size: SupportsIndex, how: Pooling = "max") -> Floats:
        """Return an overview of a head's weights: one number for each block of `size` × `size` tokens.

        Args:
            head: the head's number in the model, from 0.
            size: tokens per side of a block; the last blocks may be smaller.
            how: "max", "mean" or "sum" of the weights of a block, including masked weights.

        Returns:
            [⌈queries / size⌉, ⌈keys / size⌉].

        Raises:
            InvalidTrace: there is no such head, it was not selected, `size` is below 1, or `how` is unknown.
            TypeError: a number is not an integer.
        """
        if (side := as_int(size, "size")) < 1:
            raise InvalidTrace(f"size must be 1 or more, not {side}.")
        if how not in get_args(Pooling):
            raise InvalidTrace(f"Unknown pooling {how!r:.30}; use one of {joined([*get_args(Pooling)])}.")
        reduce = (np.maximum if how == "max" else np.add).reduceat
        parts = []
        for rows in self._tiles(head, side):
            starts = [np.arange(0, length, side) for length in rows.shape]
            found = reduce(reduce(rows, starts[1], axis=1), starts[0], axis=0)
            if how == "mean":
                counts = [np.diff([*edges, end]) for edges, end in zip(starts, rows.shape, strict=True)]
                found = found / np.outer(*counts).astype(np.float32)
            parts.append(found)
        return _frozen(np.concatenate(parts))

    def _tiles(self, head: SupportsIndex, side: int = 1) -> Iterator[Floats]:
        """Yield a head's rows in tiles of bounded size, with a multiple of `side` rows each."""
        _, queries, keys = self.shape
        at = _place(head, self.heads, self.shape[0], "head")
        step = side * max(1, _TILE // (side * keys))
        for start in range(0, queries, step):
            yield self._rows(at, range(start, min(start + step, queries)))

    def need_vectors(self) -> None:
        """Raise an error if the block has no queries, keys and values.

        Raises:
            InvalidTrace: the block has only weights.
        """
        if self.weights_alone:
            raise InvalidTrace("This trace has only weights; its queries, keys and values are unknown.")


class Top(NamedTuple):
    """The keys with the largest weights for each query.

    Attributes:
        keys: [query, k], positions in the text, from 0.
        weights: [query, k].
    """

    keys: Counts
    weights: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """One forward pass of a model over one text (two texts for an encoder–decoder).

    Traces are compared by identity: `==` of two traces with equal values is False. Compare their arrays:
    `numpy.array_equal(one.stack("encoder"), other.stack("encoder"))`.

    Attributes:
        model: the catalogue name, folder or Hugging Face id.
        text: the input text, including generated text in a decoder-only model.
        second: the second sentence of a pair, else None.
        target: the decoder's text in an encoder–decoder, else None.
        written: the number of generated tokens at the end.
        blocks: the attention of all or of the selected layers, in execution order; "vision" comes last.
        edits: descriptions of the changes to the attention; the blocks have the edited weights.
        notes: sentences about unusual conditions of the trace.
        pictures: the input images, as PNG files of reduced size.
        without_weights: in a hybrid model, the types of layers without attention weights, by index from 0.

    Raises:
        InvalidTrace: two blocks have the same kind and layer, layers of one kind differ in shape, or
            `written` is negative.
    """

    model: str
    text: str
    blocks: tuple[Block, ...]
    second: str | None = None
    target: str | None = None
    written: int = 0
    edits: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    pictures: tuple[bytes, ...] = ()
    without_weights: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        counts = Counter((block.kind, block.layer) for block in self.blocks)
        for (kind, layer), count in counts.items():
            if count > 1:
                raise InvalidTrace(f"There are {count} blocks for {kind} layer {layer + 1}.")
        first: dict[Kind, Block] = {}
        for block in self.blocks:
            one = first.setdefault(block.kind, block)
            if block.shape != one.shape:
                raise InvalidTrace(
                    f"Layers of one kind must have equal numbers of heads and tokens, but {block.kind} layer "
                    f"{block.layer + 1} has {_sizes(block)}, and layer {one.layer + 1} has {_sizes(one)}."
                )
        if self.written < 0:
            raise InvalidTrace(f"written must be a number of tokens, 0 or more, not {self.written}.")

    @staticmethod
    def from_weights(
        weights: Any = (),
        tokens: Sequence[str] = (),
        *,
        decoder: Any = (),
        cross: Any = (),
        target_tokens: Sequence[str] = (),
        model: str = WEIGHTS_ALONE,
        sink: bool = False,
        second: SupportsIndex | None = None,
    ) -> Trace:
        """Return a trace of weights from any program, without queries, keys and values.

        >>> trace = Trace.from_weights([[[[1, 0], [0.25, 0.75]]]], ["The", "dog"])
        >>> trace.stack("decoder").shape
        (1, 1, 2, 2)

        Args:
            weights: the weights of the only stack or of the encoder, as NumPy arrays, torch tensors or lists:
                [layer, head, query, key]; or, for each layer, [head, query, key] or [1, head, query, key],
                such as transformers' `attentions`; or the `attentions` from transformers' `generate` for one
                text and one beam, a tuple of layers for each step. A layer that is None is skipped; the other
                layers keep their index. If no token attends to later tokens, the stack is a decoder.
            tokens: the tokens, as `convert_ids_to_tokens` returns them ("Ġdog", "▁dog", "##ing"), or words.
                With weights from `generate`, they may include the last token, which has no weights.
            decoder, cross: the `decoder_attentions` and `cross_attentions` of an encoder–decoder in
                transformers.
            target_tokens: the decoder's input.
            model: the name of the model in the trace.
            sink: True if rows may sum to less than 1, because of a learned sink, as in GPT-OSS.
            second: the position, from 0, of the first token of the second sentence of a pair.

        Raises:
            InvalidTrace: there are no weights, they do not match the tokens, a weight is invalid, or a
                row does not sum to 1; the message names the row and its sum.
        """
        if weights is None or decoder is None or cross is None:
            raise InvalidTrace(_NO_WEIGHTS)
        (source_layers, source_steps), (target_layers, target_steps), (cross_layers, cross_steps) = (
            layers_of(each, kind)
            for kind, each in (("encoder", weights), ("decoder", decoder), ("cross", cross))
        )
        tokens = _input_tokens(tokens, source_layers, source_steps)
        target_tokens = _input_tokens(
            target_tokens, target_layers or cross_layers, target_steps or cross_steps
        )
        text, second_text, source = _plain_tokens(tokens, second)
        target_text, _, target = _plain_tokens(target_tokens)
        blocks = _weights_alone("encoder", source_layers, source, source, sink)
        if not target_layers and not any(np.triu(block.weights, 1).any() for block in blocks):
            blocks = [replace(block, kind="decoder", mask=np.tril(block.mask)) for block in blocks]
        blocks += _weights_alone("decoder", target_layers, target, target, sink)
        blocks += _weights_alone("cross", cross_layers, target, source, sink)
        if not blocks:
            raise InvalidTrace(_NO_WEIGHTS)
        return Trace(
            model=model,
            text=text,
            second=second_text,
            target=target_text if target else None,
            blocks=tuple(blocks),
        )

    def __repr__(self) -> str:
        return f"<attnviz.Trace of {self.model!r}: {'; '.join(self._kinds())}>"

    def _kinds(self) -> list[str]:
        kinds = Counter(block.kind for block in self.blocks)
        found = [f"{kind} {layers} × {_sizes(self.of_kind(kind)[0])}" for kind, layers in kinds.items()]
        if self.without_weights:
            found.append(f"without attention weights: {layers_by_kind(self.without_weights, first=0)}")
        return [*found, *self.notes]

    def __sub__(self, other: Trace) -> Difference:
        """Return the difference between this trace and another of the same shape, for `attnviz.show`.

        Raises:
            InvalidTrace: the traces differ in the number of tokens, layers or heads.
        """
        return Difference(self, other) if isinstance(other, Trace) else NotImplemented

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The input tokens of the only stack, or of the encoder in an encoder–decoder.

        If the trace has no encoder attention, they are the decoder's tokens: see `Block.key_tokens`.
        """
        return self.blocks[0].key_tokens if self.blocks else ()

    def of_kind(self, kind: Kind | None = None) -> tuple[Block, ...]:
        """Return the blocks of one kind, by layer; `kind` can be None if the trace has only one kind.

        Raises:
            InvalidTrace: the model has no attention of this kind, or several kinds and `kind` is None.
        """
        if kind is None:
            kinds = tuple(dict.fromkeys(block.kind for block in self.blocks))
            if len(kinds) != 1:
                raise InvalidTrace(
                    f"{self.model} has {', '.join(kinds) or 'no'} attention. Name one kind, as in "
                    'trace.stack("encoder").'
                )
            kind = kinds[0]
        blocks = tuple(sorted((b for b in self.blocks if b.kind == kind), key=lambda b: b.layer))
        if not blocks:
            present = ", ".join(sorted({b.kind for b in self.blocks}))
            raise InvalidTrace(f"{self.model} has no {kind} attention; it has: {present}.")
        return blocks

    def block(self, kind: Kind | None = None, layer: SupportsIndex = 0) -> Block:
        """Return the attention of a layer, counted from 0; `kind` can be None if the trace has only one kind.

        Raises:
            InvalidTrace: the model has no such layer.
            TypeError: `layer` is not an integer.
        """
        blocks = self.of_kind(kind)
        number = as_int(layer, "layer")
        for block in blocks:
            if block.layer == number:
                return block
        if (layer_type := self.without_weights.get(number)) is not None:
            raise InvalidTrace(
                f"Layer {number} of {self.model} (from 0) has no attention weights: it is {layer_type}."
            )
        numbers = [block.layer for block in blocks]
        named = f"0 to {numbers[-1]}" if numbers == [*range(len(numbers))] else joined([*map(str, numbers)])
        raise InvalidTrace(
            f"{self.model} has {blocks[0].kind} layers {named}, counted from 0 in Python, not {layer}."
        )

    def stack(self, kind: Kind | None = None) -> Floats:
        """Return all weights of one kind, [layer, head, query, key]; `kind` as for `of_kind`."""
        return _frozen(np.stack([block.weights for block in self.of_kind(kind)]))

    def save(self, file: str | PathLike[str] | IO[bytes], what: Literal["all", "attention"] = "all") -> None:
        """Write the trace to a file (NPZ, no pickle); `Trace.load` restores it bit for bit.

        `numpy.load` also opens it: the arrays are named by kind, layer (counted from 1) and attribute of
        `Block`, as in `numpy.load(file)["encoder-4.weights"]`. An array that layers share, such as a mask, is
        stored once, under the first layer's name. Scores are not stored: they follow from queries and keys.

        Args:
            file: a path, used as given (no ".npz" is added), or a binary file open for writing. An existing
                file is replaced after everything is written.
            what: "all"; or "attention" to omit each layer's W_O, which is the same for every text and
                makes up most of the file if the text is short.

        Raises:
            InvalidTrace: the trace is too large for a file, or `what` is unknown.
            OSError: the file cannot be written.
        """
        if what not in ("all", "attention"):
            raise InvalidTrace(f'what must be "all" or "attention", not {what!r}.')
        blocks = (block if what == "all" else changed(block, projection=None) for block in self.blocks)
        header, arrays = _described(replace(self, blocks=tuple(blocks)))
        numbers = {place: getattr(block, name) for place, (block, name) in arrays.items()}
        for number, picture in enumerate(self.pictures, 1):
            numbers[f"picture-{number}"] = np.frombuffer(picture, np.uint8)
        trace_io.write(file, header, numbers)

    @staticmethod
    def load(file: str | PathLike[str] | IO[bytes]) -> Trace:
        """Read a trace written by `save`. The file is treated as untrusted, and nothing in it is executed.

        Args:
            file: a path, or a binary file open for reading.

        Raises:
            InvalidTrace: the file is not a trace, has another version, is damaged, or is too large.
            OSError: the file cannot be opened.
        """
        header, arrays = trace_io.read(file)
        try:
            pictures = tuple(arrays.pop(f"picture-{n + 1}") for n in range(header.get("pictures", 0)))
            trace = replace(_assembled(header, arrays), pictures=tuple(map(_png, pictures)))
            described, names = _described(trace)
        except InvalidTrace:
            raise
        except Exception as error:  # an invalid header may raise anything: a KeyError, a TypeError
            raise trace_io.damaged(f"{type(error).__name__} in its header") from error
        # Compared as JSON, in which 1, 1.0 and true differ.
        if names.keys() != arrays.keys() or json.dumps(described) != json.dumps(header):
            raise trace_io.damaged("its arrays differ from the list in its header")
        return trace


@dataclass(frozen=True, eq=False)
class Difference:
    """The weights of one trace minus the weights of another, from `trace - minus`.

    Attributes:
        trace: the minuend.
        minus: the subtrahend.

    Raises:
        InvalidTrace: the traces differ in the number of tokens, layers or heads.
    """

    trace: Trace
    minus: Trace

    def __post_init__(self) -> None:
        blocks, others = ({(b.kind, b.layer): b for b in t.blocks} for t in (self.trace, self.minus))
        if {place: len(b.query) for place, b in blocks.items()} != {
            p: len(b.query) for p, b in others.items()
        }:
            raise InvalidTrace(
                "Only traces with the same layers and numbers of heads can be subtracted, but these differ: "
                f"{self.trace!r} and {self.minus!r}."
            )
        for place, block in blocks.items():
            for side in ("query_tokens", "key_tokens"):
                one, other = (len(getattr(b, side)) for b in (block, others[place]))
                if one != other:
                    raise InvalidTrace(
                        f"Only traces with equal numbers of tokens can be subtracted, but these have {one} "
                        f"and {other}. Choose two texts with the same `len(trace.tokens)`."
                    )


UNKNOWN = np.zeros(0, np.float32)
"""Value of `Block.sinks` for unknown scores, in a trace that has only weights."""
_BLOCK_ARRAYS = ("query", "key", "value", "weights")
_SHARED_ARRAYS = ("mask", "bias", "projection", "sinks")  # equal arrays of several blocks are stored once


_SELECTED = ("heads", "queries")


def _arrays(weights_alone: bool) -> tuple[str, ...]:
    return ("weights",) if weights_alone else _BLOCK_ARRAYS


def _described(trace: Trace) -> tuple[dict[str, Any], dict[str, tuple[Block, str]]]:
    """Return the header of a trace's file, and the block and field of each array by its name in the file.

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
        arrays |= {f"{block_name}.{name}": (block, name) for name in _arrays(block.weights_alone)}
        shared: dict[str, str | None] = dict.fromkeys(_SHARED_ARRAYS)
        for name in _SHARED_ARRAYS:
            if (array := getattr(block, name)) is not None:
                contiguous: Any = np.ascontiguousarray(array)
                content = (name, array.shape, hashlib.sha256(contiguous).digest())
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
                "cap": None if block.cap is None else float(block.cap),
                **shared,
                **{
                    f"selected_{name}": given
                    for name in _SELECTED
                    if (given := getattr(block, name)) is not None
                },
            }
        )
    header = {
        "model": trace.model,
        "text": trace.text,
        "second": trace.second,
        "target": trace.target,
        "written": trace.written,
        "edits": trace.edits,
        **({"notes": trace.notes} if trace.notes else {}),
        **({"pictures": len(trace.pictures)} if trace.pictures else {}),
        **({"without_weights": [*trace.without_weights.items()]} if trace.without_weights else {}),
        "sequences": [[*map(_token, tokens)] for tokens in sequences],
        "blocks": blocks,
    }
    return header, arrays


def _assembled(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Trace:
    """Return the trace that a header and named arrays describe.

    Raises:
        InvalidTrace: a value has the wrong type or is impossible in a forward pass.
        Exception: the header is invalid in another way.
    """
    sequences = [
        tuple(Token(**_typed(Token, fields), patch=_patch(fields.get("patch"))) for fields in tokens)
        for tokens in header["sequences"]
    ]
    if any(token.sentence not in {0, 1} for tokens in sequences for token in tokens):
        raise trace_io.damaged("the sentence of a token is neither 0 nor 1")
    blocks = []
    for described in header["blocks"]:
        if described["kind"] not in get_args(Kind):
            raise trace_io.damaged(f"unknown kind of attention: {reprlib.repr(described['kind'])}")
        alone = described["d_head"] == 0
        numbers: dict[str, Any] = {name: arrays[f"{described['name']}.{name}"] for name in _arrays(alone)}
        numbers |= {name: arrays[described[name]] for name in _SHARED_ARRAYS if described[name] is not None}
        for name, array in numbers.items():
            if array.dtype != (np.bool_ if name == "mask" else np.float32):  # Block would copy it
                raise trace_io.damaged(f"{described['name']}.{name} has the wrong type")
        rows, columns = (sequences[described[name]] for name in ("query_tokens", "key_tokens"))
        if alone:
            numbers |= _no_vectors(len(numbers["weights"]), rows, columns)
        numbers |= {
            name: _numbers(described[f"selected_{name}"])
            for name in _SELECTED
            if f"selected_{name}" in described
        }
        blocks.append(
            Block(
                kind=described["kind"],
                layer=described["layer"] - 1,
                query_tokens=rows,
                key_tokens=columns,
                scale=described["scale"],
                cap=described["cap"],
                **numbers,
            )
        )
    edits, notes = tuple(header["edits"]), tuple(header.get("notes", ()))
    if not all(isinstance(text, str) for text in (*edits, *notes)):
        raise trace_io.damaged("an edit or a note is not a string")
    others = dict(header.get("without_weights", ()))
    if not all(type(layer) is int and type(what) is str for layer, what in others.items()):
        raise trace_io.damaged("a layer without weights has no number or no name")
    return Trace(
        **_typed(Trace, header), edits=edits, notes=notes, blocks=tuple(blocks), without_weights=others
    )


def _token(token: Token) -> dict[str, Any]:
    fields = asdict(token)
    return fields if token.patch is not None else {name: fields[name] for name in fields if name != "patch"}


def _patch(found: Any) -> Patch | None:
    if found is None:
        return None
    picture, view, row, column, box = found
    if not all(type(place) is int and place >= 0 for place in (picture, view, row, column)):
        raise trace_io.damaged("the place of a patch is invalid")
    left, top, right, bottom = box
    if not all(type(edge) is float and np.isfinite(edge) for edge in box):
        raise trace_io.damaged("the edges of a patch are not numbers")
    return Patch(picture, view, row, column, (left, top, right, bottom))


def _png(found: NDArray[Any]) -> bytes:
    if found.dtype != np.uint8 or not (picture := found.tobytes()).startswith(PNG):
        raise trace_io.damaged("a picture is not a PNG file")
    return picture


def _input_tokens(tokens: Sequence[Any], layers: Mapping[int, Any], generated: bool) -> Sequence[Any]:
    """Return the tokens of the model's input, which does not include the last generated token."""
    layer = next(iter(layers.values()), None)
    written = generated and layer is not None and len(tokens) == layer.shape[1] + 1
    return tokens[:-1] if written else tokens


def _plain_tokens(
    tokens: Sequence[Any], second: SupportsIndex | None = None
) -> tuple[str, str | None, tuple[Token, ...]]:
    """Return the text, the text of a second sentence, if any, and the tokens with their positions."""
    spellings = [token_spelling(token) for token in tokens]
    begins = len(spellings) if second is None else as_int(second, "second")
    if second is not None and not 0 < begins < len(spellings):
        raise InvalidTrace(
            "second must be the position of a token after the first, from 1 to "
            f"{len(spellings) - 1}, not {begins}."
        )
    texts, found, words = [], [], 0
    for sentence, part in enumerate((spellings[:begins], spellings[begins:])):
        text, pieces = decode(part)
        texts.append(text)
        for spelling, (start, end, word) in zip(part, pieces, strict=True):
            found.append(Token(spelling, 0, start, end, words + word, special=False, sentence=sentence))
        words += pieces[-1].word + 1 if pieces else 0
    return texts[0], None if second is None else texts[1], tuple(found)


def _weights_alone(
    kind: Kind,
    layers: Mapping[int, Any],
    rows: tuple[Token, ...],
    columns: tuple[Token, ...],
    sink: bool,
) -> list[Block]:
    """Return a block for each layer, with weights only."""
    blocks = []
    for layer, given in layers.items():
        where = f"{kind} layer {layer + 1}"
        weights = _checked_weights(given, where, sink)
        if weights.shape[1:] != (len(rows), len(columns)):
            raise InvalidTrace(
                f"The weights of {where} are for {weights.shape[1]} × {weights.shape[2]} tokens, but there "
                f"are {len(rows)} × {len(columns)} tokens."
            )
        block = weights_block(kind, layer, rows, columns, weights)
        blocks.append(replace(block, sinks=UNKNOWN) if sink else block)
    return blocks


def mask_of_weights(kind: Kind, weights: Floats) -> Mask:
    """Return a mask, [query, key], for weights [..., query, key] with an unknown mask.

    It is causal for a decoder without attention to later tokens, else True everywhere.
    """
    mask = np.ones(weights.shape[-2:], dtype=np.bool_)
    return np.tril(mask) if kind == "decoder" and not np.triu(weights, 1).any() else mask


def weights_block(
    kind: Kind, layer: int, rows: tuple[Token, ...], columns: tuple[Token, ...], weights: Floats
) -> Block:
    """Return a block that has only weights, [head, query, key]."""
    return Block(
        kind=kind,
        layer=layer,
        query_tokens=rows,
        key_tokens=columns,
        weights=weights,
        mask=mask_of_weights(kind, weights),
        scale=1.0,
        **_no_vectors(len(weights), rows, columns),
    )


def _checked_weights(given: Any, where: str, sink: bool) -> Floats:
    """Return weights, [head, query, key], after checking that rows sum to 1, or to at most 1 with a sink."""
    try:
        weights: Floats = as_array(given)
    except (TypeError, ValueError) as error:
        raise InvalidTrace(
            f"The weights of {where} are not an array of numbers: {error}. From transformers' outputs, pass "
            "the attentions."
        ) from error
    weights = weights[0] if weights.ndim == 4 and len(weights) == 1 else weights
    if weights.ndim != 3:
        raise InvalidTrace(
            f"The weights of {where} have the shape {weights.shape}; it must be [head, query, key] of one "
            f"text.{' Pass the matrix of one head as [[matrix]].' if weights.ndim < 3 else ''}"
        )
    if not weights.size:
        raise InvalidTrace(f"The weights of {where} are empty: their shape is {weights.shape}.")
    if (fault := _fault(weights, sink)) is not None:
        (head, row), reason = fault
        hints = (
            "Pass attentions: hidden states and scores are not weights."
            if "contains -" in reason
            else "Dropout in training mode changes the sums: call model.eval() first. If the missing "
            "weight belongs to a sink, as in GPT-OSS, use Trace.from_weights(…, sink=True). If another sum "
            "is intended, divide each row by its sum."
        )
        raise InvalidTrace(f"Row {row + 1} of {where}, head {head + 1} {reason} {hints}")
    return weights


def _fault(weights: Floats, sink: bool = False) -> tuple[tuple[int, ...], str] | None:
    """Return the indices of the row with the largest error, and a message; None if all rows are valid.

    With a sink, a row may sum to less than 1.
    """
    lowest, sums = weights.min(axis=-1), weights.sum(axis=-1)
    off = np.abs(np.maximum(sums, 1) - 1 if sink else sums - 1)
    off = np.where(lowest < 0, np.inf, off)  # argmax treats NaN as the maximum
    at = tuple(map(int, np.unravel_index(int(off.argmax()), off.shape)))
    if off[at] <= ROW_ROUNDING:
        return None
    reason = f"contains {lowest[at]:.4g}" if lowest[at] < 0 else f"sums to {sums[at]:.4g}, not to 1"
    if not np.isfinite(sums[at]):
        reason = "contains numbers that are not finite"
    return at, f"{reason}. Weights must be from 0 to 1, and each row must sum to {'at most ' * sink}1."


def _no_vectors(heads: int, rows: tuple[Token, ...], columns: tuple[Token, ...]) -> dict[str, Any]:
    return {
        name: np.zeros((heads, len(tokens), 0), dtype=np.float32)
        for name, tokens in (("query", rows), ("key", columns), ("value", columns))
    }


def changed(block: Block, **fields: Any) -> Block:
    """Return a block with some fields replaced, without reading the other fields."""
    return Block(**(vars(block) | fields))


def selected(block: Block, heads: Sequence[int] | None, queries: Sequence[int] | None) -> Block:
    """Return a block with only some heads and queries, by index; None: all."""
    fields: dict[str, Any] = {**vars(block), "heads": heads, "queries": queries}
    if heads is not None:
        for name in _HEAD_FIELDS:
            fields[name] = None if fields[name] is None else fields[name][[*heads]]
    if queries is not None:
        for name, axis in _QUERY_AXES.items():
            at = (*[slice(None)] * axis, [*queries])
            fields[name] = None if fields[name] is None else fields[name][at]
        fields["query_tokens"] = tuple(block.query_tokens[place] for place in queries)
    return Block(**fields)


_HEAD_FIELDS = ("query", "key", "value", "weights", "bias", "projection", "sinks")
_QUERY_AXES = {"query": 1, "weights": 1, "bias": 1, "mask": 0}


def refuse_selected(trace: Trace) -> None:
    """Raise an error if heads or queries were selected: such a trace cannot be shown completely.

    Raises:
        InvalidTrace: heads or queries were selected.
    """
    if any(block.heads is not None or block.queries is not None for block in trace.blocks):
        raise InvalidTrace(
            "This trace has only some heads or queries. Select only layers, or read the weights from its "
            "blocks: block.row(head, query)."
        )


def _place(number: SupportsIndex, selection: tuple[int, ...] | None, count: int, name: str) -> int:
    """Return the index of a head or a query in the arrays of a block."""
    available: Sequence[int] = range(count) if selection is None else selection
    if (place := as_int(number, name)) not in available:
        listed = f"0 to {count - 1}" if selection is None else joined([*map(str, selection)])
        raise InvalidTrace(f"There is no {name} {place}; counted from 0, the trace has {listed}.")
    return available.index(place)


def _numbers(found: Any) -> tuple[int, ...]:
    if not (isinstance(found, list) and all(type(number) is int for number in found)):
        raise trace_io.damaged("a selection is not a list of integers")
    return tuple(found)


def _typed(record: type, fields: dict[str, Any]) -> dict[str, Any]:
    """Return a record's fields that are a str, number, bool or None, after checking their types."""
    found = {}
    for name, hint in get_type_hints(record).items():
        types = set(get_args(hint) or [hint])
        if get_origin(hint) in {None, UnionType} and types <= {str, int, bool, NoneType}:
            if type(fields[name]) not in types:  # exact, because bool is a subclass of int
                raise trace_io.damaged(f"{name} is {reprlib.repr(fields[name])}, not of type {hint}")
            found[name] = fields[name]
    return found


def _sizes(block: Block) -> str:
    heads, queries, keys = block.shape
    return f"{plural(heads, 'head')}, {queries} × {keys} tokens"


def weights_of(given: Trace | Floats) -> Floats:
    """Return [layer, head, query, key]: the given weights, or those in a trace with one kind of attention.

    Raises:
        InvalidTrace, TypeError: as for `checked_array`; or the trace has several kinds of attention.
    """
    return given.stack() if isinstance(given, Trace) else checked_array(given, "weights", _STACK)


_STACK = ("layer", "head", "query", "key")


def checked_array(given: object, name: str, axes: Sequence[str], sink: bool = False) -> Floats:
    """Return an array of weights after checking its axes, the last of which is "key".

    Args:
        axes: the names of the axes; "...": any number of axes.
        sink: allow rows that sum to less than 1.

    Raises:
        InvalidTrace: it has the wrong number of axes, or a row does not sum to 1.
        TypeError: it is not an array of numbers.
    """
    needed = f"[{', '.join(axes)}]"
    if not isinstance(given, np.ndarray) or given.dtype.kind not in "biuf":
        found = f"one of {given.dtype}" if isinstance(given, np.ndarray) else type(given).__name__
        raise TypeError(
            f"{name} must be a NumPy array of numbers, {needed}, not {found}. Use trace.stack() "
            "for a trace, Trace.from_weights(attentions, tokens) for transformers' attentions, "
            "or tensor.numpy() for a tensor."
        )
    if not given.size or (given.ndim < len(axes) - 1 if "..." in axes else given.ndim != len(axes)):
        empty = "" if given.size else ", without an empty axis"
        raise InvalidTrace(f"{name} has the shape {given.shape}; it must be {needed}{empty}.")
    if (fault := _fault(given, sink)) is not None:
        at, reason = fault
        row = ", ".join(map(str, at)) or "..."
        raise InvalidTrace(f"{name}[{row}] {reason} If another sum is intended, divide each row by its sum.")
    return given


def refuse_cross(weights: Floats) -> None:
    """Raise an error for cross-attention weights.

    Raises:
        InvalidTrace: the numbers of queries and keys differ.
    """
    if weights.shape[-1] != weights.shape[-2]:
        raise InvalidTrace(
            f"weights has {weights.shape[-2]} queries and {weights.shape[-1]} keys; they must be "
            "self-attention weights, with the same tokens as queries and keys."
        )


def checked_trace(found: object) -> Trace:
    """Return a trace after checking that no heads or queries were selected.

    Raises:
        InvalidTrace: heads or queries were selected.
        TypeError: it is not a trace; if it is a file name, the message explains how to load it.
    """
    if isinstance(found, Trace):
        refuse_selected(found)
        return found
    if isinstance(found, str | PathLike):
        raise TypeError(f"Pass a trace, not the name of its file. Load it first: Trace.load({found!r}).")
    raise TypeError(f"Pass a trace, such as the result of attnviz.trace(…), not {type(found).__name__}.")


def as_int(number: SupportsIndex, name: str) -> int:
    """Convert an integer, including NumPy's, to an int.

    Raises:
        TypeError: it is not an integer.
    """
    try:
        return index(number)
    except TypeError as error:
        raise TypeError(f"{name} must be a whole number, not {number!r:.30}.") from error


def checked_head(trace: Trace, kind: Kind, layer: SupportsIndex, head: SupportsIndex) -> Block:
    """Return the block of a layer after checking that it has this head; both count from 0.

    Raises:
        InvalidTrace: there is no such layer or head.
        TypeError: `layer` or `head` is not an integer.
    """
    block = trace.block(kind, layer)
    if as_int(head, "head") not in range(block.shape[0]):
        raise InvalidTrace(
            f"{trace.model} has heads 0 to {block.shape[0] - 1}, counted from 0 in Python, not {head}."
        )
    return block


def checked_place(place: SupportsIndex | str, tokens: Sequence[Token], name: str = "place") -> int:
    """Return the position of one of these tokens, from 0.

    Args:
        place: the position, or the text of a token or word that occurs once: "dog" for "Ġdog".

    Raises:
        InvalidTrace: there is no such token, or there are several; the message lists their positions.
        TypeError: it is neither an integer nor a str.
    """
    if isinstance(place, str):
        bare = [token.text.strip(SPACES).removeprefix("##") for token in tokens]
        exact = [at for at, token in enumerate(tokens) if place in {token.text, bare[at]}]
        words: dict[tuple[int, int], list[int]] = {}
        for at, token in enumerate(tokens):
            if token.word is not None:
                words.setdefault((token.sentence, token.word), []).append(at)
        pieces = [at for word in words.values() if "".join(bare[at] for at in word) == place for at in word]
        found = sorted({*exact, *pieces})
        if len(found) != 1:
            raise InvalidTrace(
                f"There is no token {place!r:.60}. Pass its position, from 0."
                if not found
                else f"{place!r:.60} is at {joined([*map(str, found)])}. Pass one of these numbers as {name}."
            )
        return found[0]
    if as_int(place, name) not in range(len(tokens)):
        raise InvalidTrace(f"There is no token {place}: counted from 0, the last one is {len(tokens) - 1}.")
    return index(place)


def _read_only(given: Any, dtype: type[np.generic]) -> NDArray[Any]:
    """Return a read-only array; a frozen dataclass alone would not prevent `array[0] = 1`.

    A read-only, contiguous array of this dtype that owns its data is shared; anything else is copied.
    """
    flags = given.flags if isinstance(given, np.ndarray) else None
    shared = flags is not None and flags.owndata and flags.c_contiguous and not flags.writeable
    if shared and given.dtype == dtype:
        return cast("NDArray[Any]", given)
    return _frozen(np.array(given, dtype=dtype, copy=True, order="C"))


def _checked(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Return the array of a field after checking its values."""
    if name == "mask":
        masked = np.flatnonzero(~array.any(axis=-1))
        if masked.size and array.ndim == 2:
            raise InvalidTrace(
                f"All keys are masked for query token {masked[0] + 1}, so its softmax is undefined. "
                "Each row needs at least one unmasked key."
            )
        return array
    if name == "weights" and array.min(initial=0) >= 0 and array.max(initial=0) <= 1 + ROUNDING:
        return array  # these comparisons are False for NaN and infinity
    # The sum of squares is finite only if every number is; computing it is six times as fast as `isfinite`.
    if not (np.isfinite(np.vdot(array, array)) or np.isfinite(array).all()):
        raise InvalidTrace(f"{name} contains numbers that are not finite.")
    if name == "weights":
        raise InvalidTrace("Some weights are outside the range 0 to 1.")
    return array


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array
