"""What would the model do if one of its heads looked elsewhere, or at nothing? Change the weights and see."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import cast, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnviz.errors import InvalidEdit
from attnviz.trace import Kind
from attnviz.transformer.encoder_decoder import EncoderDecoder
from attnviz.transformer.multi_head import MultiHeadAttention, MultiHeadSteps, join_heads

Edits = Sequence["Edit"]
"""What is changed while one sentence is read, one edit after the other."""

_NUMBER = "([1-9][0-9]{0,3})"
_WRITTEN = re.compile(
    f"({'|'.join(get_args(Kind))}) {_NUMBER}-{_NUMBER}(?: {_NUMBER}(?: {_NUMBER}>{_NUMBER})?)?", re.ASCII
)
_MOST_QUOTED = 40  # characters of an unreadable edit that its error message repeats


@dataclass(frozen=True)
class Edit:
    """One change to one head's weights; all numbers count from 0.

    Silence: the weights become 0. The query then reads nothing through this head: the head adds nothing to
    the output, not even an average (W_O's bias belongs to no head and stays).

    Move: what a query gave to one key goes to another one; the row still sums to 1.

    Written, everything counts from 1: "encoder 2-1" silences the first head of the encoder's second layer,
    "encoder 2-1 9" silences its row of the ninth token only, "encoder 2-1 9 2>7" moves what that row gave to
    the second token to the seventh.

    Attributes:
        kind, layer, head: where.
        query: whose row; None: the whole head is silenced.
        source, target: the keys that a move takes from and gives to; both None: the row is silenced.

    Raises:
        InvalidEdit: a number is negative, a move has no row or only one of its ends, or lets the decoder look
            ahead.
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
            raise InvalidEdit("An edit names encoder, decoder or cross, and counts from 0.")
        if (self.source is None) != (self.target is None) or (self.source is not None and self.query is None):
            raise InvalidEdit(
                "An edit that moves a weight names a row, the key it takes from, and the key it gives to."
            )
        if self.kind == "decoder" and max(self.source or 0, self.target or 0) > (self.query or 0):
            raise InvalidEdit(f"“{self}” looks ahead: the decoder does not know its later words yet.")

    def __str__(self) -> str:
        row = "" if self.query is None else f" {self.query + 1}"
        move = "" if self.source is None or self.target is None else f" {self.source + 1}>{self.target + 1}"
        return f"{self.kind} {self.layer + 1}-{self.head + 1}{row}{move}"

    @classmethod
    def parse(cls, text: str) -> Edit:
        """`str(edit)` undone.

        Raises:
            InvalidEdit: the text is no edit.
        """
        match = _WRITTEN.fullmatch(text)
        if match is None:
            asked = text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}…"
            raise InvalidEdit(
                f"“{asked}” is no edit. Write “encoder 2-1 9 2>7” for: encoder, layer 2, head 1, row 9, "
                "what goes to key 2 goes to key 7."
            )
        kind, *found = match.groups()
        layer, head, *row = (int(number) - 1 for number in found if number is not None)
        return cls(cast("Kind", kind), layer, head, *row)


def places(model: EncoderDecoder) -> dict[tuple[Kind, int], str]:
    """All attention that there is, by kind and layer, and how `get_submodule` finds it."""
    found: dict[tuple[Kind, int], str] = {}
    for layer in range(len(model.encoder.layers)):
        found["encoder", layer] = f"encoder.layers.{layer}.attention"
    for layer in range(len(model.decoder.layers)):
        found["decoder", layer] = f"decoder.layers.{layer}.attention"
        found["cross", layer] = f"decoder.layers.{layer}.cross_attention"
    return found


def attention_at(model: EncoderDecoder, path: str) -> MultiHeadAttention:
    """The attention at a path of `places`."""
    return cast("MultiHeadAttention", model.get_submodule(path))


def edited(model: EncoderDecoder, edits: Sequence[Edits]) -> EncoderDecoder:
    """A model that reads each sentence of a batch with that sentence's edits; the given one stays as it is.

    The two share their parameters. Nothing hooks into the given model, so any number of threads may run it,
    and edit it, at the same time.

    Args:
        model: in eval mode.
        edits: for each sentence of the batch; a sentence without a batch axis counts as one.

    Raises:
        InvalidEdit: the model has no such layer or head.
    """
    parameters = {id(parameter): parameter for parameter in model.parameters()}
    copied = copy.deepcopy(model, parameters)  # what stands in this table counts as copied already
    paths = places(model)
    for place in {(edit.kind, edit.layer): None for of_sentence in edits for edit in of_sentence}:
        here = [[edit for edit in one if (edit.kind, edit.layer) == place] for one in edits]
        if place not in paths:
            kind, layer = place
            raise InvalidEdit(f"The edit names {kind} layer {layer + 1}, which this model does not have.")
        attention = attention_at(model, paths[place])
        copied.set_submodule(paths[place], EditedAttention(attention, here))
    return copied


class EditedAttention(nn.Module):
    """Multi-head attention that goes on with other weights than the softmax gave it.

    Scores are those of the unedited attention; weights, output and all that follows are the edited ones.

    Args:
        attention: computes the weights that are edited.
        edits: for each sentence of the batch, all of this layer and kind.

    Raises:
        InvalidEdit: the attention has no such head.
    """

    def __init__(self, attention: MultiHeadAttention, edits: Sequence[Edits]) -> None:
        super().__init__()
        for edit in (edit for of_sentence in edits for edit in of_sentence):
            if edit.head >= attention.n_heads:
                raise InvalidEdit(f"“{edit}” names head {edit.head + 1} of {attention.n_heads}.")
        self.attention = attention
        self.edits = edits

    def forward(self, queries_from: Tensor, keys_from: Tensor, mask: Tensor | None = None) -> MultiHeadSteps:
        """As `MultiHeadAttention`, with edited weights."""
        steps = self.attention(queries_from, keys_from, mask)
        weights = edit_weights(steps.attention.weights, self.edits)
        output = weights @ steps.value
        concatenated = join_heads(output)
        return MultiHeadSteps(
            steps.query,
            steps.key,
            steps.value,
            steps.attention._replace(weights=weights, output=output),
            concatenated,
            self.attention.to_output(concatenated),
        )


def edit_weights(
    weights: Float[Tensor, "*sentence head query key"], edits: Sequence[Edits]
) -> Float[Tensor, "*sentence head query key"]:
    """The weights after the edits; what no edit names stays the same to the bit.

    An edit of a row that is not there (yet) changes nothing: a translation grows word by word.

    Args:
        weights: with or without an axis for the sentences of a batch.
        edits: for each sentence, in the order in which they are made.
    """
    changed = weights.clone().reshape(-1, *weights.shape[-3:])
    for turn in zip_longest(*edits):  # the first edit of every sentence at once, then the second …
        silenced_heads, silenced_rows, moved = [], [], []
        for sentence, edit in enumerate(turn):
            if edit is None:
                continue
            if edit.query is None:
                silenced_heads.append((sentence, edit.head))
            elif edit.query >= changed.shape[-2]:
                continue
            elif edit.source is None:
                silenced_rows.append((sentence, edit.head, edit.query))
            else:
                moved.append((sentence, edit.head, edit.query, edit.source, edit.target))
        changed[_columns(silenced_heads, 2)] = 0
        changed[_columns(silenced_rows, 3)] = 0
        *row, source, target = _columns(moved, 5)
        given = changed[(*row, source)]
        changed[(*row, source)] = 0
        changed[(*row, target)] += given
    return changed.reshape(weights.shape)


def refuse_misfits(edits: Iterable[Edit], source: int, target: int) -> None:
    """Refuse edits of tokens that a sentence does not have.

    Args:
        edits: of one sentence.
        source: how many tokens the encoder reads.
        target: how many tokens the decoder reads.

    Raises:
        InvalidEdit: names the first edit that does not fit.
    """
    for edit in edits:
        queries = source if edit.kind == "encoder" else target
        keys = target if edit.kind == "decoder" else source
        for number, count, name in (
            (edit.query, queries, "row"),
            (edit.source, keys, "key"),
            (edit.target, keys, "key"),
        ):
            if number is not None and number >= count:
                raise InvalidEdit(f"“{edit}” names {name} {number + 1}, but there are {count} here.")


def _columns(cells: Sequence[tuple[int | None, ...]], columns: int) -> tuple[Tensor, ...]:
    """What indexes a tensor at all these cells at once."""
    return torch.tensor(cells, dtype=torch.long).reshape(-1, columns).unbind(dim=1)
