"""Compare traces with plain transformers: time, stored bytes, and the memory of long texts.

The baseline is `attn_implementation="eager"` with `output_attentions=True` and the weights as arrays. It is
compared with `attnviz.trace` of the same tokens, with all weights as arrays. Checks of the model object are
not timed. The two alternate in one process. The memory for each long text is measured in a separate process.

Run: python -m benchmarks.capture [rounds] [--smoke]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import cycle, islice
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psutil
import torch
from torch import Tensor
from transformers import AutoModel, AutoTokenizer, GPT2Config, LlamaConfig, PreTrainedConfig, PreTrainedModel

import attnviz
from attnviz.experiments.corpus import bundled
from attnviz.models import catalogue
from benchmarks.report import Report, parser

GPT2: dict[str, Any] = {"n_positions": 32_768}
LLAMA: dict[str, Any] = {
    "hidden_size": 2_048,
    "intermediate_size": 5_632,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
}
LLAMA_8B: dict[str, Any] = {
    "hidden_size": 4_096,
    "intermediate_size": 14_336,
    "num_hidden_layers": 32,
    "vocab_size": 128_256,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131_072,
}


def random_model(
    config: PreTrainedConfig,
    attention: str = "eager",
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> PreTrainedModel:
    """Return a model with random weights, which are the same in every call."""
    torch.manual_seed(0)
    build: Any = AutoModel.from_config  # untyped in transformers
    with torch.device(device):
        model: PreTrainedModel = build(config, attn_implementation=attention, dtype=dtype).eval()
    return model


def random_ids(tokens: int, device: str = "cpu") -> Tensor:
    """Return random token ids, valid in all models of this file; they are the same in every call."""
    return torch.randint(1_000, 30_000, (tokens,), generator=torch.Generator().manual_seed(1)).to(device)


def ratio(plain: Callable[[], object], ours: Callable[[], object], rounds: int) -> tuple[float, float, float]:
    """Return the median times of two alternating functions, in seconds, and the median of ours / plain."""
    taken = []
    for _ in range(rounds + 1):
        marks = [time.perf_counter()]
        for run in (plain, ours):
            run()
            marks.append(time.perf_counter())
        taken.append((marks[1] - marks[0], marks[2] - marks[1]))
    one, other = (median(each) for each in zip(*taken[1:], strict=True))
    return one, other, median(ours / plain for plain, ours in taken[1:])


def compare(
    report: Report,
    name: str,
    model: PreTrainedModel,
    ids: Tensor,
    max_ratio: float,
    rounds: int,
    bundled_name: str | None = None,
) -> None:
    """Report the time of a trace relative to a plain forward pass, both including access to the weights.

    Args:
        name: the name of the row.
        max_ratio: the target: the largest ratio of the times.
        bundled_name: trace the bundled model of this name; None: trace the model object.
    """

    def plain() -> list[Any]:
        with torch.inference_mode():
            returned: Any = model(ids[None], output_attentions=True)
            return [layer[0].float().cpu().numpy() for layer in returned.attentions]

    def ours() -> list[Any]:
        return [block.weights for block in attnviz.trace(ids, bundled_name or model, store="weights").blocks]

    if not all(map(np.array_equal, plain(), ours())):
        raise SystemExit(f"{name}: the weights differ from the weights of eager attention.")
    seconds, traced, found = ratio(plain, ours, rounds)
    figure = f"{1e3 * traced:,.0f} / {1e3 * seconds:,.0f} ms: {found:.2f} ×"
    report.row(name, figure, f"≤ {max_ratio} ×", met=found <= max_ratio)


def compare_many(report: Report, model: PreTrainedModel, max_ratio: float, sentences: int) -> None:
    """Report the time of `trace_many` relative to plain padded batches of 32."""
    origin = catalogue.MINILM
    tokenizer = AutoTokenizer.from_pretrained(origin.folder, local_files_only=True)
    texts = list(islice(cycle(bundled().splitlines()), sentences))
    batches = [texts[at : at + 32] for at in range(0, sentences, 32)]

    def plain() -> None:
        with torch.inference_mode():
            for batch in batches:
                read = tokenizer(batch, padding=True, return_tensors="pt").to(model.device)
                returned: Any = model(**read, output_attentions=True)
                [layer.cpu().numpy() for layer in returned.attentions]

    def ours() -> None:
        for _ in attnviz.trace_many(texts, model, tokenizer=tokenizer):
            pass

    seconds, traced, found = ratio(plain, ours, 1)
    figure = f"{1e3 * traced:,.0f} / {1e3 * seconds:,.0f} ms: {found:.2f} ×"
    report.row(f"trace_many, {sentences:,} sentences", figure, f"≤ {max_ratio} ×", met=found <= max_ratio)


def stored_bytes(tokens: int) -> float:
    """Return bytes stored / bytes of the selected arrays, for a trace of two layers and three heads."""
    network = random_model(GPT2Config(**GPT2, n_layer=4))
    trace = attnviz.trace(random_ids(tokens), network, layers=[1, 2], heads=[0, 5, 7], store="weights")
    names = ("query", "key", "value", "weights", "mask")
    tensors = [vars(block)[name] for block in trace.blocks for name in names]
    storages = {each.untyped_storage().data_ptr(): each.untyped_storage().nbytes() for each in tensors}
    selected = {each.data_ptr(): each.nbytes for each in tensors}  # layers share a mask
    return float(sum(storages.values()) / sum(selected.values()))


def long_text(tokens: int, layers: Sequence[int], dtype: torch.dtype) -> tuple[float, float, float, bool]:
    """Return the seconds to trace and to compute results, the peak bytes, and whether the results agree."""
    torch.set_num_threads(2)
    network, ids = random_model(GPT2Config(**GPT2), "sdpa", dtype=dtype), random_ids(tokens)
    attnviz.trace(ids[:16], network)
    before = psutil.Process().memory_info().rss
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    begun = time.perf_counter()
    block = attnviz.trace(ids, network, layers=layers, store="vectors").block(layer=11)
    taken = time.perf_counter() - begun
    top, pooled = block.top(3, 8), block.pooled(3, 64)
    read = time.perf_counter() - begun - taken
    status = Path("/proc/self/status").read_text()
    peak = 1_024 * int(status.partition("VmHWM:")[2].split()[0]) - before
    agree = bool(np.isclose(top.weights[:, 0].max(), pooled.max()))
    return taken, read, peak, agree


def on_gpu(report: Report, rounds: int) -> None:
    """Report the measurements on a GPU, if there is one."""
    report.section("GPU: 8B-sized Llama, bfloat16")
    if not torch.cuda.is_available():
        report.row("not measured: there is no GPU", "")
        return
    bert = AutoModel.from_pretrained(catalogue.MINILM.folder, attn_implementation="eager").to("cuda")
    compare_many(report, bert, 2, 1_000)
    network = random_model(LlamaConfig(**LLAMA_8B), device="cuda", dtype=torch.bfloat16)
    for tokens in (128, 512, 1_024):
        compare(report, f"trace, {tokens:,} tokens", network, random_ids(tokens, "cuda"), 1.5, rounds)
    network.set_attn_implementation("sdpa")
    ids = random_ids(32_768, "cuda")
    peaks: list[int] = []

    def with_peak(run: Callable[[], object]) -> Callable[[], object]:
        def measure() -> None:
            torch.cuda.reset_peak_memory_stats()
            with torch.inference_mode():
                run()
            torch.cuda.synchronize()
            peaks.append(torch.cuda.max_memory_allocated())

        return measure

    found = ratio(
        with_peak(lambda: network(ids[None])),
        with_peak(lambda: attnviz.trace(ids, network, layers=20, heads=[1, 30]).block().top(1, 8)),
        2,
    )[2]
    report.row("32,768 tokens, one layer, two heads: time", f"{found:.2f} ×", "≤ 2 ×", met=found <= 2)
    memory = peaks[-1] / peaks[-2]
    report.row("32,768 tokens, one layer, two heads: peak", f"{memory:.2f} ×", "≤ 1.2 ×", met=memory <= 1.2)


def main(rounds: int, smoke: bool) -> list[str]:
    """Print the table; return the names of rows that missed their targets."""
    torch.set_num_threads(2)
    size = 16 if smoke else 1
    report = Report("Traces compared with plain transformers")
    report.section("CPU, float32")
    bert = AutoModel.from_pretrained(catalogue.MINILM.folder, attn_implementation="eager")
    compare(report, "bundled BERT, 128 tokens", bert, random_ids(128 // size), 1.1, 5 * rounds, "minilm")
    gpt2 = random_model(GPT2Config(**GPT2))
    compare(report, "GPT-2-sized, 1,024 tokens", gpt2, random_ids(1_024 // size), 1.1, rounds)
    llama = random_model(LlamaConfig(**LLAMA, num_hidden_layers=4))
    compare(report, "Llama, d_model 2,048, 4 layers, 128 tokens", llama, random_ids(128 // size), 1.3, rounds)
    compare_many(report, bert, 1.3, 320 // size)
    copied = stored_bytes(512 // size)
    report.row(
        "stored bytes, relative to the selected arrays", f"{copied:.2f} ×", "≤ 1.1 ×", met=copied <= 1.1
    )
    del gpt2, llama
    tokens = 8_192 // size
    report.section(f'{tokens:,} tokens, GPT-2-sized, store="vectors": peak memory above the model')
    for name, layers, dtype in (
        ("layer 12 of 12, float32", [11], torch.float32),
        ("all layers, float32", range(12), torch.float32),
        ("all layers, bfloat16", range(12), torch.bfloat16),
    ):
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            taken, read, peak, agree = process.submit(long_text, tokens, layers, dtype).result()
        report.row(name, f"{peak / 1e9:.2f} GB", "≤ 1 GB", met=peak <= 1e9 and agree)
        report.row("  trace; top 8 and an overview of one head", f"{taken:.1f} s; {read:.1f} s")
    vectors = 12 * 3 * 768 * 4 * tokens
    report.row("  the vectors of all layers, float32", f"{vectors / 1e9:.2f} GB")
    on_gpu(report, rounds)
    report.end()
    return report.missed


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("rounds", type=int, nargs="?", default=7)
    options = arguments.parse_args()
    missed = main(1 if options.smoke else options.rounds, options.smoke)
    sys.exit(bool(missed) and not options.smoke)
