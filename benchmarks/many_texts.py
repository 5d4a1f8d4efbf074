"""What it costs to keep the traces of many texts: `trace_many` against plain padded batches of transformers.

Both read the same sentences with the bundled BERT, in the same batches, in turns, on one thread. The plain
side is transformers' tokenizer with padding, and `attn_implementation="eager"` with `output_attentions=True`;
nothing is cut or copied there. `trace_many` ends in finished traces: tokens, queries, keys and values, copies
and checks.

Run: python -m benchmarks.many_texts [sentences] [batch] [--smoke]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from itertools import cycle, islice
from statistics import median

import torch
from transformers import AutoModel, AutoTokenizer

from attnviz import trace_many
from attnviz.experiments.corpus import bundled
from attnviz.models import catalogue
from benchmarks.report import parser

MODEL = "minilm"
TARGET = 1.15


def plain() -> Callable[[Iterable[str]], object]:
    """Batches as anybody would read them."""
    origin = catalogue.entry(MODEL).origin
    assert not isinstance(origin, catalogue.Trained)  # noqa: S101 - for the type checker
    tokenizer = AutoTokenizer.from_pretrained(origin.folder, local_files_only=True)
    model = AutoModel.from_pretrained(origin.folder, local_files_only=True, attn_implementation="eager")

    def weights(texts: Iterable[str]) -> object:
        with torch.inference_mode():
            read = tokenizer(list(texts), padding=True, return_tensors="pt")
            return model(**read, output_attentions=True).attentions

    return weights


def main(count: int, size: int) -> float:
    """Measure, print, and return the median of the batches' ratios."""
    torch.set_num_threads(1)
    weights = plain()

    def traces(texts: Iterable[str]) -> object:
        return list(trace_many(texts, MODEL, batch_size=size))

    def seconds(read: Callable[[Iterable[str]], object], texts: Iterable[str]) -> float:
        begun = time.perf_counter()
        read(texts)
        return time.perf_counter() - begun

    texts = list(islice(cycle(bundled().splitlines()), count))
    batches = [texts[at : at + size] for at in range(0, count, size)]
    taken = [(seconds(weights, batch), seconds(traces, batch)) for batch in batches]
    for name, each in zip(("plain batches", "trace_many"), zip(*taken, strict=True), strict=True):
        print(f"{name:14} median {1000 * median(each) / size:6.2f} ms a sentence")
    ratio = median(ours / theirs for theirs, ours in taken)
    print(
        f"{count} sentences in batches of {size}: the median ratio is {ratio:.2f} (target: at most {TARGET})"
    )
    return ratio


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("sentences", type=int, nargs="?", default=1000)
    arguments.add_argument("batch", type=int, nargs="?", default=32)
    asked = arguments.parse_args()
    ratio = main(8, 4) if asked.smoke else main(asked.sentences, asked.batch)
    sys.exit(ratio > TARGET and not asked.smoke)
