"""What our own language models can do: `measure-storyteller`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from attnviz.analysis.intervals import wilson
from attnviz.cli import app
from attnviz.cli.output import AsJson, aligned, give
from attnviz.cli.translators import Measured, WriteFigures, write_figures
from attnviz.text import interval, percent
from attnviz.trained.storyteller import figures as stored
from attnviz.trained.storyteller.figures import Figures, Heads, Training
from attnviz.trained.storyteller.sizes import SIZES

if TYPE_CHECKING:
    from attnviz.trained.storyteller.storyteller import Storyteller


@app.command("measure-storyteller")
def measure(files: Measured = None, write: WriteFigures = False, as_json: AsJson = False) -> None:
    """Measure language models on what they never saw, with 95 % intervals.

    Without files, the stored figures of the other seeds stand beside those of the models that attnviz ships.
    """
    from attnviz.trained.storyteller.measures import measure
    from attnviz.trained.storyteller.storyteller import Storyteller

    models = [Storyteller.load(file) for file in files or [size.file for size in SIZES.values()]]
    found = {_training(model): measure(model) for model in models}
    if write:
        runs = [{**model.about, **asdict(found[_training(model)])} for model in models]
        write_figures(stored.FILE, runs, list(SIZES))
    told = found if files else {**stored.stored(), **found}
    give(
        "\n".join(_table(size, told) for size in SIZES if any(size == training.variant for training in told)),
        ("model", "seed", "without heads", "task", "right", "items", "low", "high", "prefix matching"),
        [row for training, figures in told.items() for row in _rows(training, figures)],
        as_json=as_json,
    )


def _training(model: Storyteller) -> Training:
    return Training(model.about["variant"], int(model.about["seed"]))


def _rows(training: Training, figures: Figures) -> Iterator[tuple[object, ...]]:
    whole = ("", figures.right, figures.prefix_matching)
    silenced = [(_names(each.heads), each.right, each.prefix_matching) for each in figures.silenced]
    for heads, right, scores in (whole, *silenced):
        for task, count in right.items():
            shares = (count, figures.items, *wilson(count, figures.items))
            yield (*training, heads, task, *shares, max(map(max, scores)))


def _table(size: str, told: Mapping[Training, Figures]) -> str:
    """A column for each training of one size; each found for itself which heads copy."""
    runs = {
        f"seed {training.seed}": figures for training, figures in told.items() if training.variant == size
    }
    each = tuple(runs.values())
    lines = [
        (size, *runs),
        *((task, *(_share(one, one.right[task]) for one in each)) for task in each[0].right),
        ("previous-word heads", *(_names(one.previous_word_heads) for one in each)),
        ("induction heads", *(_names(one.induction_heads) for one in each)),
    ]
    said = aligned(lines)
    for seed, one in runs.items():
        for left in one.silenced:
            said += (
                f"{seed}, without {_names(left.heads)}: {_share(one, left.right['random words'])} of random "
            )
            said += f"words, prefix matching at most {max(map(max, left.prefix_matching)):.2f}\n"
    return said


def _share(figures: Figures, right: int) -> str:
    return f"{percent(right / figures.items, 1)} ({interval(*wilson(right, figures.items))})"


def _names(heads: Heads) -> str:
    return ", ".join(f"{layer}-{head}" for layer, head in heads) or "none"
