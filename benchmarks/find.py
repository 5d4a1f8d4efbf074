"""“Where else does a head do this?” over 10,000 sentences: the index, the search, and libraries for it.

The text is that of `benchmarks.heads`. Each size is indexed in a process of its own, all layers and heads,
to a folder. The memory is what the process holds itself: what it writes are maps of files, which the system
drops when it needs the room.

What was found is compared with an exact search of the vectors as the model had them, in float32. Half of the
sentences are drawn from four hundred, so that many tokens are equally near: what is as near as the last of
the true 50, to 1e-4 of the cosine, counts as right. The libraries for approximate search are compared if they
are installed: pip install --no-deps usearch==2.26.6 numkong==7.8.6 hnswlib==0.8.0

Run: python -m benchmarks.find [--smoke]
"""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import psutil

from attnviz import trace_many
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.neighbours import MOST, Search
from attnviz.experiments.text_index import TextIndex, index, opened
from attnviz.trace import Floats
from benchmarks.heads import MODEL, SENTENCES, sentences
from benchmarks.report import Report, parser

FLAT = 1.1
"""How many times the memory of the fewest sentences the most may take."""

RECALL, AS_NEAR = 0.95, 1e-4
SECONDS = 0.2
LAYER, HEADS = 3, (1, 6, 10)


class Extent(NamedTuple):
    """How much is measured.

    Attributes:
        sizes: how many sentences each process indexes; the last one's index is searched.
        queries: how many tokens are looked for.
    """

    sizes: tuple[int, ...] = (2_500, 5_000, SENTENCES)
    queries: int = 60


def corpus(size: int) -> Corpus:
    """So many sentences."""
    return Corpus.from_text("\n".join(sentences()[:size]))


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


def exactly(found: TextIndex) -> dict[int, Floats]:
    """[token, d_head] of each of `HEADS`: the queries as the model had them, in float32."""
    parts: dict[int, list[Floats]] = {head: [] for head in HEADS}
    for trace in trace_many(found.lines, MODEL, batch_size=16):
        queries = trace.block("encoder", LAYER).query
        for head in HEADS:
            parts[head].append(queries[head].copy())
    return {head: np.concatenate(each) for head, each in parts.items()}


def searched(report: Report, extent: Extent, found: TextIndex) -> None:
    """Look for tokens of the text, by each way in turns."""
    exact = exactly(found)
    chance = Random(0)  # noqa: S311 - the same tokens every time
    asked = [(head, chance.randrange(found.tokens)) for head in HEADS for _ in range(extent.queries // 3)]
    report.section(
        f"{len(asked)} tokens looked for among {found.tokens:,} by their query, the {MOST} nearest"
    )
    unit = {head: each / np.linalg.norm(each, axis=-1, keepdims=True) for head, each in exact.items()}
    ways = {"attnviz: exact, float16": _ours(found, exact), **_libraries(found, report)}
    for name, way in ways.items():
        spent, hits = [], []
        for head, token in asked:
            begun = time.perf_counter()
            near = way(head, token)
            spent.append(time.perf_counter() - begun)
            cosines = unit[head] @ unit[head][token]
            bound = np.partition(cosines, -MOST)[-MOST] - AS_NEAR
            hits.append((cosines[list(near)] >= bound).sum() / MOST)
        ours = name.startswith("attnviz")
        recall, (half, slow) = float(np.mean(hits)), np.percentile(spent, (50, 95))
        target, met = (f"≥ {RECALL:.0%}", recall >= RECALL) if ours else ("", None)
        report.row(f"{name}: recall@{MOST}", f"{recall:.3f}", target, met=met)
        target, met = (f"p95 ≤ {SECONDS * 1e3:.0f} ms", slow <= SECONDS) if ours else ("", None)
        report.row("– a query, p50 / p95", f"{half * 1e3:.2f} / {slow * 1e3:.2f} ms", target, met=met)


def _ours(found: TextIndex, exact: dict[int, Floats]) -> Callable[[int, int], Iterable[int]]:
    def way(head: int, token: int) -> list[int]:
        search = Search(found, LAYER, (head,), "query", exact[head][token][None], "")
        return [int(found.starts[near.line]) + near.place for near in search.neighbours()]

    return way


def _libraries(found: TextIndex, report: Report) -> dict[str, Callable[[int, int], Iterable[int]]]:
    """Approximate searches of the same vectors, made ready."""
    ways: dict[str, Callable[[int, int], Iterable[int]]] = {}
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
        searched(report, extent, indexed(report, extent, Path(home) / "index"))
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
        met = main(Extent((20,), 3) if asked.smoke else Extent())
        sys.exit(not met and not asked.smoke)
