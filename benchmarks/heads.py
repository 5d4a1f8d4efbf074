"""What heads do over 10,000 sentences: how fast, in how much memory, and the same figures on Ray.

The plain way is a loop over the sentences with transformers' own model, `attn_implementation="eager"` and
`output_attentions=True`, on the same threads. Both take turns in one process: of each part of the text the
job reads all 1,000 lines, and the plain way every tenth.

Run: python -m benchmarks.heads [throughput | memory | ray] [threads] [--smoke]
"""

from __future__ import annotations

import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

from attnviz.capture import loading
from attnviz.experiments import head_tests
from attnviz.experiments.corpus import Corpus, bundled
from attnviz.experiments.on_ray import share
from attnviz.experiments.scoring import PART, Found, Share, measure
from attnviz.models import catalogue
from attnviz.trained.translator import splits
from attnviz.trained.translator.grammar import written
from benchmarks.report import parser

SENTENCES = 10_000
MODEL = "minilm"
TARGET = 4.0  # times as fast
FLAT = 1.1  # times the memory that a tenth of the sentences takes
EQUAL = 1e-6


class Extent(NamedTuple):
    """How much is measured.

    Attributes:
        rounds: of the job and the plain way; the first warms up and does not count.
        part: how many lines the job reads in a round.
        every: which of those are read the plain way.
        sizes: how many sentences each process reads whose memory is measured; Ray reads as many as the last.
        workers: how many of Ray's.
    """

    rounds: int = 7
    part: int = PART
    every: int = 10
    sizes: tuple[int, ...] = (1_000, 3_000, SENTENCES)
    workers: tuple[int, ...] = (1, 2, 4)


WHOLE = Extent()
SMOKE = Extent(rounds=2, part=10, every=5, sizes=(20,), workers=(1,))


@cache
def sentences() -> tuple[str, ...]:
    """Half of them made by the translator's grammar, half bundled ones, some of those two in a line."""
    chance = random.Random(0)  # noqa: S311 - the same text every time
    made = [written(pair.source) for pair in splits.training(SENTENCES // 2, 0)]
    own = bundled().splitlines()
    while len(made) < SENTENCES:
        made.append(" ".join(chance.sample(own, 2 if len(made) % 5 == 0 else 1)))
    chance.shuffle(made)
    return tuple(made)


def throughput(extent: Extent) -> bool:
    """The job against the plain way, in turns."""
    loading.load(MODEL)
    texts = sentences()
    ways: dict[str, tuple[Callable[[Sequence[str]], object], int]] = {
        "transformers, one by one": (plain_way(), extent.every),
        "attnviz heads": (scores, 1),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(extent.rounds):
        part = texts[number * extent.part : (number + 1) * extent.part]
        for name, (way, every) in ways.items():
            some = part[::every]
            begun = time.perf_counter()
            way(some)
            if number:
                seconds[name].append((time.perf_counter() - begun) / len(some))
    lengths = [len(loading.tokens(MODEL, text)) for text in texts[: extent.part]]
    print(
        f"{MODEL}, {extent.rounds - 1} rounds, {torch.get_num_threads()} threads; sentences of "
        f"{min(lengths)} to {max(lengths)} tokens, {statistics.mean(lengths):.1f} on average"
    )
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    ours = medians["attnviz heads"]
    for name, median in medians.items():
        told = f"{name:26} {1000 * median:6.2f} ms a sentence, {1 / median:5.0f} a second"
        ratios = [one / own for one, own in zip(seconds[name], seconds["attnviz heads"], strict=True)]
        spread = f" ({min(ratios):.1f} to {max(ratios):.1f})"
        print(told if median == ours else f"{told}; attnviz is {median / ours:.1f} times as fast{spread}")
    return medians["transformers, one by one"] / ours >= TARGET


def plain_way() -> Callable[[Sequence[str]], None]:
    """A loop as anybody would write it, which computes the weights alone."""
    origin = catalogue.entry(MODEL).origin
    assert not isinstance(origin, catalogue.Trained)  # noqa: S101 - for the type checker
    tokenizer = AutoTokenizer.from_pretrained(origin.folder, local_files_only=True)
    model = AutoModel.from_pretrained(
        origin.folder, local_files_only=True, attn_implementation="eager"
    ).eval()

    def plainly(texts: Sequence[str]) -> None:
        for text in texts:
            with torch.inference_mode():
                found = model(**tokenizer(text, return_tensors="pt"), output_attentions=True)
            for layer in found.attentions:
                layer.numpy()

    return plainly


def scores(texts: Sequence[str], how: Share | None = None) -> Found:
    """What `python -m attnviz heads` finds in these lines."""
    *_, last = measure(head_tests.find("rules"), Corpus.from_text("\n".join(texts)), MODEL, how)
    return last.found


def memory(extent: Extent) -> bool:
    """The most that a process ever held, for texts of other lengths, each in a new process."""
    peaks = []
    for size in extent.sizes:
        command = [sys.executable, "-m", "benchmarks.heads", "one", str(size)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(float(answer.stdout))
        print(f"{size:6,} sentences: {peaks[-1]:.0f} MB at most")
    print(f"the most sentences: {peaks[-1] / peaks[0]:.2f} times the fewest (target: at most {FLAT})")
    return peaks[-1] <= FLAT * peaks[0]


def one(size: int) -> None:
    """One process of `memory`: it reads so many sentences, and prints its largest size in MB."""
    scores(sentences()[:size])
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def same_on_ray(extent: Extent) -> bool:
    """Every figure of every head, by Ray with several numbers of workers, against this process."""
    begun = time.perf_counter()
    size = extent.sizes[-1]
    alone = scores(sentences()[:size])
    print(f"in this process: {time.perf_counter() - begun:.0f} s")
    most = 0.0
    for workers in extent.workers:
        begun = time.perf_counter()
        found = scores(sentences()[:size], share(workers))
        spent = time.perf_counter() - begun
        apart = difference(alone, found)
        most = max(most, apart)
        print(
            f"Ray, {workers} workers: {spent:.0f} s with their start, figures differ by {apart:.1g} at most"
        )
    return most <= EQUAL


def difference(one: Found, other: Found) -> float:
    """The largest difference between any two figures; infinite if another number of sentences counted."""
    if not all(np.array_equal(scores.count, other[name].count) for name, scores in one.items()):
        return float("inf")
    return max(
        float(np.nanmax(np.abs(getattr(scores, what) - getattr(other[name], what)), initial=0.0))
        for name, scores in one.items()
        for what in ("mean", "squares", "weight")
    )


PARTS = {"throughput": throughput, "memory": memory, "ray": same_on_ray}


def main(names: Iterable[str], extent: Extent) -> bool:
    """Run these parts, and print verdicts and the load; return whether every target was reached."""
    missed = []
    for name in names:
        print(f"\n{name} (load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors)")
        reached = PARTS[name](extent)
        print("target reached" if reached else "target MISSED")
        missed += [] if reached else [name]
    return not missed


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("part", nargs="?", choices=[*PARTS, "one"])
    arguments.add_argument("number", type=int, nargs="?", help="of threads; for `one`, of sentences")
    asked = arguments.parse_args()
    if asked.part == "one":
        one(asked.number)
    else:
        if asked.number:
            torch.set_num_threads(asked.number)
        reached = main([asked.part] if asked.part else PARTS, SMOKE if asked.smoke else WHOLE)
        sys.exit(not reached and not asked.smoke)
