"""A transformers model is run with some of its heads silenced or pointed elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from torch import nn
from transformers import PreTrainedModel

from attnviz.capture import own_attention
from attnviz.capture.checks import Place
from attnviz.errors import ModelNotSupported
from attnviz.interventions.changes import changing, edits_of
from attnviz.interventions.edit import Edits, by_place


@contextmanager
def intervening(network: PreTrainedModel, places: Sequence[Place], edits: Sequence[Edits]) -> Iterator[None]:
    """Changes the one forward pass that runs inside, in this thread alone; without edits it does nothing.

    Args:
        network: as `open_network` returns it, after `prepare`.
        places: what `checks.checked` found in it.
        edits: for each row of the batch that it reads.

    Raises:
        InvalidEdit: the model has no such layer or head, or an edit looks where a mask forbids it.
        ModelNotSupported: the model computes attention in a way of its own, and an edit does more than
            silence; or it did not do what it did when it was checked.
    """
    if not any(edits):
        yield
        return
    by = by_place(edits, {(place.kind, place.layer): place.heads for place in places})
    here: list[Sequence[Edits]] = [by.get((place.kind, place.layer), ()) for place in places]
    expected: list[nn.Module | None] = [place.module for place in places]
    if own_attention.has(network.config.model_type):
        _refuse_all_but_silence(network, places, edits)
        expected = [place.mixer for place in places]
    with changing(expected, here):
        yield


def prepare(network: PreTrainedModel, places: Sequence[Place]) -> None:
    """Lets heads be silenced in a model that computes attention in a way of its own.

    There, nobody can change the weights between the softmax and the values. But a head is silent too if its
    slice of what W_O is given is 0: W_O then adds nothing for it.

    Only for a model that nobody else uses yet.
    """
    if own_attention.has(network.config.model_type):
        for place in places:
            if place.mixer is not None:
                place.mixer.register_forward_pre_hook(partial(_silence, heads=place.heads))


def _silence(mixer: nn.Module, given: tuple[Any, ...], *, heads: int) -> tuple[Any, ...]:
    edits = edits_of(mixer)
    if not edits:
        return given
    outputs, *others = given
    outputs = outputs.clone()  # [batch, token, head · d_head]
    by_head = outputs.view(*outputs.shape[:2], heads, -1)
    for row, of_row in enumerate(edits):
        for edit in of_row:
            by_head[row, slice(None) if edit.query is None else edit.query, edit.head] = 0
    return (outputs, *others)


def _refuse_all_but_silence(
    network: PreTrainedModel, places: Sequence[Place], edits: Sequence[Edits]
) -> None:
    for edit in (edit for of_row in edits for edit in of_row):
        if edit.target is not None:
            raise ModelNotSupported(
                f"{type(network).__name__} computes attention in a way of its own: its heads and rows can be "
                f"silenced, but not pointed elsewhere, as “{edit}” says."
            )
    if any(place.mixer is None for place in places):
        raise ModelNotSupported(
            f"{type(network).__name__} computes attention in a way of its own, and its W_O was not found. "
            "Its heads cannot be silenced exactly, so they are not silenced."
        )
