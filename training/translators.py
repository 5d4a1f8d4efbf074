"""Train and evaluate the translators: `python -m training.translators [VARIANT …]`, two minutes per seed.

The command writes the bundled weights and the results of every training run.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from attnviz.trained.translator import splits
from attnviz.trained.translator.training import Settings, train
from attnviz.trained.translator.translator import Translator
from attnviz.trained.translator.variants import VARIANTS, WEIGHTS
from training import figures
from training.translator_measures import familiarity, measure

SEEDS = (0, 1, 2)


def train_translator(settings: Settings) -> Translator:
    """Train a translator, and print its progress."""
    model = figures.train_to_end(train(settings), f"{settings.variant}, seed {settings.seed}")
    about = {"variant": settings.variant, "seed": str(settings.seed), "steps": str(settings.steps)}
    return Translator(model, settings.sizes, about)


@cache
def _familiarity(sentences: int, seed: int) -> Mapping[str, int]:
    return asdict(familiarity(splits.training(sentences, seed)))


def record(translator: Translator) -> dict[str, Any]:
    """Return all results of a trained translator, and its settings."""
    settings = Settings.of(translator.about["variant"], int(translator.about["seed"]))
    return {
        **translator.about,
        "shipped": settings.seed == VARIANTS[settings.variant].seed,
        **asdict(measure(translator)),
        "familiarity": _familiarity(settings.sentences, settings.seed),
    }


def main(variants: list[str]) -> None:
    """Regenerate the weights and results of these variants, or of all variants."""
    for variant in variants or VARIANTS:
        for seed in SEEDS:
            translator = train_translator(Settings.of(variant, seed))
            if seed == VARIANTS[variant].seed:
                translator.save(VARIANTS[variant].file)
            figures.write(WEIGHTS / "figures.json", record(translator), list(VARIANTS))


if __name__ == "__main__":
    main(sys.argv[1:])
