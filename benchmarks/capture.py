"""What it costs to keep a trace: a captured forward pass of BERT-base size against transformers' plain one.

Both run the same random weights on the same tokens, in turns, in one process. The plain side is
`attn_implementation="eager"` with `output_attentions=True`; the captured side ends in finished Blocks,
copies and checks included. On a busy machine the lower quartiles say more than the medians.

Run: python -m benchmarks.capture [tokens] [rounds] [--smoke]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from transformers import AutoModel, BertConfig, PreTrainedModel

from attnviz.capture.forward import blocks
from attnviz.capture.inspection import inspected
from attnviz.capture.recorder import IMPLEMENTATION
from attnviz.models import catalogue
from attnviz.trace import Block, Floats, Token
from benchmarks.report import parser

TARGET = 1.15


def bert_base(implementation: str) -> PreTrainedModel:
    """12 layers of 12 heads, d_model 768, random weights, the same for every call."""
    torch.manual_seed(0)
    build: Any = AutoModel.from_config  # transformers gives it no types
    model: PreTrainedModel = build(BertConfig(), attn_implementation=implementation).eval()
    return model


def main(tokens: int, rounds: int) -> tuple[bool, float]:
    """Measure and print medians, their ratio, and the spread.

    Returns:
        Whether the weights are equal to the bit, and the ratio of the medians.
    """
    torch.set_num_threads(2)
    ids = torch.randint(1000, 30000, (tokens,), generator=torch.Generator().manual_seed(1))
    names = tuple(Token(str(int(n)), int(n), 0, 0, None, special=False) for n in ids)
    plain, captured = bert_base("eager"), bert_base(IMPLEMENTATION)
    inputs = {"input_ids": ids[None]}
    entry = catalogue.entry("minilm")  # a BERT, too
    places = inspected(captured, inputs, replace(entry, layers=captured.config.num_hidden_layers))

    def run_plain() -> tuple[Floats, ...]:
        with torch.inference_mode():
            return tuple(w[0].numpy() for w in plain(**inputs, output_attentions=True).attentions)

    def run_captured() -> tuple[Block, ...]:
        return blocks(captured, places, inputs, names)

    pairs = list(zip(run_plain(), run_captured(), strict=True))
    equal = all(np.array_equal(weights, block.weights) for weights, block in pairs)
    print(f"BERT-base size, {tokens} tokens, {rounds} rounds in turns, {torch.get_num_threads()} threads")
    print(f"weights equal to eager's to the bit: {equal}")

    times: dict[Callable[[], object], list[float]] = {run_plain: [], run_captured: []}
    for number in range(rounds):
        for run in (run_plain, run_captured) if number % 2 else (run_captured, run_plain):
            begun = time.perf_counter()
            run()
            times[run].append(time.perf_counter() - begun)
    quartiles = {run: statistics.quantiles(times[run], n=4) for run in times}
    for title, run in (("eager + output_attentions", run_plain), ("capture into Blocks", run_captured)):
        low, middle, high = (1000 * seconds for seconds in quartiles[run])
        print(f"{title:26} median {middle:7.1f} ms   (quartiles {low:.1f} to {high:.1f})")
    low, middle, _ = (
        ours / theirs for ours, theirs in zip(quartiles[run_captured], quartiles[run_plain], strict=True)
    )
    print(f"ratio of the medians {middle:.3f}, of the lower quartiles {low:.3f} (target: at most {TARGET})")
    return equal, middle


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("tokens", type=int, nargs="?", default=128)
    arguments.add_argument("rounds", type=int, nargs="?", default=31)
    asked = arguments.parse_args()
    equal, ratio = main(16, 2) if asked.smoke else main(asked.tokens, asked.rounds)
    sys.exit(not equal or (ratio > TARGET and not asked.smoke))
