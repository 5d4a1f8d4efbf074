"""What one forward pass did: every query, key, value, score and weight, as arrays that cannot change."""

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
from attnviz.given_weights import as_array, decoded, layers_of, spelled
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
Held = TypeVar("Held", bound=NDArray[Any] | None)

WEIGHTS_ALONE = "weights alone"
"""The default model name of a trace made from weights alone."""

_NO_WEIGHTS = (
    "There are no weights. Give those of one layer at least; a model of transformers returns them as "
    '`outputs.attentions` if it is loaded with attn_implementation="eager" and called with '
    "output_attentions=True."
)

PNG = b"\x89PNG\r\n\x1a\n"
"""How a PNG file begins."""

ROW_ROUNDING = 0.02
"""How far a row's sum may be from 1: many weights in bfloat16, of 8 bits each, are off together."""

ROUNDING = 1e-5
"""How far above 1 a weight may be: an edit that moves one weight onto another adds the two."""


class Patch(NamedTuple):
    """Which part of a picture a token is.

    Attributes:
        picture: which of the pictures, from 0.
        view: 0: the picture as a whole; 1: the same picture in more pixels, where a model cuts it into tiles.
        row, column: of the patches of this view, from 0.
        box: its left, top, right and bottom edge, as parts of the picture's width and height. They are below
            0 or above 1 where the model adds a margin.
    """

    picture: int
    view: int
    row: int
    column: int
    box: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Token:
    """One token and its place in the text.

    Attributes:
        text: the tokenizer's own spelling ("##ing" for a piece inside a word).
        id: its row in the model's vocabulary.
        start, end: its characters, `source[start:end]`; 0, 0 for a special token.
        word: the number of its word, from 0; None for a special token.
        special: True if the tokenizer added it ([CLS], [SEP]).
        sentence: 0, or 1 in the second sentence of a pair, where start and end count in that one.
        patch: which part of a picture it is; None: none.
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
"""How a block of weights becomes one number."""

_TILE = 2**22
"""How many weights are read at a time where all of them would take much memory."""


class Lazy(Protocol):
    """Numbers that become an array when they are read."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of that array."""

    def numpy(self) -> NDArray[Any]:
        """Return the array.

        Raises:
            InvalidTrace: the numbers are no longer those that the model computed with.
        """


class _Array(Generic[Held]):
    """A field of `Block`: a read-only array, made of what was recorded when it is first read."""

    def __init__(self, dtype: type[np.generic], *, optional: bool = False) -> None:
        self._dtype, self._optional = dtype, optional

    def __set_name__(self, owner: type[Block], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, block: None, owner: type[Block]) -> None: ...
    @overload
    def __get__(self, block: Block, owner: type[Block]) -> Held: ...
    def __get__(self, block: Block | None, owner: type[Block]) -> Held | None:
        if block is None:  # `dataclass` reads the default, or that there is none
            if self._optional:
                return None
            raise AttributeError(self._name)
        held = vars(block)[self._name]
        if held is not None and not isinstance(held, np.ndarray):
            held = _checked(self._name, _frozen(as_array(held, self._dtype)))
            vars(block)[self._name] = held
        return cast("Held", held)

    def __set__(self, block: Block, given: Held | Tensor | Lazy) -> None:
        if isinstance(given, np.ndarray) or not (given is None or hasattr(given, "shape")):
            given = cast("Held", _checked(self._name, _read_only(given, self._dtype)))
        vars(block)[self._name] = given


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """One layer's attention.

    The weights are the model's own, to the bit. What a model recorded stays as it is, on the model's device
    and in its numbers, until it is first read: then it becomes an array, field by field. Scores and output
    are computed each time. W_O is the model's own weight, which the trace keeps in memory if the model goes.

    Attributes:
        kind: "encoder", "decoder" (both self-attention), "cross", or "vision" for the part of a
            vision-language model that reads the pictures.
        layer: counts from 0.
        query_tokens, key_tokens: the tokens of the rows and of the columns.
        query: [head, query, d_head], after projection (and rotation, where the model rotates).
        key, value: [head, key, d_head], one per head (grouped keys already repeated).
        weights: [head, query, key], the softmax of the masked scores, after any edits; each from 0 to 1.
        mask: [query, key], True where a query may look.
        scale: what q·k is multiplied by.
        bias: [head, query, key] added to the scaled scores, or None.
        projection: [head, d_head, d_model], each head's slice of W_O, or None where it was not kept.
        cap: where the model caps its scores softly, what they are squeezed between, −cap and cap (Gemma 2:
            Riviere et al. 2024, §2); else None.
        heads: the numbers of the heads that were selected, in the order of the arrays; None: all of them.
        queries: the places of the query tokens that were selected; None: all of them.
        sinks: [head], where each head has a learned score that belongs to no token and enters the softmax of
            every row, a sink (GPT-OSS: Agarwal et al. 2025): rows then sum to less than 1, and the rest
            goes nowhere. Of weights alone, an empty array says that there are sinks. Else None.

    Raises:
        InvalidTrace: a shape does not match the tokens, a number is not finite, a weight is not from 0 to 1,
            or a query has every key masked; of what a model recorded, the numbers when they are first read.
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
            raise InvalidTrace(f"scale is {self.scale}, which is not a finite number.")
        if self.cap is not None and not (np.isfinite(self.cap) and self.cap > 0):
            raise InvalidTrace(f"cap is {self.cap}, which is not a finite number above 0.")
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
                    f"{name} has shape {shape}, but the tokens and heads need {expected[name]}."
                )

    def __getstate__(self) -> dict[str, Any]:
        """Return arrays alone: another process has no such device."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        return f"<attnviz.Block: {self.kind}, layer {self.layer}, {_sizes(self)}>"

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many heads, queries and keys there are: the shape of the weights."""
        return len(vars(self)["query"]), len(self.query_tokens), len(self.key_tokens)

    @property
    def weights_alone(self) -> bool:
        """Whether it has no queries, keys and values: d_head is 0; see `Trace.from_weights`."""
        return not vars(self)["query"].shape[2]

    @property
    def scores(self) -> Floats:
        """[head, query, key]: query·key × scale (+ bias), capped where the model does so, before the mask.

        Raises:
            InvalidTrace: there are weights alone.
        """
        return _frozen(self.capped(self.scaled))

    @property
    def scaled(self) -> Floats:
        """[head, query, key]: the scores before they are capped.

        Raises:
            InvalidTrace: there are weights alone.
        """
        self.need_vectors()
        if hasattr(held := vars(self)["weights"], "refuse"):
            held.refuse()  # scores take as much
        scaled = self.query @ self.key.transpose(0, 2, 1) * np.float32(self.scale)
        return scaled if self.bias is None else scaled + self.bias

    def capped(self, scaled: Floats) -> Floats:
        """What the cap makes of scores: cap · tanh(score / cap); without one, the same."""
        return scaled if self.cap is None else np.tanh(scaled / np.float32(self.cap)) * np.float32(self.cap)

    @property
    def output(self) -> Floats:
        """[head, query, d_head]: weights @ value, the weighted average that each query reads.

        Raises:
            InvalidTrace: there are weights alone.
        """
        self.need_vectors()
        return _frozen(self.weights @ self.value)

    def row(self, head: SupportsIndex, query: SupportsIndex | str) -> Floats:
        """Return one query's weights, [key]; arguments and errors as of `rows`."""
        found: Floats = self.rows(head, [query])[0]
        return found

    def rows(self, head: SupportsIndex, queries: Iterable[SupportsIndex | str]) -> Floats:
        """Return the weights of some queries, [query, key], without those of others.

        Of a trace with `store="vectors"` they are computed from queries and keys, in the model's numbers, and
        agree with the model's own up to rounding.

        Args:
            head: its number in the model, from 0.
            queries: their places in the text, from 0, or their texts, where they are there once.

        Raises:
            InvalidTrace: there is no such head or query, it was not selected, or a text is there several
                times.
            TypeError: a number is no whole one.
        """
        at = _place(head, self.heads, self.shape[0], "head")
        places = [self._query(query) for query in queries]
        return self._rows(at, places)

    def _rows(self, at: int, places: Sequence[int]) -> Floats:
        held = vars(self)["weights"]
        found = held.rows(at, places) if hasattr(held, "rows") else as_array(held[at][[*places]])
        return cast("Floats", _frozen(_checked("weights", found)))

    def allowed(self, queries: Iterable[SupportsIndex]) -> Mask:
        """Return where some queries may attend, [query, key]: rows of `mask`, without the others.

        Raises:
            InvalidTrace, TypeError: as `rows` does.
        """
        places = [self._query(query) for query in queries]
        held = vars(self)["weights"]
        found = held.allowed(places) if hasattr(held, "allowed") else self.mask[places]
        return cast("Mask", _frozen(found))

    def _query(self, query: SupportsIndex | str) -> int:
        if isinstance(query, str):
            return checked_place(query, self.query_tokens, "query")
        return _place(query, self.queries, self.shape[1], "query")

    def top(self, head: SupportsIndex, k: SupportsIndex) -> Top:
        """Return the k keys with the largest weights of each query, the largest first.

        Args:
            head: its number in the model, from 0.
            k: how many keys; fewer where the text has fewer.

        Raises:
            InvalidTrace: there is no such head, it was not selected, or k is below 1.
            TypeError: a number is no whole one.
        """
        if (count := whole(k, "k")) < 1:
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
            head: its number in the model, from 0.
            size: tokens on each side of a block; the last ones may have fewer.
            how: "max", "mean" or "sum" of the weights of a block, masked ones included.

        Returns:
            [⌈queries / size⌉, ⌈keys / size⌉].

        Raises:
            InvalidTrace: there is no such head, it was not selected, `size` is below 1, or `how` is unknown.
            TypeError: a number is no whole one.
        """
        if (side := whole(size, "size")) < 1:
            raise InvalidTrace(f"size must be 1 or more, not {side}.")
        if how not in get_args(Pooling):
            raise InvalidTrace(f"There is no pooling {how!r:.30}; there are {joined([*get_args(Pooling)])}.")
        reduce = (np.maximum if how == "max" else np.add).reduceat
        parts = []
        for rows in self._tiles(head, side):
            starts = [np.arange(0, length, side) for length in rows.shape]
            found = reduce(reduce(rows, starts[1], axis=1), starts[0], axis=0)
            if how == "mean":
                counts = [np.diff([*of, end]) for of, end in zip(starts, rows.shape, strict=True)]
                found = found / np.outer(*counts).astype(np.float32)
            parts.append(found)
        return _frozen(np.concatenate(parts))

    def _tiles(self, head: SupportsIndex, side: int = 1) -> Iterator[Floats]:
        """Yield a head's rows, so many at a time that memory stays bounded, in multiples of `side`."""
        _, queries, keys = self.shape
        at = _place(head, self.heads, self.shape[0], "head")
        step = side * max(1, _TILE // (side * keys))
        for start in range(0, queries, step):
            yield self._rows(at, range(start, min(start + step, queries)))

    def need_vectors(self) -> None:
        """Refuse what is computed from vectors.

        Raises:
            InvalidTrace: there are weights alone.
        """
        if self.weights_alone:
            raise InvalidTrace(
                "There are weights alone here, without queries, keys and values to compute from."
            )


class Top(NamedTuple):
    """The keys with the largest weights of each query.

    Attributes:
        keys: [query, k], places in the text, from 0.
        weights: [query, k].
    """

    keys: Counts
    weights: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """One forward pass of one model over one text (two, for an encoder–decoder).

    A trace equals itself only: `==` of two that hold the same numbers is False. Compare their arrays, as in
    `numpy.array_equal(one.stack("encoder"), other.stack("encoder"))`.

    Attributes:
        model: the catalogue name, folder or Hugging Face id.
        text: what the visitor typed; of a decoder that wrote on, what it wrote too.
        second: the second sentence of a pair that was read together, else None.
        target: the second text of an encoder–decoder, else None.
        written: how many of the last tokens a decoder wrote itself.
        blocks: every layer's attention, in the order the model ran them; "vision" comes last.
        edits: the changes that were made to the weights while it ran, in words; the blocks' weights are the
            changed ones.
        notes: how it was made, where a reader might expect something else: sentences.
        pictures: those that were read, as PNG files, made smaller.
        without_weights: of a hybrid model, what its layers without attention weights are, by number from 0.

    Raises:
        InvalidTrace: two blocks are of the same kind and layer, layers of one kind differ in shape, or
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
                raise InvalidTrace(f"There are {count} blocks for {kind} layer {layer}.")
        first: dict[Kind, Block] = {}
        for block in self.blocks:
            one = first.setdefault(block.kind, block)
            if block.shape != one.shape:
                raise InvalidTrace(
                    f"The layers of one kind must have equally many heads and tokens, but {block.kind} layer "
                    f"{block.layer + 1} has {_sizes(block)}, and layer {one.layer + 1} has {_sizes(one)}."
                )
        if self.written < 0:
            raise InvalidTrace(f"A model cannot have written {self.written} tokens.")

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
        """Return a trace of weights alone, whatever computed them; without queries, keys and values.

        >>> trace = Trace.from_weights([[[[1, 0], [0.25, 0.75]]]], ["The", "dog"])
        >>> trace.stack("decoder").shape
        (1, 1, 2, 2)

        Args:
            weights: of the only stack, or of the encoder: [layer, head, query, key] as one array, or of each
                layer [head, query, key] or [1, head, query, key], as `attentions` of transformers are; of
                numpy, of torch, or lists. A layer that is None is skipped, and the others keep their
                numbers. If no token attends forwards, it is a decoder's. Or the `attentions` that `generate`
                of transformers returns, of one text and one beam: one tuple of layers for each step.
            tokens: the queries and keys, as `convert_ids_to_tokens` spells them ("Ġdog", "▁dog", "##ing"),
                or words. Of generated weights, the last token may be among them, although none attends to it.
            decoder, cross: of an encoder–decoder, as transformers calls them `decoder_attentions` and
                `cross_attentions`.
            target_tokens: what the decoder reads.
            model: what the trace calls the model.
            sink: what a row lacks of 1 went to a learned sink that is no token, as in GPT-OSS.
            second: the place, from 0, of the first of `tokens` in the second sentence of a pair.

        Raises:
            InvalidTrace: there are no such weights, they do not fit the tokens, a number is no weight, or a
                row does not sum to 1; the message has the place and the difference.
        """
        if weights is None or decoder is None or cross is None:
            raise InvalidTrace(_NO_WEIGHTS)
        (of_source, source_steps), (of_target, target_steps), (of_cross, cross_steps) = (
            layers_of(each, kind)
            for kind, each in (("encoder", weights), ("decoder", decoder), ("cross", cross))
        )
        tokens = _read(tokens, of_source, source_steps)
        target_tokens = _read(target_tokens, of_target or of_cross, target_steps or cross_steps)
        text, second_text, source = _plain_tokens(tokens, second)
        target_text, _, target = _plain_tokens(target_tokens)
        blocks = _weights_alone("encoder", of_source, source, source, sink)
        if not of_target and not any(np.triu(block.weights, 1).any() for block in blocks):
            blocks = [replace(block, kind="decoder", mask=np.tril(block.mask)) for block in blocks]
        blocks += _weights_alone("decoder", of_target, target, target, sink)
        blocks += _weights_alone("cross", of_cross, target, source, sink)
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
        """Return this trace minus another one with as many tokens, for `attnviz.show`.

        Raises:
            InvalidTrace: they have other numbers of tokens, layers or heads.
        """
        return Difference(self, other) if isinstance(other, Trace) else NotImplemented

    @property
    def tokens(self) -> tuple[Token, ...]:
        """What the only stack reads; of an encoder–decoder, what its encoder reads.

        Where the trace has no attention of the encoder, it is what the decoder reads: see `Block.key_tokens`.
        """
        return self.blocks[0].key_tokens if self.blocks else ()

    def of_kind(self, kind: Kind | None = None) -> tuple[Block, ...]:
        """The blocks of one kind, by layer; None: of the only kind that there is.

        Raises:
            InvalidTrace: the model has no such attention, or several kinds and none is named.
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
        """One layer's attention; `layer` counts from 0, and a kind is needed where there are several.

        Raises:
            InvalidTrace: the model has no such layer.
            TypeError: `layer` is no whole number.
        """
        blocks = self.of_kind(kind)
        wanted = whole(layer, "layer")
        for block in blocks:
            if block.layer == wanted:
                return block
        if (what := self.without_weights.get(wanted)) is not None:
            raise InvalidTrace(
                f"Layer {wanted} of {self.model}, counted from 0, has no attention weights: it is {what}."
            )
        numbers = [block.layer for block in blocks]
        named = f"0 to {numbers[-1]}" if numbers == [*range(len(numbers))] else joined([*map(str, numbers)])
        raise InvalidTrace(
            f"{self.model} has {blocks[0].kind} layers {named}, counted from 0 in Python, not {layer}."
        )

    def stack(self, kind: Kind | None = None) -> Floats:
        """All weights of one kind, [layer, head, query, key]; a kind is needed where there are several."""
        return _frozen(np.stack([block.weights for block in self.of_kind(kind)]))

    def save(self, file: str | PathLike[str] | IO[bytes], what: Literal["all", "attention"] = "all") -> None:
        """Write it to a file (NPZ, no pickle); `Trace.load` gives it back equal to the bit.

        `numpy.load` opens it, too: its arrays are called by kind, layer (counted from 1) and attribute of
        `Block`, as in `numpy.load(file)["encoder-4.weights"]`. What layers share, such as a mask, is there
        once, by the name of the first. Scores are not in the file: they are computed from queries and keys.

        Args:
            file: a path, taken as it is (no ".npz" is added), or a binary file open for writing. What is
                there already is replaced when all is written.
            what: "all"; or "attention", all but each layer's W_O, which is the same for every text and of
                short ones most of a file.

        Raises:
            InvalidTrace: the trace is too large for a file, or `what` is something else.
            OSError: the file cannot be written.
        """
        if what not in ("all", "attention"):
            raise InvalidTrace(f'A file holds "all" or "attention", not {what!r}.')
        blocks = (block if what == "all" else changed(block, projection=None) for block in self.blocks)
        header, arrays = _described(replace(self, blocks=tuple(blocks)))
        numbers = {place: getattr(block, name) for place, (block, name) in arrays.items()}
        for number, picture in enumerate(self.pictures, 1):
            numbers[f"picture-{number}"] = np.frombuffer(picture, np.uint8)
        trace_io.write(file, header, numbers)

    @staticmethod
    def load(file: str | PathLike[str] | IO[bytes]) -> Trace:
        """Read what `save` wrote. Nothing in the file is run or trusted.

        Args:
            file: a path, or a binary file open for reading.

        Raises:
            InvalidTrace: it is no trace, of another version, damaged, or too large.
            OSError: the file cannot be opened.
        """
        header, arrays = trace_io.read(file)
        try:
            pictures = tuple(arrays.pop(f"picture-{n + 1}") for n in range(header.get("pictures", 0)))
            trace = replace(_assembled(header, arrays), pictures=tuple(map(_png, pictures)))
            described, names = _described(trace)
        except InvalidTrace:
            raise
        except Exception as error:  # whatever a header that is not ours leads to: a KeyError, a TypeError
            raise trace_io.damaged(f"{type(error).__name__} in its header") from error
        # As JSON, because there 1, 1.0 and true are not the same.
        if names.keys() != arrays.keys() or json.dumps(described) != json.dumps(header):
            raise trace_io.damaged("it holds other arrays than its header describes")
        return trace


@dataclass(frozen=True, eq=False)
class Difference:
    """The weights of one trace minus those of another, as `trace - minus` makes it.

    Attributes:
        trace: from which is subtracted.
        minus: what is subtracted.

    Raises:
        InvalidTrace: they have other numbers of tokens, layers or heads.
    """

    trace: Trace
    minus: Trace

    def __post_init__(self) -> None:
        blocks, others = ({(b.kind, b.layer): b for b in t.blocks} for t in (self.trace, self.minus))
        if {place: len(b.query) for place, b in blocks.items()} != {
            p: len(b.query) for p, b in others.items()
        }:
            raise InvalidTrace(
                "Traces are subtracted head by head, but these have other layers or heads: "
                f"{self.trace!r} and {self.minus!r}."
            )
        for place, block in blocks.items():
            for side in ("query_tokens", "key_tokens"):
                one, other = (len(getattr(b, side)) for b in (block, others[place]))
                if one != other:
                    raise InvalidTrace(
                        f"Traces are subtracted token by token, but these have {one} and {other} tokens. Use "
                        "texts with the same number of tokens; `len(trace.tokens)` is that number."
                    )


UNKNOWN = np.zeros(0, np.float32)
"""The sinks of weights alone."""
_OWN = ("query", "key", "value", "weights")
_SHARED = ("mask", "bias", "projection", "sinks")  # equal ones of several blocks are one in the file


_SELECTED = ("heads", "queries")


def _own(weights_alone: bool) -> tuple[str, ...]:
    return ("weights",) if weights_alone else _OWN


def _described(trace: Trace) -> tuple[dict[str, Any], dict[str, tuple[Block, str]]]:
    """The header of a trace's file, and the name of each array there.

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
        arrays |= {f"{block_name}.{name}": (block, name) for name in _own(block.weights_alone)}
        shared: dict[str, str | None] = dict.fromkeys(_SHARED)
        for name in _SHARED:
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
    """The trace that such a header and arrays, here by their names, describe.

    Raises:
        InvalidTrace: something is of another type, or no forward pass can have such numbers.
        Exception: something else in the header is wrong.
    """
    sequences = [
        tuple(Token(**_typed(Token, fields), patch=_patch(fields.get("patch"))) for fields in tokens)
        for tokens in header["sequences"]
    ]
    if any(token.sentence not in {0, 1} for tokens in sequences for token in tokens):
        raise trace_io.damaged("a token is in neither of two sentences")
    blocks = []
    for described in header["blocks"]:
        if described["kind"] not in get_args(Kind):
            raise trace_io.damaged(f"there is no such kind of attention as {reprlib.repr(described['kind'])}")
        alone = described["d_head"] == 0
        numbers: dict[str, Any] = {name: arrays[f"{described['name']}.{name}"] for name in _own(alone)}
        numbers |= {name: arrays[described[name]] for name in _SHARED if described[name] is not None}
        for name, array in numbers.items():
            if array.dtype != (np.bool_ if name == "mask" else np.float32):  # Block would copy it
                raise trace_io.damaged(f"{described['name']}.{name} is of another type")
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
        raise trace_io.damaged("an edit or a note is no text")
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
        raise trace_io.damaged("the place of a patch is none")
    left, top, right, bottom = box
    if not all(type(edge) is float and np.isfinite(edge) for edge in box):
        raise trace_io.damaged("the edges of a patch are no numbers")
    return Patch(picture, view, row, column, (left, top, right, bottom))


def _png(found: NDArray[Any]) -> bytes:
    if found.dtype != np.uint8 or not (picture := found.tobytes()).startswith(PNG):
        raise trace_io.damaged("a picture is no PNG file")
    return picture


def _read(tokens: Sequence[Any], layers: Mapping[int, Any], generated: bool) -> Sequence[Any]:
    """Return the tokens that a model read: not the last one of a text that it generated."""
    layer = next(iter(layers.values()), None)
    written = generated and layer is not None and len(tokens) == layer.shape[1] + 1
    return tokens[:-1] if written else tokens


def _plain_tokens(
    tokens: Sequence[Any], second: SupportsIndex | None = None
) -> tuple[str, str | None, tuple[Token, ...]]:
    """Return the text that the tokens make, that of a second sentence, and the tokens with their places."""
    spellings = [spelled(token) for token in tokens]
    begins = len(spellings) if second is None else whole(second, "second")
    if second is not None and not 0 < begins < len(spellings):
        raise InvalidTrace(
            f"second is {begins}; it must be the place of a token after the first, from 1 to "
            f"{len(spellings) - 1}."
        )
    texts, found, words = [], [], 0
    for sentence, part in enumerate((spellings[:begins], spellings[begins:])):
        text, pieces = decoded(part)
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
    """Return a block for each layer."""
    blocks = []
    for layer, given in layers.items():
        where = f"{kind} layer {layer + 1}"
        weights = _checked_weights(given, where, sink)
        if weights.shape[1:] != (len(rows), len(columns)):
            raise InvalidTrace(
                f"The weights of {where} are of {weights.shape[1]} × {weights.shape[2]} tokens, but there "
                f"are {len(rows)} × {len(columns)} tokens."
            )
        block = weights_block(kind, layer, rows, columns, weights)
        blocks.append(replace(block, sinks=UNKNOWN) if sink else block)
    return blocks


def mask_of_weights(kind: Kind, weights: Floats) -> Mask:
    """[query, key] for weights [..., query, key] with an unknown mask.

    A decoder whose tokens never attend forwards has a causal mask, others none.
    """
    mask = np.ones(weights.shape[-2:], dtype=np.bool_)
    return np.tril(mask) if kind == "decoder" and not np.triu(weights, 1).any() else mask


def weights_block(
    kind: Kind, layer: int, rows: tuple[Token, ...], columns: tuple[Token, ...], weights: Floats
) -> Block:
    """A block of weights alone, [head, query, key]."""
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
    """[head, query, key], with rows that sum to 1, or with a sink to at most 1."""
    try:
        weights: Floats = as_array(given)
    except (TypeError, ValueError) as error:
        raise InvalidTrace(
            f"The weights of {where} are no array of numbers: {error}. Of what transformers returns, give "
            "its attentions."
        ) from error
    weights = weights[0] if weights.ndim == 4 and len(weights) == 1 else weights
    if weights.ndim != 3:
        raise InvalidTrace(
            f"The weights of {where} have the shape {weights.shape}; needed is [head, query, key] of one "
            f"text.{' Give the matrix of one head as [[matrix]].' if weights.ndim < 3 else ''}"
        )
    if not weights.size:
        raise InvalidTrace(f"The weights of {where} are empty: their shape is {weights.shape}.")
    if (fault := _fault(weights, sink)) is not None:
        (head, row), told = fault
        hints = (
            "Give attentions: hidden states and scores are no weights."
            if "holds -" in told
            else "Dropout in training mode leaves weights out: call model.eval() first. If the rest went to "
            "a sink that is no token, as in GPT-OSS, say Trace.from_weights(…, sink=True). If another sum is "
            "meant, divide each row by it."
        )
        raise InvalidTrace(f"Row {row + 1} of {where}, head {head + 1} {told} {hints}")
    return weights


def _fault(weights: Floats, sink: bool = False) -> tuple[tuple[int, ...], str] | None:
    """The row of [..., key] that is least of all one of weights, and what is wrong with it; None: all are.

    With a sink, a row may sum to less than 1.
    """
    lowest, sums = weights.min(axis=-1), weights.sum(axis=-1)
    off = np.abs(np.maximum(sums, 1) - 1 if sink else sums - 1)
    off = np.where(lowest < 0, np.inf, off)  # the largest is NaN, if there is one
    at = tuple(map(int, np.unravel_index(int(off.argmax()), off.shape)))
    if off[at] <= ROW_ROUNDING:
        return None
    told = f"holds {lowest[at]:.4g}" if lowest[at] < 0 else f"sums to {sums[at]:.4g}, not to 1"
    if not np.isfinite(sums[at]):
        told = "holds numbers that are not finite"
    return at, f"{told}. Weights are from 0 to 1, and a row of them sums to 1."


def _no_vectors(heads: int, rows: tuple[Token, ...], columns: tuple[Token, ...]) -> dict[str, Any]:
    return {
        name: np.zeros((heads, len(tokens), 0), dtype=np.float32)
        for name, tokens in (("query", rows), ("key", columns), ("value", columns))
    }


def changed(block: Block, **fields: Any) -> Block:
    """A block with other values in some fields; the others are not read."""
    return Block(**(vars(block) | fields))


def selected(block: Block, heads: Sequence[int] | None, queries: Sequence[int] | None) -> Block:
    """Some heads and queries of a block with all of them, by number; None: all."""
    fields: dict[str, Any] = {**vars(block), "heads": heads, "queries": queries}
    if heads is not None:
        for name in _OF_HEADS:
            fields[name] = None if fields[name] is None else fields[name][[*heads]]
    if queries is not None:
        for name, axis in _QUERY_AXES.items():
            at = (*[slice(None)] * axis, [*queries])
            fields[name] = None if fields[name] is None else fields[name][at]
        fields["query_tokens"] = tuple(block.query_tokens[place] for place in queries)
    return Block(**fields)


_OF_HEADS = ("query", "key", "value", "weights", "bias", "projection", "sinks")
_QUERY_AXES = {"query": 1, "weights": 1, "bias": 1, "mask": 0}


def refuse_selected(trace: Trace) -> None:
    """Refuse a trace of some heads or queries, which cannot be drawn or listed as a whole.

    Raises:
        InvalidTrace: it is one.
    """
    if any(block.heads is not None or block.queries is not None for block in trace.blocks):
        raise InvalidTrace(
            "This trace has some heads or queries only. Select layers alone, or read them from its blocks: "
            "block.row(head, query)."
        )


def _place(number: SupportsIndex, kept: tuple[int, ...] | None, count: int, name: str) -> int:
    """Where a head or a query is in the arrays of a block."""
    there: Sequence[int] = range(count) if kept is None else kept
    if (wanted := whole(number, name)) not in there:
        has = f"0 to {count - 1}" if kept is None else joined([*map(str, kept)])
        raise InvalidTrace(f"There is no {name} {wanted} here, counted from 0 in Python; there is {has}.")
    return there.index(wanted)


def _numbers(found: Any) -> tuple[int, ...]:
    if not (isinstance(found, list) and all(type(number) is int for number in found)):
        raise trace_io.damaged("what was selected is no list of numbers")
    return tuple(found)


def _typed(record: type, fields: dict[str, Any]) -> dict[str, Any]:
    """Those fields of a record that are a text, a number, a bool or None, if each is of the right type."""
    found = {}
    for name, hint in get_type_hints(record).items():
        types = set(get_args(hint) or [hint])
        if get_origin(hint) in {None, UnionType} and types <= {str, int, bool, NoneType}:
            if type(fields[name]) not in types:  # exactly: True is no number here
                raise trace_io.damaged(f"{name} is {reprlib.repr(fields[name])}, not of type {hint}")
            found[name] = fields[name]
    return found


def _sizes(block: Block) -> str:
    heads, queries, keys = block.shape
    return f"{plural(heads, 'head')}, {queries} × {keys} tokens"


def weights_of(given: Trace | Floats) -> Floats:
    """[layer, head, query, key]: the given weights, or those of a trace with one kind of attention.

    Raises:
        InvalidTrace, TypeError: as `checked_array` does; or the trace has several kinds of attention.
    """
    return given.stack() if isinstance(given, Trace) else checked_array(given, "weights", _STACK)


_STACK = ("layer", "head", "query", "key")


def checked_array(given: object, name: str, axes: Sequence[str], sink: bool = False) -> Floats:
    """What was given, if it is an array of weights with these axes, the last of which is "key".

    Args:
        axes: "...": any number of axes in its place.
        sink: whether what a row lacks of 1 counts as a sink's.

    Raises:
        InvalidTrace: it has other dimensions, or a row of it does not sum to 1.
        TypeError: it is no array of numbers.
    """
    needed = f"[{', '.join(axes)}]"
    if not isinstance(given, np.ndarray) or given.dtype.kind not in "biuf":
        found = f"one of {given.dtype}" if isinstance(given, np.ndarray) else type(given).__name__
        raise TypeError(
            f"{name} must be an array of NumPy, {needed}, of numbers, not {found}. A trace has one, "
            "trace.stack(); of what transformers returns, Trace.from_weights(attentions, tokens) makes a "
            "trace; of a tensor, tensor.numpy() makes an array."
        )
    if not given.size or (given.ndim < len(axes) - 1 if "..." in axes else given.ndim != len(axes)):
        empty = "" if given.size else ", none of them 0"
        raise InvalidTrace(f"{name} has the shape {given.shape}; needed is {needed}{empty}.")
    if (fault := _fault(given, sink)) is not None:
        at, told = fault
        row = ", ".join(map(str, at)) or "..."
        raise InvalidTrace(f"{name}[{row}] {told} If another sum is meant, divide each row by it.")
    return given


def refuse_cross(weights: Floats) -> None:
    """Refuse weights of two texts.

    Raises:
        InvalidTrace: there are other queries than keys.
    """
    if weights.shape[-1] != weights.shape[-2]:
        raise InvalidTrace(
            f"weights has {weights.shape[-2]} queries and {weights.shape[-1]} keys; needed is a "
            "self-attention, in which both are the same tokens."
        )


def checked_trace(found: object) -> Trace:
    """What was given, if it is a trace of all heads and queries of its layers.

    Raises:
        InvalidTrace: it has some of them only.
        TypeError: it is something else; for a file's name the message explains how to load it.
    """
    if isinstance(found, Trace):
        refuse_selected(found)
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


def checked_head(trace: Trace, kind: Kind, layer: SupportsIndex, head: SupportsIndex) -> Block:
    """The block of a layer that has this head; both count from 0.

    Raises:
        InvalidTrace: there is no such layer or head.
        TypeError: one of them is no whole number.
    """
    block = trace.block(kind, layer)
    if whole(head, "head") not in range(block.shape[0]):
        raise InvalidTrace(
            f"{trace.model} has heads 0 to {block.shape[0] - 1}, counted from 0 in Python, not {head}."
        )
    return block


def checked_place(place: SupportsIndex | str, tokens: Sequence[Token], name: str = "place") -> int:
    """The number of one of these tokens, from 0.

    Args:
        place: that number, or the token or its word as text, if it is there once: "dog" for "Ġdog".

    Raises:
        InvalidTrace: there is no such token, or there are several; the message has their numbers.
        TypeError: it is neither a number nor a text.
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
                f"There is no token {place!r:.60}. Give its number, from 0."
                if not found
                else f"{place!r:.60} is at {joined([*map(str, found)])}. Give one of these numbers as {name}."
            )
        return found[0]
    if whole(place, name) not in range(len(tokens)):
        raise InvalidTrace(f"There is no token {place}: counted from 0, the last one is {len(tokens) - 1}.")
    return index(place)


def _read_only(given: Any, dtype: type[np.generic]) -> NDArray[Any]:
    """A read-only array: a frozen dataclass alone would not stop `array[0] = 1`.

    What is such an array already, contiguous and of this dtype, is shared; anything else is copied.
    """
    flags = given.flags if isinstance(given, np.ndarray) else None
    shared = flags is not None and flags.owndata and flags.c_contiguous and not flags.writeable
    if shared and given.dtype == dtype:
        return cast("NDArray[Any]", given)
    return _frozen(np.array(given, dtype=dtype, copy=True, order="C"))


def _checked(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """The numbers of a field, if a forward pass can have computed them."""
    if name == "mask":
        blind = np.flatnonzero(~array.any(axis=-1))
        if blind.size and array.ndim == 2:
            raise InvalidTrace(
                f"All keys of token {blind[0] + 1} are masked, so its softmax is undefined. "
                "Each row needs at least one unmasked key."
            )
        return array
    if name == "weights" and array.min(initial=0) >= 0 and array.max(initial=0) <= 1 + ROUNDING:
        return array  # finite too
    # A sum of squares is finite only if every number is; it is found in a sixth of the time.
    if not (np.isfinite(np.vdot(array, array)) or np.isfinite(array).all()):
        raise InvalidTrace(f"{name} holds numbers that are not finite.")
    if name == "weights":
        raise InvalidTrace("There are weights that are not from 0 to 1.")
    return array


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array
