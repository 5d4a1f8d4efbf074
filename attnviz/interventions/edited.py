"""Blocks whose weights were edited, computed again as the model computed them."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from attnviz.interventions.edit import Edit, Edits
from attnviz.interventions.editing import edit_weights
from attnviz.trace import Attend, Floats, Kind, Mask


@dataclass(frozen=True)
class EditedAttend:
    """(scores, weights) of a block whose weights were edited, by the functions that the model itself used.

    Attributes:
        edits: those of this block.
        attend: gives the scores and the weights before the edits.
    """

    edits: tuple[Edit, ...]
    attend: Attend

    def __call__(
        self, query: Floats, key: Floats, mask: Mask, scale: float, bias: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """As `attnviz.trace.attend`; the scores are those before the edits."""
        scores, weights = self.attend(query, key, mask, scale, bias)
        return scores, edit_weights(torch.tensor(weights), [self.edits]).numpy()


def edited_attend(attend: Attend, edits: Edits, kind: Kind, layer: int) -> Attend:
    """What gives a block's scores and weights, with the edits that are this block's; `attend` if none is."""
    here = tuple(edit for edit in edits if (edit.kind, edit.layer) == (kind, layer))
    return EditedAttend(here, attend) if here else attend
