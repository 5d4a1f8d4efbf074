"""One change of a head's weights or output: its fields, its text form, whether a model has its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast, get_args

import numpy as np

from attnviz.errors import InvalidEdit
from attnviz.text import head_name
from attnviz.trace import Floats, Kind

Edits: TypeAlias = "Sequence[Edit | HeadOutput]"
"""What is changed while one sentence is read, one edit after the other; outputs are replaced last."""

_NUMBER = "([1-9][0-9]{0,3})"
_WRITTEN = re.compile(
    f"({'|'.join(get_args(Kind))}) {_NUMBER}-{_NUMBER}(?: {_NUMBER})?"
    f"(?: (?(4)(?:{_NUMBER}(<)?)?)>{_NUMBER})?",
    re.ASCII,
)  # group 4 is the row: only where one is named can a key be named from which a weight moves
_ALMOST = re.compile(
    f"({'|'.join(get_args(Kind))}) ?{_NUMBER} ?- ?{_NUMBER}(?: {_NUMBER})?"
    f"(?: ?{_NUMBER}? ?(<)? ?> ?{_NUMBER})?",
    re.ASCII | re.IGNORECASE,
)
"""What differs from an edit only in its spaces and capitals."""

_MAX_QUOTED = 40  # characters of an unreadable edit that its error message repeats


@dataclass(frozen=True)
class Edit:
    """One change to one head's weights; all numbers count from 0.

    Ablate: the weights become 0. The query then reads nothing through this head: the head adds nothing to
    the output, not even an average (W_O's bias belongs to no head and stays).

    Point: one key gets the whole weight, 1, and all others get 0.

    Move: what a query gave to one key goes to another one; the row’s sum stays.

    Exchange: two keys of a row take each other's weight.

    Written, everything counts from 1:

    - "encoder 2-1" ablates the first head of the encoder's second layer,
    - "encoder 2-1 9" ablates its row of the ninth token only,
    - "encoder 2-1 9 >7" points that row at the seventh token,
    - "encoder 2-1 >7" points all of the head's rows there,
    - "encoder 2-1 9 2>7" moves what the row gave to the second token to the seventh,
    - "encoder 2-1 9 2<>7" exchanges the two.

    Several edits are made one after the other, each of what the one before it left: of two that ablate or
    point the same row, the last one counts.

    Attributes:
        kind, layer, head: where.
        query: the edited row; None: every row of the head.
        source: the key that a move takes from; None: there is none, or the row is pointed at `target`.
        target: the key that gets the weight; None: no key does: the row is ablated.
        exchange: whether `source` gets the weight of `target`, too.

    Raises:
        InvalidEdit: a number is negative, a move has no row or only one of its ends, or the decoder is made
            to attend to later tokens.
    """

    kind: Kind
    layer: int
    head: int
    query: int | None = None
    source: int | None = None
    target: int | None = None
    exchange: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        numbers = (self.layer, self.head, self.query, self.source, self.target)
        if self.kind not in get_args(Kind) or any(number is not None and number < 0 for number in numbers):
            raise InvalidEdit("An edit names encoder, decoder or cross, and counts from 0.")
        ends = self.query, self.target
        if (self.source is not None and None in ends) or (self.exchange and self.source is None):
            raise InvalidEdit(
                "An edit that moves a weight names a row, the key it takes from, and the key it gives to."
            )
        if self.kind == "decoder" and max(self.source or 0, self.target or 0) > (self.query or 0):
            raise InvalidEdit(f"“{self}” attends to later words, which the decoder has not written yet.")

    def __str__(self) -> str:
        row = "" if self.query is None else f" {self.query + 1}"
        source = "" if self.source is None else self.source + 1
        target = "" if self.target is None else f" {source}{'<' * self.exchange}>{self.target + 1}"
        return f"{self.kind} {head_name(self.layer, self.head)}{row}{target}"

    @classmethod
    def parse(cls, text: str) -> Edit:
        """`str(edit)` undone.

        Raises:
            InvalidEdit: the text is no edit.
        """
        match = _WRITTEN.fullmatch(text)
        if match is None:
            asked = text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"
            raise InvalidEdit(f"“{asked}” is no edit. {_remedy(text)}")
        return _edit(match)


@dataclass(frozen=True, eq=False)
class HeadOutput:
    """What a head puts out, weights · values before W_O, replaced by given vectors; numbers count from 0.

    Whatever its weights are, edited or not, the layer goes on with these vectors: those of another sentence
    (activation patching, Vig et al. 2020), or a mean (mean ablation). All else stays as it is.

    Attributes:
        kind, layer, head: where.
        vectors: [query, d_head], a row for each token, as `Block.output` of a trace has them; or
            [1, d_head], which applies to every row, or for the one that `query` names.
        query: the edited row; None: every row of the head.

    Raises:
        InvalidEdit: a number is negative, or the vectors are not such rows of finite numbers.
    """

    kind: Kind
    layer: int
    head: int
    vectors: Floats
    query: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind) or min(self.layer, self.head, self.query or 0) < 0:
            raise InvalidEdit("A replaced output names encoder, decoder or cross, and counts from 0.")
        vectors = np.array(self.vectors, dtype=np.float32)
        vectors.setflags(write=False)
        object.__setattr__(self, "vectors", vectors)
        if vectors.ndim != 2 or not vectors.size or not np.isfinite(vectors).all():
            raise InvalidEdit(f"“{self}” needs vectors of finite numbers: [token, d_head] or [1, d_head].")
        if self.query is not None and len(vectors) > 1:
            raise InvalidEdit(f"“{self}” names one row, but has {len(vectors)} vectors. Give it one.")

    def __str__(self) -> str:
        return f"{Edit(self.kind, self.layer, self.head, self.query)}: output replaced"


def _edit(match: re.Match[str]) -> Edit:
    kind, layer, head, query, source, both, target = match.groups()
    row = (None if number is None else int(number) - 1 for number in (query, source, target))
    return Edit(cast("Kind", kind.lower()), int(layer) - 1, int(head) - 1, *row, exchange=bool(both))


def _remedy(text: str) -> str:
    """What to write instead of what is no edit."""
    match = _ALMOST.fullmatch(" ".join(text.split())) if len(text) <= _MAX_QUOTED else None
    if match is None:
        return (
            "Write “encoder 2-1 9 2>7” for: encoder, layer 2, head 1, row 9, "
            "what goes to key 2 goes to key 7."
        )
    meant = _edit(match)
    if meant.source is None and meant.query is not None and f"{meant.query + 1}>" in text:
        return f"A space is missing before the >: “{meant}”. Or a row, if a weight is to move."
    return f"Mind the spaces and small letters: “{meant}”."


def by_place(
    edits: Sequence[Edits], heads: Mapping[tuple[Kind, int], int]
) -> dict[tuple[Kind, int], tuple[Edits, ...]]:
    """The edits of each attention that has any: for each sentence of a batch its own.

    Args:
        heads: how many heads the attention of each kind and layer has.

    Raises:
        InvalidEdit: the model has no such layer or head.
    """
    named = dict.fromkeys(edit for of_sentence in edits for edit in of_sentence)
    for edit in named:
        place = (edit.kind, edit.layer)
        if place not in heads:
            raise InvalidEdit(
                f"The edit names {edit.kind} layer {edit.layer + 1}, which this model does not have. Its "
                f"layers: {_layers(heads)}."
            )
        if edit.head >= heads[place]:
            raise InvalidEdit(f"“{edit}” names head {edit.head + 1} of {heads[place]}.")
    return {
        place: tuple(tuple(edit for edit in one if (edit.kind, edit.layer) == place) for one in edits)
        for place in dict.fromkeys((edit.kind, edit.layer) for edit in named)
    }


def _layers(places: Iterable[tuple[Kind, int]]) -> str:
    """How many layers a model has of each kind: "encoder 1 to 6"."""
    last: dict[Kind, int] = {}
    for kind, layer in places:
        last[kind] = max(last.get(kind, 0), layer + 1)
    return ", ".join(f"{kind} {'1' if count == 1 else f'1 to {count}'}" for kind, count in last.items())


def refuse_misfits(edits: Edits, source: int, target: int, *, at_most: bool = False) -> None:
    """Refuse edits of tokens that a sentence does not have.

    Args:
        source: how many tokens the encoder reads.
        target: how many tokens the decoder reads; a model of one stack reads equally many in both.
        at_most: whether there may be fewer in the end, since the text is still to be written.

    Raises:
        InvalidEdit: names the first edit that is invalid.
    """
    for edit in edits:
        queries = source if edit.kind == "encoder" else target
        keys = target if edit.kind == "decoder" else source
        named = [(edit.query, queries, "row")]
        if isinstance(edit, Edit):
            named += [(edit.source, keys, "key"), (edit.target, keys, "key")]
        elif len(edit.vectors) > queries or (len(edit.vectors) not in (1, queries) and not at_most):
            raise InvalidEdit(
                f"“{edit}” has {len(edit.vectors)} vectors, but there are {queries} tokens here. "
                "Give it one for each, or one for all."
            )
        for number, count, name in named:
            if number is not None and number >= count:
                raise InvalidEdit(f"“{edit}” names {name} {number + 1}, but there are {count} here.")
