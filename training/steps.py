"""Store snapshots of training runs: `python -m training.steps [NAME …]`, four minutes each.

Each run repeats the training of a bundled model, and writes a file that `attnviz.trained.snapshots` reads.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable

from attnviz.trained.snapshots import STORED, Snapshot, file_of, write
from attnviz.trained.storyteller import copying
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.training import STEPS
from attnviz.trained.translator import evaluation
from attnviz.trained.translator.evaluation import Evaluation
from attnviz.trained.translator.training import Settings

SENTENCES = 300
"""Number of held-out sentences, and of sentences in minimal pairs, for the stored measures."""


def translator_steps(steps: int) -> tuple[int, ...]:
    """Return the steps at which a translator's snapshots are stored, most of them early in training."""
    early = (0, 25, *range(50, 800, 50), *range(800, 2000, 100), *range(2000, steps, 500))
    return (*(step for step in early if step < steps), steps)


def storyteller_steps(steps: int) -> tuple[int, ...]:
    """Return the steps at which a storyteller's snapshots are stored; they are denser while heads form."""
    dense = range(550, 900, 25)  # when heads form in the bundled storytellers
    return tuple(sorted({*range(0, steps, 100), *(step for step in dense if step < steps), steps}))


def metadata(settings: Settings, sentences: Evaluation) -> dict[str, str]:
    """Return the metadata of a translator's training run and its snapshots."""
    return {
        "variant": settings.variant,
        "seed": str(settings.seed),
        "batch": str(settings.batch),
        "held out": str(len(sentences.held_out)),
        "minimal pairs": str(len(sentences.minimal_pairs)),
    }


def _print_measures(events: Iterable[int | Snapshot]) -> list[Snapshot]:
    """Print the measures of each snapshot, and return all snapshots."""
    snapshots = []
    for each in events:
        if isinstance(each, Snapshot):
            print(f"step {each.step}: {dict(each.measures)}", flush=True)
            snapshots.append(each)
    return snapshots


def main(names: Collection[str]) -> None:
    """Regenerate the stored steps of these training runs, or of all."""
    for name in names or STORED:
        if name in SIZES:
            events = copying.train_with_snapshots(name, 0, STEPS, storyteller_steps(STEPS))
            write({"variant": name, "seed": "0"}, _print_measures(events), file_of(name))
        else:
            settings, sentences = Settings.of(name), Evaluation.of(SENTENCES)
            events = evaluation.train_with_snapshots(settings, sentences, translator_steps(settings.steps))
            write(metadata(settings, sentences), _print_measures(events), file_of(name))


if __name__ == "__main__":
    main(sys.argv[1:])
