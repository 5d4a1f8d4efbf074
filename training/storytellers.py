"""Train and evaluate the storytellers: `python -m training.storytellers [SIZE …]`, minutes for each seed.

Writes the bundled weights, those of seed 0, and the results of every training run.
"""

from __future__ import annotations

import sys
from dataclasses import asdict

from attnviz.trained.storyteller.figures import FILE
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.storyteller import Storyteller
from attnviz.trained.storyteller.training import STEPS, train
from training import figures
from training.storyteller_measures import measure

SEEDS = (0, 1, 2)


def trained(variant: str, seed: int, steps: int = STEPS) -> Storyteller:
    """Train a storyteller, and print its progress."""
    for progress in train(variant, seed, steps):
        if progress.step % 100 == 0 or progress.step == steps:
            print(f"{variant}, seed {seed}: step {progress.step}, loss {progress.loss:.3f}", flush=True)
    about = {"variant": variant, "seed": str(seed), "steps": str(steps)}
    # Files have float16 numbers, so evaluate the rounded weights.
    return Storyteller(progress.model.half().float(), about)


def main(variants: list[str]) -> None:
    """Regenerate the weights and results of some sizes."""
    for variant in variants or SIZES:
        for seed in SEEDS:
            storyteller = trained(variant, seed)
            if seed == 0:
                storyteller.save(SIZES[variant].file)
            figures.write(FILE, {**storyteller.about, **asdict(measure(storyteller))}, list(SIZES))


if __name__ == "__main__":
    main(sys.argv[1:])
