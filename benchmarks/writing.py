"""How fast the storyteller writes, on one thread: with kept keys and values, and reading all again each time.

Both ways write the same words, drawn by the same seeds, and take turns.

Run: python -m benchmarks.writing [stories] [--smoke]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from attnviz.capture import loading
from attnviz.capture.generation import GenerationDefaults, drawn_one_by_one
from attnviz.capture.model import Writing
from attnviz.capture.storyteller import StorytellerModel
from attnviz.models import catalogue
from attnviz.transformer.decoder_only import DecoderOnlySteps
from benchmarks.report import parser

TARGET = 500
TOKENS = 80


def main(stories: int) -> float:
    """Measure and print; return the median of the tokens a second with kept keys and values."""
    torch.set_num_threads(1)
    model = loading.load(catalogue.STORYTELLER)
    assert isinstance(model, StorytellerModel)  # noqa: S101 - the catalogue says so; for the type checker
    network = model.storyteller.model
    ids = [token.id for token in model.tokens("Mary and John were friends.")]

    def kept() -> Callable[[Sequence[int]], Tensor]:
        before: DecoderOnlySteps | None = None

        def scores(unread: Sequence[int]) -> Tensor:
            nonlocal before
            before = network(torch.tensor(unread), before)
            return before.logits[-1]

        return scores

    def again() -> Callable[[Sequence[int]], Tensor]:
        read: list[int] = []

        def scores(unread: Sequence[int]) -> Tensor:
            read.extend(unread)
            last: Tensor = network(torch.tensor(read)).logits[-1]
            return last

        return scores

    speeds: dict[str, list[float]] = {"keys and values kept": [], "all read again": []}
    for seed in range(stories):
        written = []
        for found, way in zip(speeds.values(), (kept, again), strict=True):
            begun = time.perf_counter()
            how = Writing(TOKENS, temperature=1.0, seed=seed)
            steps = list(drawn_one_by_one(way(), ids, how, 96, GenerationDefaults(frozenset())))
            found.append(len(steps) / (time.perf_counter() - begun))
            written.append([step.id for step in steps])
        if written[0] != written[1]:
            raise SystemExit("The two ways wrote different words.")
    medians = {name: statistics.median(found) for name, found in speeds.items()}
    for name, median in medians.items():
        print(f"{name:22} median {median:7.0f} tokens a second (target: at least {TARGET})")
    return medians["keys and values kept"]


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("stories", type=int, nargs="?", default=15)
    asked = arguments.parse_args()
    sys.exit(main(2 if asked.smoke else asked.stories) < TARGET and not asked.smoke)
