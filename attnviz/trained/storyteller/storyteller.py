"""Build, run, save and load a small language model that is trained on stories."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from attnviz.interventions.edit import Edits
from attnviz.interventions.editing import edited
from attnviz.trained import weights_file
from attnviz.trained.storyteller.grammar import VOCABULARY
from attnviz.trained.storyteller.sizes import SIZES, Size
from attnviz.transformer.decoder_only import DecoderOnly, DecoderOnlySteps


def build(size: Size, seed: int) -> DecoderOnly:
    """Return an untrained network.

    Args:
        size: Size of the network.
        seed: Seed of the initial weights; torch's global random state is unchanged.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return DecoderOnly(len(VOCABULARY), size.d_model, size.n_heads, size.d_feed_forward, size.layers)


class Storyteller:
    """A trained model; safe to share among threads.

    Args:
        model: The network; it is copied, so the caller can continue training it.
        about: Metadata: variant (the name of its size), seed, steps.
    """

    def __init__(self, model: DecoderOnly, about: Mapping[str, str]) -> None:
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        self.size = SIZES[about["variant"]]
        self.about = dict(about)

    def steps(self, ids: Tensor, edits: Sequence[Edits] = ()) -> DecoderOnlySteps:
        """Run one forward pass.

        Args:
            ids: Word ids, [token] or [text, token]; padding at the end has no effect on earlier tokens.
            edits: Edits of each text, or () for no edits.

        Raises:
            InvalidEdit: the model has no such layer or head.
        """
        model = edited(self.model, edits) if edits else self.model
        with torch.inference_mode():
            steps: DecoderOnlySteps = model(ids)
        return steps

    def save(self, file: Path) -> None:
        """Write the weights in float16, and `about`; the output is deterministic."""
        weights_file.write(file, self.model, {"about": self.about})

    @classmethod
    def load(cls, file: Path) -> Storyteller:
        """Load a model, in float32.

        Raises:
            ModelFilesDamaged: as for `weights_file.read`.
        """
        model, header = weights_file.read(
            file, lambda header: build(SIZES[header["about"]["variant"]], seed=0)
        )
        return cls(model, header["about"])
