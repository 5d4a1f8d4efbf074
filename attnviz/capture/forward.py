"""One forward pass of a transformers model, as blocks whose weights are transformers' own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel

from attnviz.capture.arrays import owned
from attnviz.capture.checks import Place, compare, run
from attnviz.capture.intervening import intervening
from attnviz.capture.recorder import Record, attend, recording
from attnviz.errors import ModelNotSupported
from attnviz.interventions.edit import Edits
from attnviz.interventions.edited import edited_attend
from attnviz.trace import Block, Floats, Kind, Mask, Token
from attnviz.trace import attend as attend_as_stated


def blocks(
    network: PreTrainedModel,
    places: Sequence[Place],
    inputs: Mapping[str, Tensor],
    source: tuple[Token, ...],
    target: tuple[Token, ...] = (),
    edits: Edits = (),
) -> tuple[Block, ...]:
    """Runs the model once and returns its attention, in the order in which it ran.

    Args:
        network: as `open_network` returns it.
        places: what `checks.checked` found in it.
        inputs: what the model is called with.
        source: what its encoder reads, or its only stack.
        target: what its decoder reads, if it has both.
        edits: what is changed in its attention; the blocks' weights are those that it went on with.

    Raises:
        InvalidEdit: the model has no such layer or head, or an edit looks where a mask forbids it.
        ModelNotSupported: it did not do what it did when it was checked, or it computes attention in a way of
            its own and what was recorded does not give its weights.
    """
    with recording() as records, intervening(network, places, [edits]), torch.inference_mode():
        run(network, inputs)
    if [record.module for record in records] != [place.module for place in places]:
        raise ModelNotSupported(
            f"{type(network).__name__} ran {len(records)} attentions, but {len(places)} when it was loaded. "
            "What cannot be shown exactly is not shown."
        )
    sides: dict[Kind, tuple[tuple[Token, ...], tuple[Token, ...]]] = {
        "encoder": (source, source),
        "decoder": (target or source, target or source),
        "cross": (target, source),
    }
    for record, place in zip(records, places, strict=True):
        if record.weights is not None:
            compare(record, record.weights, f"{type(network).__name__}, {place.kind} layer {place.layer + 1}")
    masks = _Masks()
    return tuple(
        Block(
            kind=place.kind,
            layer=place.layer,
            query_tokens=sides[place.kind][0],
            key_tokens=sides[place.kind][1],
            query=owned(record.query[0]),
            key=owned(record.key[0]),
            value=owned(record.value[0]),
            mask=masks.of(record),
            scale=record.scale,
            bias=None if record.bias is None else owned(record.bias[0]),
            projection=place.projection,
            attend=edited_attend(
                attend_like_eager if record.weights is None else Kept(owned(record.weights[0])),
                edits,
                place.kind,
                place.layer,
            ),
        )
        for record, place in zip(records, places, strict=True)
    )


def attend_like_eager(
    query: Floats, key: Floats, mask: Mask, scale: float, bias: Floats | None = None
) -> tuple[Floats, Floats]:
    """(scores, weights) of one block by the function that the model itself used; see `recorder.attend`."""
    added = None
    if not mask.all():
        forbidden = torch.tensor(~mask)
        added = torch.zeros(forbidden.shape).masked_fill(forbidden, torch.finfo(torch.float32).min)
    scores, weights = attend(
        _as_in_the_model(query),
        _as_in_the_model(key),
        added,
        scale,
        None if bias is None else torch.tensor(bias)[None],
    )
    return scores[0].numpy(), weights[0].numpy()


@dataclass(frozen=True, eq=False)
class Kept:
    """(scores, weights) of a block whose model computes attention in a way of its own.

    Attributes:
        weights: [head, query, key], as the model returned them.
    """

    weights: Floats

    def __call__(
        self, query: Floats, key: Floats, mask: Mask, scale: float, bias: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """As `attnviz.trace.attend`, which gives the scores; the weights are the kept ones."""
        scores, _ = attend_as_stated(query, key, mask, scale, bias)
        return scores, self.weights


class _Masks:
    """The masks of one forward pass: layers that share one in the model share one in the trace."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, int, int], Mask] = {}

    def of(self, record: Record) -> Mask:
        """[query, key], True where the mask adds nothing."""
        shape = (record.query.shape[2], record.key.shape[2])
        which = (id(record.mask), *shape)
        if which not in self._made:
            self._made[which] = _allowed(record, shape)
        return self._made[which]


def _allowed(record: Record, shape: tuple[int, int]) -> Mask:
    if record.mask is None:
        return owned(torch.ones(shape, dtype=torch.bool))
    forbids = record.mask <= torch.finfo(torch.float32).min
    if record.mask.shape[:2] != (1, 1) or not bool((forbids | (record.mask == 0)).all()):
        raise ModelNotSupported(
            f"{type(record.module).__name__} adds more than a mask to its scores. "
            "Its weights would be wrong, so they are not shown."
        )
    return owned(~forbids[0, 0].expand(shape))


def _as_in_the_model(array: Floats) -> Tensor:
    """[1, head, token, d_head], laid out in memory as the model's layers leave it: token before head.

    A matrix product of the same numbers in another layout may be summed in another order, to other bits.
    """
    return torch.tensor(array.transpose(1, 0, 2)).transpose(0, 1)[None]
