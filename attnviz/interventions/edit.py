"""Edits of a head's weights or output: fields, text form, and validation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast, get_args

import numpy as np

from attnviz.errors import InvalidEdit
from attnviz.text import head_name
from attnviz.trace import Floats, Kind

Edits: TypeAlias = "Sequence[Edit | HeadOutput]"
"""The edits of one sentence, applied in order; outputs are replaced last."""

_NUMBER = "([1-9][0-9]{0,3})"
_PATTERN = re.compile(
    f"({'|'.join(get_args(Kind))}) {_NUMBER}-{_NUMBER}(?: {_NUMBER})?(?: (?(4){_NUMBER}?)>{_NUMBER})?",
    re.ASCII,
)  # group 4 is the row, which is required for a source key
_INVALID_NUMBERS = (
    "The kind of an edit must be encoder, decoder, cross or vision, and its numbers must not be negative."
)
_MAX_QUOTED = 40  # maximum characters of an invalid edit in its error message


@dataclass(frozen=True)
class Edit:
    """One edit of one head's weights; all numbers count from 0.

    Ablate: set the weights to 0. The head then contributes nothing to the output of the query token (W_O's
    bias is not part of any head and remains).

    Redirect: set the weight of one key to 1 and all others to 0.

    Move: add the weight of one key to the weight of another; the row's sum does not change.

    In text form, all numbers count from 1:

    - "encoder 2-1" ablates the first head of the encoder's second layer,
    - "encoder 2-1 9" ablates its row of the ninth token only,
    - "encoder 2-1 9 >7" redirects that row to the seventh token,
    - "encoder 2-1 >7" redirects all of the head's rows to the seventh token,
    - "encoder 2-1 9 2>7" moves the weight of the second token to the seventh.

    Several edits are applied in order, each to the result of the previous one: if two ablate or redirect the
    same row, only the last has an effect.

    Attributes:
        kind, layer, head: The edited head.
        query: The edited row; None edits every row of the head.
        source: The key that loses its weight; None to ablate or redirect.
        target: The key that receives the weight; None ablates the row.

    Raises:
        InvalidEdit: the kind is unknown, a number is negative, a move has no row or only one key, or the
            decoder would attend to later tokens.
    """

    kind: Kind
    layer: int
    head: int
    query: int | None = None
    source: int | None = None
    target: int | None = None

    def __post_init__(self) -> None:
        numbers = (self.layer, self.head, self.query, self.source, self.target)
        if self.kind not in get_args(Kind) or any(number is not None and number < 0 for number in numbers):
            raise InvalidEdit(_INVALID_NUMBERS)
        if self.source is not None and None in (self.query, self.target):
            raise InvalidEdit("An edit that moves a weight requires a row, a source key and a target key.")
        if self.kind == "decoder" and max(self.source or 0, self.target or 0) > (self.query or 0):
            raise InvalidEdit(f"“{self}” names a later token, to which the decoder cannot attend.")

    def __str__(self) -> str:
        row = "" if self.query is None else f" {self.query + 1}"
        source = "" if self.source is None else self.source + 1
        target = "" if self.target is None else f" {source}>{self.target + 1}"
        return f"{self.kind} {head_name(self.layer, self.head)}{row}{target}"

    @classmethod
    def parse(cls, text: str) -> Edit:
        """Parse the text form of an edit, `str(edit)`.

        Raises:
            InvalidEdit: the text is not an edit.
        """
        match = _PATTERN.fullmatch(text)
        if match is None:
            shown = text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"
            raise InvalidEdit(
                f"“{shown}” is not a valid change. For example, “encoder 2-1 9 2>7” moves, in encoder "
                "head 2-1, the weight of row 9 from key 2 to key 7."
            )
        kind, layer, head, *row = match.groups()
        query, source, target = (None if number is None else int(number) - 1 for number in row)
        return cls(cast("Kind", kind), int(layer) - 1, int(head) - 1, query, source, target)


@dataclass(frozen=True, eq=False)
class HeadOutput:
    """An edit that replaces a head's output, weights · values before W_O; numbers count from 0.

    The layer then uses these vectors, regardless of the weights: for example, vectors from another sentence
    (activation patching, Vig et al. 2020), or a mean (mean ablation).

    Attributes:
        kind, layer, head: The edited head.
        vectors: [query, d_head], one row per token, as in `Block.output` of a trace; or
            [1, d_head], which applies to every row, or to the row `query`.
        query: The edited row; None edits every row of the head.

    Raises:
        InvalidEdit: the kind is unknown, a number is negative, or the vectors' shape or values are invalid.
    """

    kind: Kind
    layer: int
    head: int
    vectors: Floats
    query: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind) or min(self.layer, self.head, self.query or 0) < 0:
            raise InvalidEdit(_INVALID_NUMBERS)
        vectors = np.array(self.vectors, dtype=np.float32)
        vectors.setflags(write=False)
        object.__setattr__(self, "vectors", vectors)
        if vectors.ndim != 2 or not vectors.size or not np.isfinite(vectors).all():
            raise InvalidEdit(f"“{self}” needs vectors of finite numbers: [token, d_head] or [1, d_head].")
        if self.query is not None and len(vectors) > 1:
            raise InvalidEdit(f"“{self}” edits one row, but has {len(vectors)} vectors. Pass one vector.")

    def __str__(self) -> str:
        return f"{Edit(self.kind, self.layer, self.head, self.query)}: output replaced"


def by_place(
    edits: Sequence[Edits], heads: Mapping[tuple[Kind, int], int]
) -> dict[tuple[Kind, int], tuple[Edits, ...]]:
    """Group edits by kind and layer, for each sentence of a batch.

    Args:
        edits: Edits of each sentence.
        heads: Number of heads of each kind and layer.

    Raises:
        InvalidEdit: the model has no such layer or head.
    """
    distinct = dict.fromkeys(edit for sentence_edits in edits for edit in sentence_edits)
    for edit in distinct:
        place = (edit.kind, edit.layer)
        if place not in heads:
            raise InvalidEdit(
                f"“{edit}”: there is no {edit.kind} layer {edit.layer + 1}. Layers: {_layers(heads)}."
            )
        if edit.head >= heads[place]:
            raise InvalidEdit(f"“{edit}”: there is no head {edit.head + 1}; the layer has {heads[place]}.")
    return {
        place: tuple(tuple(edit for edit in one if (edit.kind, edit.layer) == place) for one in edits)
        for place in dict.fromkeys((edit.kind, edit.layer) for edit in distinct)
    }


def _layers(layers: Iterable[tuple[Kind, int]]) -> str:
    """Return the layers of each kind, in words: "encoder 1 to 6"."""
    last: dict[Kind, int] = {}
    for kind, layer in layers:
        last[kind] = max(last.get(kind, 0), layer + 1)
    return ", ".join(f"{kind} {'1' if count == 1 else f'1 to {count}'}" for kind, count in last.items())


def validate_edits(edits: Edits, source: int, target: int, *, at_most: bool = False) -> None:
    """Check that a sentence has the tokens that its edits refer to.

    Args:
        source: Number of the encoder's tokens.
        target: Number of the decoder's tokens; equal to `source` in a model with one stack.
        at_most: True if the counts are upper bounds, because the text is not generated yet.

    Raises:
        InvalidEdit: an edit is invalid; the message names the first invalid edit.
    """
    for edit in edits:
        queries = source if edit.kind == "encoder" else target
        keys = target if edit.kind == "decoder" else source
        indices = [(edit.query, queries, "row")]
        if isinstance(edit, Edit):
            indices += [(edit.source, keys, "key"), (edit.target, keys, "key")]
        elif len(edit.vectors) > queries or (len(edit.vectors) not in (1, queries) and not at_most):
            raise InvalidEdit(
                f"“{edit}” has {len(edit.vectors)} vectors for {queries} tokens. "
                "Pass one vector per token, or one for all."
            )
        for number, count, name in indices:
            if number is not None and number >= count:
                raise InvalidEdit(f"“{edit}”: there is no {name} {number + 1}; there are {count} tokens.")
