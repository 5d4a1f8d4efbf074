"""What our own language models can do: `measure-storyteller`."""

from __future__ import annotations

from dataclasses import asdict

from attnviz.analysis.intervals import wilson
from attnviz.cli import app
from attnviz.cli.output import AsJson, give
from attnviz.cli.translators import Measured, WriteFigures, write_figures
from attnviz.trained.storyteller.sizes import SIZES, WEIGHTS

FIGURES = WEIGHTS / "figures.json"


@app.command("measure-storyteller")
def measure(
    files: Measured = None,
    write: WriteFigures = False,
    as_json: AsJson = False,
) -> None:
    """Measure language models on what they never saw, with 95 % intervals."""
    from attnviz.trained.storyteller.measures import measure
    from attnviz.trained.storyteller.storyteller import Storyteller

    models = {file: Storyteller.load(file) for file in files or [size.file for size in SIZES.values()]}
    found = {file: measure(model) for file, model in models.items()}
    rows: list[tuple[object, ...]] = []
    said = ""
    for file, figures in found.items():
        said += f"{file.stem}, {figures.items} items of each task:\n"
        for task, count in figures.right.items():
            low, high = wilson(count, figures.items)
            rows.append((file.stem, task, count, figures.items, low, high))
            said += f"{task:>26} {count / figures.items:6.1%} ({low:.1%} to {high:.1%})\n"
        said += f"{'previous word, by head':>26} {figures.previous_word}\n"
        said += f"{'prefix matching, by head':>26} {figures.prefix_matching}\n"
        layer, head = figures.silenced
        said += f"{f'without head {layer}-{head}':>26} {figures.silenced_right / figures.items:6.1%} "
        said += f"of random words, prefix matching at most {figures.silenced_prefix_matching}\n"
    give(said, ("model", "task", "right", "items", "low", "high"), rows, as_json=as_json)
    if write:
        runs = [{**models[file].about, **asdict(figures)} for file, figures in found.items()]
        write_figures(FIGURES, runs, list(SIZES))
