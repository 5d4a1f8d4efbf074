"""Compare the numbers of attnviz and other tools; `docs/coming_from.md` has the results.

Each row has a call of another tool and the largest absolute difference from attnviz's numbers. BertViz and
CircuitsVis draw the bundled BERT; the other tools run a small GPT-2 with random weights. No tool uses the
network.

Run: python -m benchmarks.other_tools [--smoke]
"""

from __future__ import annotations

import importlib
import json
import os
import re
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import attnviz
from attnviz import experiments
from attnviz.models.catalogue import MINILM
from benchmarks.notebook_size import notebook
from benchmarks.report import parser
from tests.capture.tiny import SENTENCE, tiny

TEXT = "The dog did not cross the road as it was too tired."
PLACE = 5  # the explained token, from 0

Row = tuple[str, float]  # the other tool's call, and the largest difference


def max_difference(theirs: Any, ours: Any) -> float:
    """Return the largest absolute difference."""
    found = np.asarray(theirs, dtype=float)
    if found.shape != ours.shape:
        raise ValueError(f"{found.shape} cannot be compared with {ours.shape}.")
    return float(abs(found - ours).max())


def array_in(page: str, name: str) -> Any:
    """Return the array with this name in a page's JSON; BertViz writes it twice."""
    numbers, *_ = re.findall(rf'"{name}": ([\[\]\d., e-]+\])', page)
    return json.loads(numbers)


def bertviz(_: Path) -> Iterator[Row]:
    """Compare the numbers in BertViz's pages, and the results of its own copy of BERT."""
    import torch
    from safetensors.torch import load_file

    with notebook():
        pages = importlib.import_module("bertviz")
        neurons = importlib.import_module("bertviz.neuron_view")
        models = importlib.import_module("bertviz.transformers_neuron_view")
    trace = attnviz.trace(TEXT)
    tokens = [token.text for token in trace.tokens]
    layers = [torch.from_numpy(layer.copy())[None] for layer in trace.stack()]
    for name in ("head_view", "model_view"):
        page = getattr(pages, name)(layers, tokens, html_action="return").data
        yield name, max_difference(array_in(page, "attn"), trace.stack())
    config = models.BertConfig.from_json_file(str(MINILM.folder / "config.json"))
    config.output_attentions = True
    model = models.BertModel(config)
    weights = load_file(MINILM.folder / "model.safetensors")
    model.load_state_dict({name: weights[name] for name in model.state_dict()})
    tokenizer = models.BertTokenizer(str(MINILM.folder / "vocab.txt"))
    found = neurons.get_attention(model, "bert", tokenizer, TEXT, include_queries_and_keys=True)["all"]
    blocks = trace.of_kind("encoder")
    yield (
        "neuron_view.show",
        max(
            max_difference(found["attn"], trace.stack()),
            max_difference(found["queries"], np.stack([block.query for block in blocks])),
            max_difference(found["keys"], np.stack([block.key for block in blocks])),
        ),
    )


def circuitsvis(_: Path) -> Iterator[Row]:
    """Compare the numbers in CircuitsVis's pages."""
    attention = importlib.import_module("circuitsvis.attention")
    trace = attnviz.trace(TEXT)
    tokens = [token.text for token in trace.tokens]
    for name, pattern in (
        ("attention_patterns", trace.stack()[3]),
        ("attention_pattern", trace.stack()[3, 1]),
        ("attention_heads", trace.stack()[3]),
    ):
        given = {"tokens": tokens, "attention": pattern}
        page = str(getattr(attention, name)(**given).cdn_src)
        yield name, max_difference(array_in(page, "attention"), pattern)


def transformer_lens(folder: Path) -> Iterator[Row]:
    """Compare TransformerLens's activations, with and without an ablated head, and its patching."""
    lens, patching = (importlib.import_module(f"transformer_lens{part}") for part in ("", ".patching"))
    model, tokenizer = load(folder)
    boot = lens.TransformerBridge.boot_transformers
    bridge = boot(str(folder), hf_model=model, tokenizer=tokenizer, device="cpu")
    tokens = tokenizer(SENTENCE, return_tensors="pt").input_ids
    trace = attnviz.trace(SENTENCE, str(folder))
    _, cache = bridge.run_with_cache(tokens)
    for name, field in (("pattern", "weights"), ("attn_scores", "scores"), ("q", "query"), ("z", "output")):
        found = []
        for block in trace.of_kind("decoder"):
            theirs, ours = cache[name, block.layer][0].detach().numpy(), getattr(block, field)
            theirs = theirs.swapaxes(0, 1) if name in "qz" else theirs
            allowed = block.mask if name == "attn_scores" else np.True_  # "attn_scores" are masked
            found.append(max_difference(np.where(allowed, theirs, 0), np.where(allowed, ours, 0)))
        yield f'cache["{name}", 3]', max(found)

    def ablate(output: Any, /, **_: Any) -> Any:
        output[:, :, 1] = 0
        return output

    patterns = []
    bridge.run_with_hooks(
        tokens,
        fwd_hooks=[
            ("blocks.0.attn.hook_z", ablate),
            ("blocks.1.attn.hook_pattern", lambda pattern, **_: patterns.append(pattern[0].detach())),
        ],
    )
    ablated = attnviz.trace(SENTENCE, str(folder), edits=["decoder 1-2"])
    yield "run_with_hooks", max_difference(patterns[0], ablated.block(layer=1).weights)

    other = SENTENCE.replace("dog", "cat")
    carried = attnviz.patching(SENTENCE, other, str(folder), place=PLACE)
    up, down = (token.id for token in carried.expected or ())

    def metric(logits: Any) -> Any:
        return logits[0, PLACE, up] - logits[0, PLACE, down]

    corrupted = tokenizer(other, return_tensors="pt").input_ids
    patched = patching.get_act_patch_attn_head_out_all_pos(bridge, corrupted, cache, metric)
    theirs = (patched - metric(bridge(corrupted))).detach().numpy().ravel()
    yield "get_act_patch_attn_head_out_all_pos", max_difference(theirs / carried.difference, carried.shares)


def captum(folder: Path) -> Iterator[Row]:
    """Compare Captum's methods on the same outcomes: a log-probability, or the cosine change of an output."""
    import torch

    attr = importlib.import_module("captum.attr")
    model, tokenizer = load(folder)
    ids = tokenizer(SENTENCE, return_tensors="pt").input_ids
    vectors = model.get_input_embeddings().weight.detach()
    words = vectors[ids].requires_grad_()

    def expected(words: Any) -> Any:
        return model(inputs_embeds=words).logits[:, PLACE].log_softmax(-1)[:, ids[0, PLACE + 1]]

    result = experiments.gradients(SENTENCE, str(folder), PLACE)
    found = attr.Saliency(expected).attribute(words, abs=False)[0].norm(dim=1)
    yield "Saliency", max_difference(found, result.input_gradient)
    found = attr.InputXGradient(expected).attribute(words)[0].sum(dim=1).abs().detach()
    yield "InputXGradient", max_difference(found, result.input_x_gradient)

    with torch.no_grad():
        before = model.transformer(inputs_embeds=words).last_hidden_state[0]

        def similarity(place: int) -> Callable[[Any], Any]:
            return lambda words: torch.cosine_similarity(
                model.transformer(inputs_embeds=words).last_hidden_state[:, place], before[place][None]
            )

        feature_mask = torch.arange(len(before))[None, :, None].expand_as(words)
        found = attr.FeatureAblation(similarity(PLACE)).attribute(
            words, baselines=vectors.mean(dim=0).expand_as(words), feature_mask=feature_mask
        )
        yield (
            "FeatureAblation",
            max_difference(found[0, :, 0], experiments.occlusion(SENTENCE, str(folder), PLACE).cosine_change),
        )
        heads, size = model.config.n_head, model.config.n_embd // model.config.n_head
        layer_mask = (torch.arange(heads * size) // size).expand(1, len(before), -1)
        changes = [
            [
                attr.LayerFeatureAblation(similarity(place), block.attn.c_proj).attribute(
                    words, layer_mask=layer_mask, attribute_to_layer_input=True
                )[0, 0, ::size]
                for place in range(len(before))
            ]
            for block in model.transformer.h
        ]
    theirs = np.array(changes).swapaxes(1, 2).reshape(-1, len(before))
    yield (
        "LayerFeatureAblation",
        max_difference(theirs, experiments.ablate(SENTENCE, str(folder)).distances.cosine_change),
    )


def inseq(folder: Path) -> Iterator[Row]:
    """Compare Inseq's attention weights of a generated text, one row for each new token."""
    model, tokenizer = load(folder)
    model.config.bos_token_id, tokenizer.bos_token = tokenizer.eos_token_id, tokenizer.eos_token
    inseq_model = importlib.import_module("inseq").load_model(model, "attention", tokenizer=tokenizer)
    options = {"generation_args": {"max_new_tokens": 5}, "show_progress": False}
    [found] = inseq_model.attribute(SENTENCE, **options).sequence_attributions
    read = [token.id for token in found.target]
    weights = attnviz.trace(read, str(folder)).stack()
    first = len(read) - found.target_attributions.shape[1] - 1  # the row that predicts the first new token
    pairs = []
    for step, row in enumerate(range(first, len(read) - 1)):
        theirs = found.target_attributions[: row + 1, step].permute(1, 2, 0)  # from [key, layer, head]
        pairs.append(max_difference(theirs, weights[:, :, row, : row + 1]))
    yield "attribute", max(pairs)


def load(folder: Path) -> tuple[Any, Any]:
    """Load the model and its tokenizer with transformers."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
    return model, AutoTokenizer.from_pretrained(folder)


def formatted(difference: float) -> str:
    """Format a difference with one digit, as in the documentation: 2e-7."""
    return f"{difference:.0e}".replace("e-0", "e-") if difference else "0"


TOOLS = (bertviz, circuitsvis, transformer_lens, captum, inseq)


def main() -> None:
    """Print a row for each call."""
    parser(__doc__).parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    with TemporaryDirectory() as made:
        folder = tiny("gpt2", Path(made))
        for tool in TOOLS:
            if not find_spec(tool.__name__):
                print(f"{tool.__name__} is not installed; see requirements-benchmarks.txt")
                continue
            for call, difference in tool(folder):
                print(f"{tool.__name__:18} {call:38} {formatted(difference)}", flush=True)


if __name__ == "__main__":
    main()
