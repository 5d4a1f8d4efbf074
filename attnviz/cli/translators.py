"""How our own models are made: `corpus`, `train`, `measure`, `live`, `learning` and `distances`."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from attnviz.atomic_file import atomic_file
from attnviz.cli import app
from attnviz.cli.output import AsJson, give, progress
from attnviz.trained import live as telling
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.translator import distance, splits
from attnviz.trained.translator.live import tell
from attnviz.trained.translator.variants import VARIANTS, WEIGHTS

FIGURES = WEIGHTS / "figures.json"

_NICENESS = 10  # a server answers its other visitors first


def _known(variant: str) -> str:
    names = (*VARIANTS, *SIZES)
    if variant not in names:
        raise typer.BadParameter(f"'{variant}' is none of {', '.join(names)}.")
    return variant


Variant = Annotated[
    str,
    typer.Option(
        callback=_known,
        help=f"A translator, by what it is told: {', '.join(VARIANTS)}; or a language model: "
        f"{', '.join(SIZES)}.",
    ),
]
Out = Annotated[Path, typer.Option(metavar="FILE", help="The file to write.")]
Threads = Annotated[int, typer.Option(help="How many cores to use.")]


@app.command()
def corpus(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder to write.")],
    sentences: Annotated[int, typer.Option(help="How many sentences to learn from.")] = 60_000,
    seed: Annotated[int, typer.Option(help="Chooses the sentences.")] = 0,
) -> None:
    """Write the sentences to learn from, and those to test with."""
    for file in splits.write(out, sentences, seed):
        sys.stdout.write(f"{file}\n")


@app.command()
def train(
    out: Out,
    variant: Variant = "taught",
    seed: Annotated[
        int | None,
        typer.Option(help="Of everything that is random; without it, that of the shipped weights."),
    ] = None,
    threads: Threads = 1,
) -> None:
    """Train a model; Ctrl-C breaks off, and a translator goes on later."""
    import torch

    from attnviz.trained.storyteller import training as stories
    from attnviz.trained.translator import training

    torch.set_num_threads(threads)
    out.parent.mkdir(parents=True, exist_ok=True)
    if variant in SIZES:
        with progress(log=True) as told:
            for now in stories.train(variant, seed or 0):
                said = f"{now.step} of {now.steps} steps, loss {now.loss:.3f}, {now.seconds:.0f} s"
                told(said, now.step / now.steps)
        now.trained().save(out)
        sys.stdout.write(f"Written: {out}\n")
        return
    settings = training.Settings.of(variant, seed)
    checkpoint = out.with_suffix(".checkpoint")
    with (
        progress(log=True) as told,
        _asked_to_stop() as stop,
        contextlib.closing(training.train(settings, checkpoint)) as steps,
    ):
        for step in steps:
            said = f"{step.step} of {settings.steps} steps, loss {step.loss:.3f}, {step.seconds:.0f} s"
            told(said, step.step / settings.steps)
            if stop.is_set():
                break
    if step.step < settings.steps:
        sys.stdout.write(f"Broken off. The same command goes on from {checkpoint}.\n")
        return
    step.translator().save(out)
    checkpoint.unlink(missing_ok=True)
    sys.stdout.write(f"Written: {out}\n")


@contextlib.contextmanager
def _asked_to_stop() -> Iterator[threading.Event]:
    """Set by Ctrl-C, which then does not tear a step in two."""
    stop = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


Measured = Annotated[
    list[Path] | None, typer.Argument(metavar="FILE", help="Files of weights; else those that attnviz ships.")
]
WriteFigures = Annotated[bool, typer.Option("--write", help="Write the figures down in figures.json.")]


@app.command()
def measure(files: Measured = None, write: WriteFigures = False, as_json: AsJson = False) -> None:
    """Measure trained translators on what they never saw."""
    from attnviz.trained.translator import measures
    from attnviz.trained.translator.training import Settings
    from attnviz.trained.translator.translator import Translator

    @cache
    def familiarity(sentences: int, seed: int) -> dict[str, int]:
        return asdict(measures.familiarity(splits.training(sentences, seed)))

    files = files or [variant.file for variant in VARIANTS.values()]
    translators = {file: Translator.load(file) for file in files}
    found = {file: measures.measure(translator) for file, translator in translators.items()}
    missed = [
        f"{file.stem} misses a target: {name} is {value:.4g}"
        for file, figures in found.items()
        for name, value in measures.missed(translators[file].about["variant"], figures).items()
    ]
    said = measures.table({file.stem: figures for file, figures in found.items()})
    said += "".join(f"{line}\n" for line in missed)
    rows = [{"translator": file.stem, **measures.flat(figures)} for file, figures in found.items()]
    give(said, tuple(rows[0]), [tuple(row.values()) for row in rows], as_json=as_json, beside=missed)
    if write:
        runs: list[dict[str, object]] = []
        for file, figures in found.items():
            about = translators[file].about
            settings = Settings.of(about["variant"], int(about["seed"]))
            learned = {"familiarity": familiarity(settings.sentences, settings.seed)}
            shipped = {"shipped": file.resolve().parent == WEIGHTS}
            runs.append({**about, **shipped, **asdict(figures), **learned})
        write_figures(FIGURES, runs, list(VARIANTS))


def write_figures(file: Path, runs: Sequence[Mapping[str, Any]], variants: Sequence[str]) -> None:
    """Write down what was measured, in the order of the variants; other trainings' figures stay."""
    known = json.loads(file.read_text("utf-8")) if file.exists() else []
    by_training = {(run["variant"], int(run["seed"])): run for run in (*known, *runs)}
    order = sorted(by_training, key=lambda training: (variants.index(training[0]), training[1]))
    figures = json.dumps([by_training[training] for training in order], indent=1) + "\n"
    with atomic_file(file) as opened:
        opened.write(figures.encode())


@app.command(hidden=True)  # a server's own call
def live(
    variant: Variant,
    seed: Annotated[int, typer.Option(help="Of everything that is random.")],
    steps: Annotated[int, typer.Option(help="How many training steps.")],
) -> None:
    """Train, and tell how far it is until the input is closed.

    It prints one JSON object a line: the step, or from time to time a whole snapshot. Its input is closed as
    soon as the server that started it is gone, however that ended.
    """
    threading.Thread(target=_end_with_the_input, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    if variant in SIZES:
        from attnviz.trained.storyteller import copying, forming

        telling.tell(copying.watch(variant, seed, steps, forming.steps_to_store(steps)), forming.line)
    else:
        tell(variant, seed, steps)


def _end_with_the_input() -> None:
    # Not sys.stdin: Python waits at its own end for whoever is still reading that.
    while os.read(0, 1024):
        pass
    os._exit(0)


@app.command()
def learning(out: Out, variant: Variant = "taught", threads: Threads = 1) -> None:
    """Train a shipped translator or language model again, and store its steps."""
    import torch

    torch.set_num_threads(threads)
    if variant in SIZES:
        _forming(out, variant)
        return
    from attnviz.trained.translator import learning, recording
    from attnviz.trained.translator.training import Settings

    settings = Settings.of(variant)
    examination = recording.Examination.of(learning.SENTENCES, learning.PROBES)
    snapshots = []
    for news in recording.watch(settings, examination, learning.stored_steps(settings.steps)):
        if isinstance(news, learning.Snapshot):
            snapshots.append(news)
            sys.stdout.write(f"{news.step} of {settings.steps} steps: {news.measures}\n")
            sys.stdout.flush()
    about = recording.about(settings, examination)
    found = learning.Learning(about, learning.PROBES, tuple(snapshots))
    learning.write(found, out)


def _forming(out: Path, variant: str) -> None:
    """Train a shipped storyteller again, and store its steps."""
    from attnviz.trained.storyteller import copying, forming
    from attnviz.trained.storyteller.training import STEPS

    snapshots = []
    for news in copying.watch(variant, 0, STEPS, forming.steps_to_store(STEPS)):
        if isinstance(news, forming.Snapshot):
            snapshots.append(news)
            score, copied = news.copying.prefix_matching.max(), news.copying.right
            sys.stdout.write(
                f"{news.step} of {STEPS} steps: prefix matching {score:.3f}, copied {copied:.3f}\n"
            )
            sys.stdout.flush()
    forming.write({"variant": variant, "seed": "0"}, snapshots, out)


@app.command()
def distances(
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The folder of weights to go on with, and to write.")
    ] = None,
    only_measure: Annotated[
        bool, typer.Option("--only-measure", help="Measure the weights of --out again, or those of attnviz.")
    ] = False,
    threads: Threads = 2,
    as_json: AsJson = False,
) -> None:
    """Compare an LSTM, one with attention, and a transformer on longer and longer sentences.

    Each is trained with several learning rates and seeds. What is finished is written down after each
    training; what the folder has is not trained again, so a new folder means to begin anew. With
    `--only-measure` it is printed how many translations are right for 0, 1, 2 … clauses put in.
    """
    import torch

    from attnviz.trained.translator import contest

    torch.set_num_threads(threads)
    if only_measure:
        with progress(log=True) as told:
            found = contest.measure(out or WEIGHTS, told)
        if out:
            distance.write(found, out)
        right = {name: [point.exact for point in found.chosen(name)[0].points] for name in distance.NAMES}
        said = "".join(
            f"{name}: of {found.sentences} translations are right: {' '.join(map(str, counts))}\n"
            for name, counts in right.items()
        )
        rows = [
            (name, clauses, found.sentences, count)
            for name, counts in right.items()
            for clauses, count in enumerate(counts)
        ]
        give(said, ("network", "clauses", "sentences", "right"), rows, as_json=as_json)
        return
    if as_json:
        raise typer.BadParameter("--json prints what was measured: it needs --only-measure.")
    if out is None:
        raise typer.BadParameter("Name the folder to write with --out.")
    out.mkdir(exist_ok=True)
    with progress(log=True) as told:
        for name, training in contest.compete(out):
            step, setting = training.done, training.settings
            told(
                f"{name}, learning rate {setting.learning_rate}, seed {setting.seed}: "
                f"step {step} of {setting.steps}",
                step / setting.steps,
            )
