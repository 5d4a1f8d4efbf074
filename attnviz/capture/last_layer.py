"""Hears what the last layer of a transformers model puts out, for the thread that asks."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from attnviz.capture.arrays import owned
from attnviz.capture.checks import Place, run
from attnviz.capture.intervening import intervening
from attnviz.capture.outcomes import Outcomes
from attnviz.interventions.edit import Edits

# A context variable, because one model serves many threads: each call hears its own vectors.
_heard: ContextVar[dict[str, Tensor] | None] = ContextVar("attnviz_heard", default=None)


def listen(network: PreTrainedModel) -> None:
    """Makes every forward pass tell its last layers' vectors to the thread that asked for them.

    Only for a model that nobody else uses yet.
    """
    base: Any = network.base_model
    stacks = {"states": base}
    if network.config.is_encoder_decoder:
        stacks = {"source": base.get_encoder(), "states": base.get_decoder()}
    for name, stack in stacks.items():
        stack.register_forward_hook(partial(_tell, name))


def _tell(name: str, _stack: nn.Module, _given: tuple[Any, ...], returned: Any) -> None:
    heard = _heard.get()
    if heard is not None:
        heard[name] = returned.last_hidden_state


@contextmanager
def _hearing() -> Iterator[dict[str, Tensor]]:
    heard: dict[str, Tensor] = {}
    before = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(before)


def outcomes(
    network: PreTrainedModel,
    places: Sequence[Place],
    inputs: Mapping[str, Tensor],
    variants: Sequence[Edits],
    place: int | None = None,
) -> Outcomes:
    """One forward pass over as many copies of a text as there are variants.

    Args:
        network: as `open_network` returns it, after `listen` and `intervening.prepare`.
        places: what `checks.checked` found in it.
        inputs: what it is called with, each [1, token].
        variants: the edits of each copy.
        place: the token, from 0, at which the model's head is asked what it expects; None: nothing is asked.

    Raises:
        InvalidEdit, ModelNotSupported: as `intervening` says.
    """
    batch: dict[str, Any] = {
        name: given.expand(len(variants), *given.shape[1:]) for name, given in inputs.items()
    }
    if "use_cache" in inspect.signature(network.forward).parameters:
        batch["use_cache"] = False  # nobody writes on
    with _hearing() as heard, intervening(network, places, variants), torch.inference_mode():
        returned: Any = run(network, batch)
    probabilities = None
    if place is not None:
        probabilities = owned(returned.logits[:, place].float().softmax(-1))
    source = heard.get("source")
    return Outcomes(owned(heard["states"]), None if source is None else owned(source), probabilities)
