"""The edits of the current forward pass, in a context variable with a separate value for each thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor, nn

from attnviz.errors import InvalidEdit, ModelNotSupported
from attnviz.interventions.edit import Edit, Edits
from attnviz.interventions.editing import edited_heads

_FORBIDDEN = torch.finfo(torch.float32).min
_NOT_APPLIED = "The edits were not applied."


class _Pass:
    """One forward pass; attention modules are identified by the order in which they run."""

    def __init__(self, expected: Sequence[nn.Module | None], edits: Sequence[Sequence[Edits]]) -> None:
        self._expected = expected
        self._edits = edits
        self._ran = 0

    def next(self, module: nn.Module) -> Sequence[Edits]:
        number = self._ran
        if number >= len(self._expected) or self._expected[number] is not module:
            raise ModelNotSupported(
                f"{type(module).__name__} did not run in the expected order. {_NOT_APPLIED}"
            )
        self._ran += 1
        return self._edits[number]

    def check_end(self) -> None:
        if self._ran != len(self._expected):
            raise ModelNotSupported(
                f"{self._ran} of the model's {len(self._expected)} attention modules ran. {_NOT_APPLIED}"
            )


# A context variable, because several threads share one model, each with its own edits.
_pass: ContextVar[_Pass | None] = ContextVar("attnviz_pass", default=None)


@contextmanager
def applying(expected: Sequence[nn.Module | None], edits: Sequence[Sequence[Edits]]) -> Iterator[None]:
    """Apply edits to the forward pass that runs inside this block, in this thread only.

    Args:
        expected: The modules that will request their edits, in order.
        edits: The edits of each module, for each row of the batch; may be empty.

    Raises:
        ModelNotSupported: other modules ran, or not all of them, or in another order.
    """
    current = _Pass(expected, edits)
    before = _pass.set(current)
    try:
        yield
    finally:
        _pass.reset(before)
    current.check_end()


def edits_of(module: nn.Module) -> Sequence[Edits]:
    """Return a module's edits in the current forward pass, for each row of the batch; () for none."""
    current = _pass.get()
    edits = () if current is None else current.next(module)
    return edits if any(edits) else ()


def attend_with_edits(
    module: nn.Module, weights: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return the weights after the edits, and weights · values.

    Args:
        weights: [batch, head, query, key], after the softmax.
        value: [batch, head, key, d_head].
        mask: Additive mask of the scores.

    Raises:
        InvalidEdit: an edit moves weight to a masked key, or its vectors have the wrong size.
    """
    edits = edits_of(module)
    if not edits:
        return weights, torch.matmul(weights, value)
    if mask is not None:
        forbidden = mask.expand(-1, -1, *weights.shape[-2:])[0, 0] <= _FORBIDDEN
        for edit in (edit for row_edits in edits for edit in row_edits):
            if not isinstance(edit, Edit) or edit.target is None:
                continue
            # Slices, because a text that is still being generated may not have these rows yet.
            rows = slice(None) if edit.query is None else slice(edit.query, edit.query + 1)
            if bool(forbidden[rows, edit.target : edit.target + 1].any()):
                raise InvalidEdit(f"“{edit}” moves weight to a key that this layer masks.")
    return edited_heads(weights, value, edits)
