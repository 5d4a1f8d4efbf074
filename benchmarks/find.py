"""“Where else does a head do this?” over 10,000 sentences: the index, the search, and libraries for it.

No two sentences are alike: half are made by the translator's grammar, half are pairs of bundled ones. Each
size is indexed in a process of its own, all layers and heads, to a folder. The memory is what the process
holds itself: what it writes are maps of files, which the system drops when it needs the room.

What was found by each kind of vector is compared with an exact search of the vectors as the model had them,
in float32. The libraries for approximate search are compared if they are installed:
pip install --no-deps usearch==2.26.6 numkong==7.8.6 hnswlib==0.8.0

Last, a visitor of the app searches the index while thirty others click on Explore, as in
`benchmarks.visitors`.

Run: python -m benchmarks.find [--smoke]
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import psutil
from playwright.sync_api import Page

from attnviz.app.heads.find.indexes import SETTING
from attnviz.experiments.corpus import Corpus, bundled
from attnviz.experiments.neighbours import MOST, Search
from attnviz.experiments.text_index import VECTORS, TextIndex, block_of, index, opened
from attnviz.trace import Floats
from attnviz.trained.translator import splits
from attnviz.trained.translator.grammar import written
from benchmarks.browser import launched
from benchmarks.heads import MODEL, SENTENCES
from benchmarks.page import load_the_model
from benchmarks.replay import clicks, record
from benchmarks.report import Report, parser
from benchmarks.visitors import PAUSE_SECONDS, many, of_visitor, print_waits, visit
from tests.browser.server import running

FLAT = 1.1
"""How many times the memory of the fewest sentences the most may take."""

RECALL = 0.95
SECONDS = 0.2
ROUNDS = 3  # how often the visitor who searches asks by each way
LAYER, HEADS = 3, (1, 6, 10)


Way = Callable[[int, int], Iterable[int]]
"""From a head and a token, both from 0, to the tokens that are nearest to it."""


class Extent(NamedTuple):
    """How much is measured.

    Attributes:
        sizes: how many sentences each process indexes; the last one's index is searched.
        queries: how many tokens are looked for by each kind of vector.
        beside: how many other visitors there are.
        pause: seconds between two clicks of each.
    """

    sizes: tuple[int, ...] = (2_500, 5_000, SENTENCES)
    queries: int = 60
    beside: int = 30
    pause: float = PAUSE_SECONDS


def corpus(size: int) -> Corpus:
    """So many sentences, all different, shuffled."""
    chance = Random(0)  # noqa: S311 - the same text every time
    own = bundled().splitlines()
    made = dict.fromkeys(written(pair.source) for pair in splits.training(SENTENCES // 2, 0))
    while len(made) < SENTENCES:
        made[" ".join(chance.sample(own, 2))] = None
    every = list(made)
    chance.shuffle(every)
    return Corpus.from_text("\n".join(every[:size]))


def one(size: int, folder: Path) -> None:
    """One process: it indexes so many sentences, and prints its seconds and the most that it held, in MB."""
    begun, most = time.perf_counter(), 0.0
    for _ in index(corpus(size), MODEL, folder):
        memory = psutil.Process().memory_info()
        most = max(most, (memory.rss - memory.shared) / 1e6)
    print(time.perf_counter() - begun, most)


def indexed(report: Report, extent: Extent, folder: Path) -> TextIndex:
    """Index more and more sentences; return the last index."""
    report.section(f"The index of {MODEL}, all layers and heads")
    held = []
    for size in extent.sizes:
        shutil.rmtree(folder, ignore_errors=True)
        command = [sys.executable, "-m", "benchmarks.find", "one", str(size), str(folder)]
        seconds, most = map(float, subprocess.run(command, capture_output=True, check=True).stdout.split())
        held.append(most)
        written = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
        figures = f"{seconds / 60:.1f} min, {written:,.0f} MB, holds {most:.0f} MB"
        report.row(f"{size:,} sentences", figures)
    grown = held[-1] / held[0]
    report.row("memory, most / fewest sentences", f"{grown:.2f} ×", f"≤ {FLAT} ×", met=grown <= FLAT)
    return opened(folder)


def exactly(found: TextIndex) -> dict[tuple[str, int], Floats]:
    """[token, d] by kind of vector and head, as the model had them, in float32; states are of head 0."""
    parts: dict[tuple[str, int], list[Floats]] = {}
    for line in found.lines:
        block, states = block_of(MODEL, line, LAYER)
        for by in VECTORS:
            for head in (0,) if by == "state" else HEADS:
                vectors = states if by == "state" else getattr(block, by)[head]
                parts.setdefault((by, head), []).append(vectors.copy())
    return {which: np.concatenate(each) for which, each in parts.items()}


def searched(report: Report, extent: Extent, found: TextIndex) -> None:
    """Look for tokens of the text by each kind of vector, by each way in turns."""
    every, chance = exactly(found), Random(0)  # noqa: S311 - the same tokens every time
    report.section(
        f"{extent.queries} tokens looked for among {found.tokens:,} by each vector, the {MOST} nearest"
    )
    for by in VECTORS:
        exact = {head: each for (kind, head), each in every.items() if kind == by}
        unit = {head: each / np.linalg.norm(each, axis=-1, keepdims=True) for head, each in exact.items()}
        asked = [(chance.choice(list(exact)), chance.randrange(found.tokens)) for _ in range(extent.queries)]
        ways = {"exact, float32": _plainly(unit), "attnviz": _ours(found, exact, by)}
        kept = found.vectors(by)[found.layer(LAYER), 0].nbytes / 1e6
        report.row(f"by {by}: kept of one head, float16 / 32", f"{kept:,.1f} / {2 * kept:,.1f} MB")
        for name, way in {**ways, **(_libraries(found, report) if by == "query" else {})}.items():
            spent, hits = [], []
            for head, token in asked:
                begun = time.perf_counter()
                near = way(head, token)
                spent.append(time.perf_counter() - begun)
                hits.append(len(set(near) & set(ways["exact, float32"](head, token))) / MOST)
            recall, (half, slow) = float(np.mean(hits)), np.percentile(spent, (50, 95))
            ours = name == "attnviz"
            target, met = (f"≥ {RECALL:.0%}", recall >= RECALL) if ours else ("", None)
            report.row(f"– {name}: recall@{MOST}", f"{recall:.3f}", target, met=met)
            target, met = (f"p95 ≤ {SECONDS * 1e3:.0f} ms", bool(slow <= SECONDS)) if ours else ("", None)
            report.row("– a query, p50 / p95", f"{half * 1e3:.2f} / {slow * 1e3:.2f} ms", target, met=met)


def _plainly(unit: dict[int, Floats]) -> Way:
    def way(head: int, token: int) -> list[int]:
        cosines = unit[head] @ unit[head][token]
        near: list[int] = np.argpartition(-cosines, min(MOST, len(cosines) - 1))[:MOST].tolist()
        return near

    return way


def _ours(found: TextIndex, exact: dict[int, Floats], by: str) -> Way:
    def way(head: int, token: int) -> list[int]:
        search = Search(found, LAYER, (head,), by, exact[head][token][None], "")
        return [int(found.starts[near.line]) + near.place for near in search.neighbours()]

    return way


def beside_others(report: Report, extent: Extent, folder: Path) -> None:
    """A visitor searches the index of this folder, while others click on Explore."""
    os.environ[SETTING] = str(folder.parent)

    def searches(page: Page, url: str) -> Iterator[Callable[[], object]]:
        head = f"layer={LAYER + 1}&head={HEADS[0] + 1}"
        yield partial(page.goto, f"{url}/find?source=Index&index={folder.name}&{head}")
        for way in ("Key", "Head output", "Pattern", "Hidden state", "Query") * ROUNDS:
            yield page.get_by_role("radio", name=way, exact=True).click

    with (
        tempfile.TemporaryDirectory() as home,
        running(Path(home)) as server,
        launched() as browser,
        ThreadPoolExecutor(extent.beside) as pool,
    ):
        load_the_model(browser, server.url)
        others, asked = (
            [exchange.message for exchange in record(browser, server, each)] for each in (clicks, searches)
        )
        waited, run, _ = many([server], server, asked, 1, 0)
        print_waits(report, "One visitor, who searches", waited, SECONDS)
        report.row("processor time of a run", f"{run * 1e3:.1f} ms")
        many([server], server, others, extent.beside, 0)  # fills the caches
        visits = [
            pool.submit(visit, server, of_visitor(others, number), number, extent.pause)
            for number in range(extent.beside)
        ]
        waited = visit(server, asked, extent.beside, extent.pause)[1:]
        title = f"The same, beside {extent.beside} visitors of Explore"
        print_waits(report, title, waited, SECONDS)
        for each in visits:
            each.result()


def _libraries(found: TextIndex, report: Report) -> dict[str, Way]:
    """Approximate searches of the same vectors, made ready."""
    ways: dict[str, Way] = {}
    layer = found.layer(LAYER)
    vectors = {head: np.asarray(found.query[layer, head], np.float32) for head in HEADS}
    width = found.query.shape[-1]
    for name in ("hnswlib", "usearch"):
        if not find_spec(name):
            report.row(name, "is not installed")
            continue
        made: dict[int, Any] = {}
        before, begun = psutil.Process().memory_info().rss, time.perf_counter()
        for head, each in vectors.items():
            if name == "hnswlib":
                made[head] = importlib.import_module(name).Index("cosine", width)
                made[head].init_index(len(each), ef_construction=200, M=16)
                made[head].set_ef(200)
                made[head].add_items(each)
            else:
                usearch = importlib.import_module("usearch.index")
                made[head] = usearch.Index(ndim=width, metric="cos", dtype="f16", expansion_search=200)
                made[head].add(np.arange(len(each)), each)
        seconds = (time.perf_counter() - begun) / len(HEADS)
        grown = (psutil.Process().memory_info().rss - before) / 1e6 / len(HEADS)
        report.row(f"{name}: to get ready for one head", f"{seconds:.1f} s, {grown:.0f} MB")

        def hnsw(head: int, token: int, made: dict[int, Any] = made) -> Iterable[int]:
            labels: Iterable[int] = made[head].knn_query(vectors[head][token], MOST)[0][0].tolist()
            return labels

        def graph(head: int, token: int, made: dict[int, Any] = made) -> Iterable[int]:
            keys: Iterable[int] = made[head].search(vectors[head][token], MOST).keys.tolist()
            return keys

        ways[name] = hnsw if name == "hnswlib" else graph
    return ways


def main(extent: Extent) -> bool:
    """Measure, print, and return whether every target was met."""
    report = Report("Where else does a head do this?")
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "index"
        searched(report, extent, indexed(report, extent, folder))
        beside_others(report, extent, folder)
    report.end()
    return not report.missed


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("part", nargs="?", choices=["one"], help="used by the benchmark itself")
    arguments.add_argument("number", type=int, nargs="?")
    arguments.add_argument("folder", type=Path, nargs="?")
    asked = arguments.parse_args()
    if asked.part:
        one(asked.number, asked.folder)
    else:
        met = main(Extent((20,), 3, 2, 0.1) if asked.smoke else Extent())
        sys.exit(not met and not asked.smoke)
