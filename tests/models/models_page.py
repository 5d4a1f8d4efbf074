"""docs/models.md, made from what the tiny models really do: `python -m tests.models.models_page`."""

import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import attnviz
from attnviz.capture import custom_attention, loading
from attnviz.capture.inspection import TOLERANCE
from attnviz.capture.network import quiet
from attnviz.errors import ModelNotSupported
from attnviz.models import resolve
from attnviz.models.families import OF_ANY_SIZE
from attnviz.text import joined
from attnviz.trace import Block, Floats, Kind, Mask, Trace
from tests.capture import tiny_readers
from tests.capture.reference import (
    ENCODER_DECODERS,
    TARGET,
    cached_trace,
    picture,
    reference_model,
    reference_processor,
    reference_tokenizer,
    reference_weights,
)
from tests.capture.tiny import (
    ALIKE,
    FAMILIES,
    HYBRID,
    REFUSED,
    SENTENCE,
    VISION_FAMILIES,
    WEIGHTS_ALONE,
    tiny,
)

FILE = Path(__file__).parents[2] / "docs" / "models.md"


# ---- the table in the documentation


NAMES = {
    "bert": "BERT",
    "roberta": "RoBERTa",
    "distilbert": "DistilBERT",
    "albert": "ALBERT",
    "electra": "ELECTRA",
    "modernbert": "ModernBERT",
    "gpt2": "GPT-2",
    "gpt_neox": "GPT-NeoX, Pythia",
    "opt": "OPT",
    "llama": "Llama",
    "mistral": "Mistral",
    "qwen2": "Qwen 2",
    "qwen3": "Qwen 3",
    "gemma": "Gemma",
    "gemma2": "Gemma 2",
    "gpt_oss": "GPT-OSS",
    "phi": "Phi",
    "phi3": "Phi 3, Phi 4",
    "bart": "BART",
    "marian": "Marian",
    "t5": "T5",
    "vit": "ViT",
    "dinov2": "DINOv2",
    "dinov2_with_registers": "DINOv2 with registers",
    "clip": "CLIP",
    "siglip": "SigLIP, SigLIP 2 of fixed size",
    "clip_text_model": "CLIP’s half for texts",
    "siglip_text_model": "SigLIP’s half for texts",
    "deberta": "DeBERTa",
    "deberta-v2": "DeBERTa 2 and 3",
    "mpnet": "MPNet",
    "bloom": "BLOOM",
    "gptj": "GPT-J",
    "codegen": "CodeGen",
    "gpt_neo": "GPT-Neo",
    "roformer": "RoFormer",
    "mpt": "MPT",
    "falcon": "Falcon",
    "deepseek_v2": "DeepSeek V2",
    "deepseek_v3": "DeepSeek V3, R1",
    "qwen3_moe": "Qwen 3 MoE",
    "mixtral": "Mixtral",
    "olmo2": "OLMo 2",
    "olmo3": "OLMo 3",
    "gemma3_text": "Gemma 3 (text)",
    "gemma3n_text": "Gemma 3n (text)",
    "glm4": "GLM 4",
    "granite": "Granite 3",
    "cohere2": "Cohere 2 (Command R7B, Command A)",
    "smollm3": "SmolLM 3",
    "starcoder2": "StarCoder 2",
    "exaone4": "EXAONE 4",
    "modernbert-decoder": "ModernBERT as a decoder, Ettin",
    "falcon_h1": "Falcon-H1",
    "eurobert": "EuroBERT",
    "esm": "ESM 2",
    "mbart": "mBART",
    "m2m_100": "M2M100, NLLB",
    "pegasus": "Pegasus",
    "t5gemma": "T5Gemma",
    "qwen3_next": "Qwen 3 Next",
    "kimi_linear": "Kimi Linear",
    "minimax": "MiniMax",
    "lfm2": "LFM 2",
    "jamba": "Jamba",
    "bamba": "Bamba",
    "zamba2": "Zamba 2",
    "nemotron_h": "Nemotron-H",
    "granitemoehybrid": "Granite 4 hybrid",
    "recurrent_gemma": "RecurrentGemma",
    "trocr": "TrOCR",
    "donut": "Donut",
    "blip": "BLIP, captions",
    "vit-gpt2": "ViT and GPT-2",
}


def hybrid(folder: Path) -> str:
    """A hybrid family's row, measured."""
    traces = cached_trace(folder), in_memory(folder)
    cells = (
        NAMES[folder.name],
        f"`{folder.name}`",
        *(equal(found, reference_weights(folder)) for found in traces),
        joined(list(dict.fromkeys(traces[0].without_weights.values()))),
        "; ".join(notes(traces[0].blocks, own=False)) or "–",
    )
    return f"| {' | '.join(cells)} |"


def backwards(tokens: int) -> Mask:
    """[query, key], True where a token attends to itself or at what was before it."""
    return np.tril(np.ones((tokens, tokens), dtype=np.bool_))


def told(folder: Path) -> str:
    """A family's row of the table, measured."""
    trace = cached_trace(folder)
    sink = any(block.sinks is not None for block in trace.blocks)
    opened = [trace, in_memory(folder), weights_alone(folder, sink)]
    cells = (
        NAMES[folder.name],
        f"`{folder.name}`",
        ", ".join(dict.fromkeys(block.kind for block in trace.blocks)),
        *(equal(found, reference_weights(folder)) for found in opened),
        "; ".join([*of_pictures(folder), *notes(trace.blocks, custom_attention.has(folder.name))]) or "–",
    )
    return f"| {' | '.join(cells)} |"


def in_memory(folder: Path) -> Trace:
    """What attnviz shows of a model object."""
    if folder.name in VISION_FAMILIES:
        return attnviz.look(picture(), reference_model(folder), processor=reference_processor(folder))
    target = TARGET if folder.name in ENCODER_DECODERS else None
    return attnviz.trace(
        SENTENCE, reference_model(folder), target=target, tokenizer=reference_tokenizer(folder)
    )


def weights_alone(folder: Path, sink: bool) -> Trace:
    """What attnviz shows of the weights that transformers returns."""
    main, decoder, cross = (*reference_weights(folder).values(), [], [])[:3]
    lengths = main[0].shape[-1], cross[0].shape[-2] if cross else 0
    words, target = (tuple(map(str, range(length))) for length in lengths)
    return Trace.from_weights(main, words, decoder=decoder, cross=cross, target_tokens=target, sink=sink)


def equal(found: Trace, expected: Mapping[Kind, Sequence[Floats]]) -> str:
    """How far it is from transformers' own weights."""
    off = max(
        apart(block.weights, weights)
        for kind, layers in expected.items()
        for block, weights in zip(found.of_kind(kind), layers, strict=True)
    )
    return distance(off)


def distance(off: float) -> str:
    """A difference of weights in words."""
    return "to the bit" if off == 0 else f"up to {off:.0e}"


def apart(found: Floats, expected: Floats) -> float:
    """The largest difference; where transformers returns blocks, with padding, to the weight that is next."""
    if found.shape == expected.shape:
        return float(np.abs(found - expected).max())
    return float(np.abs(found.reshape(-1, 1) - expected.ravel()).min(axis=1).max())


def attends_to_near_tokens_only(block: Block) -> bool:
    """Whether the mask also forbids what an encoder or a decoder would see."""
    usual = backwards(len(block.query_tokens)) if block.kind == "decoder" else np.ones_like(block.mask)
    return not bool(block.mask[usual].all())


def of_pictures(folder: Path) -> Iterator[str]:
    """What is to be known of a family that sees pictures."""
    entry = resolve.entry(str(folder))
    if entry.sees:
        yield f"beside the patches {joined(entry.beside) or 'no token'}"
    if entry.family in OF_ANY_SIZE:
        yield "the vectors of places are interpolated to the picture’s size"
    if entry.family == "siglip_vision_model":
        yield "its pooling head, behind the last layer, is not shown"


def notes(blocks: tuple[Block, ...], own: bool) -> Iterator[str]:
    """What is seen in a family's blocks besides plain attention; `own`: computed in a way of its own."""
    if any(block.bias is not None for block in blocks):
        yield "the bias is part of the scores, and a picture of its own"
    near = sum(attends_to_near_tokens_only(block) for block in blocks)
    if near:
        yield f"{'every layer attends' if near == len(blocks) else 'some layers attend'} to near tokens only"
    if any(len(np.unique(block.key, axis=0)) < len(block.key) for block in blocks):
        yield "several heads share a key and a value"
    if any(block.cap is not None for block in blocks):
        yield "scores are capped softly, as a stage of its own"
    if any(block.sinks is not None for block in blocks):
        yield "each head has a sink, which is no token, as a stage of its own"
    if any(block.scale == 1 for block in blocks):
        yield "q·k is taken as it is, without a scale"
    if own:
        yield "an attention of its own: the weights are those it returns, the steps are read beside them"


def reader(folder: Path) -> str:
    """A row of a family with cross-attention to a picture."""
    network, processor = tiny_readers.built(folder.name)
    called: list[dict[str, Any]] = []
    hook = network.register_forward_pre_hook(lambda _, __, named: called.append(named), with_kwargs=True)
    text = "what is in this picture ?"
    own = attnviz.trace(text, network, images=[picture()], processor=processor)
    hook.remove()
    expected = tiny_readers.eager_weights_by_kind(network, called[-1])
    cells = [
        NAMES[folder.name],
        f"`{folder.name}`",
        ", ".join(dict.fromkeys(block.kind for block in own.blocks)),
        *(
            distance(max(apart(b.weights, expected[b.kind][b.layer][0].numpy()) for b in trace.blocks))
            for trace in (attnviz.trace(text, folder, images=[picture()]), own)
        ),
        " ".join(own.notes) or "–",
    ]
    return f"| {' | '.join(cells)} |"


def alone(folder: Path) -> str:
    """A row of a family whose weights are shown alone."""
    with warnings.catch_warnings(action="ignore"):
        opened = [
            equal(found, reference_weights(folder)) for found in (cached_trace(folder), in_memory(folder))
        ]
    return f"| `{folder.name}` | {' | '.join(opened)} | {loading.load(str(folder)).weights_alone} |"


def refused(folder: Path) -> str:
    """A refused family's row, with the very sentence that a visitor reads."""
    try:
        resolve.entry(str(folder))
    except ModelNotSupported as error:
        return f"| `{folder.name}` | {error} |"
    raise AssertionError(folder.name)


PAGE = """# Models

<!-- Made by `python -m tests.models.models_page`; a test compares it. -->

attnviz shows any model that transformers can run and whose attention it can show *exactly*. Each family below
was built small with random weights, saved, and read back from its folder. Its weights were then compared with
those that transformers returns for the same text or picture with `attn_implementation="eager"`; so
were those of the model as an object in memory, and of a trace of the returned weights alone. In each family,
softmax(q·k·scale + bias), with the scores capped where the family caps them, and with the head's sink as one
score more where it has one, gives the weights again over the cells that the mask leaves open, up to rounding
(10⁻⁶).

Other families that are built in the same way work as well. Every model is checked like this when it is
loaded. If a weight is off by more than {tolerance:g}, only the weights that transformers returns are shown.

| family | `model_type` | attention | folder | object | weights alone | besides |
|---|---|---|---|---|---|---|
{shown}

The encoder of an encoder–decoder is shown alone, as `T5EncoderModel` has it, or as `model.get_encoder()`
returns it. Of `BartForSequenceClassification` and the like, the model without its head is shown;
an object's decoder reads the text again, one token later, a folder's the target that it is given.

A whole CLIP or SigLIP, from a folder or the hub, opens with its half that sees pictures (alone:
`clip_vision_model`, `siglip_vision_model`). Its half that reads texts opens from a folder of its own, which
`CLIPTextModel.from_pretrained(…).save_pretrained(…)` or `SiglipTextModel` writes, with its tokenizer. Of an
object, the tokenizer or the image processor that is given with it says which half is shown.

## Hybrid models

Of these, some layers have attention weights. They are shown under their own numbers; the others are named, in
`trace.without_weights` and in the app.

| family | `model_type` | folder | object | the other layers | besides |
|---|---|---|---|---|---|
{hybrid}

In other families with such layers it works in the same way, if their config has `layer_types`. Falcon-H1 has
both in every layer.

## Models that read pictures with a text

`attnviz.trace(text, model, images=[…])` shows these: LLaVA 1.5 (`llava`), LLaVA-OneVision
(`llava_onevision`), Qwen2-VL, Qwen2.5-VL and Qwen3-VL (`qwen2_vl`, `qwen2_5_vl`, `qwen3_vl`), PaliGemma
(`paligemma`), Gemma 3 (`gemma3`), Idefics 3 (`idefics3`), SmolVLM (`smolvlm`, which needs the package
num2words) and InternVL (`internvl`). The weights of their text decoders equal `eager`'s to the bit, from a
folder and of an object. Their vision encoders are blocks of the kind `vision`. Their attention cannot be
changed, and they take one text at a time.

These have an encoder that reads one picture, and a decoder with cross-attention to its patches. The text is
what the decoder reads: a transcript, the prompt of a task, the beginning of a caption. Without a text, the
model writes it.

| family | in the tests | attention | folder | object | besides |
|---|---|---|---|---|---|
{readers}

All but BLIP are `VisionEncoderDecoderModel`s. Others of this class work as well, with an encoder of the
families `vit`, `deit`, `swin` or `donut-swin`.

## Weights alone

Of these, and of other families that compute attention in a way of their own, the weights that transformers
returns are shown, and nothing that needs queries, keys, values, scores or masks:

| `model_type` | folder | object | what the visitor reads |
|---|---|---|---|
{alone}

Of the encoders of Longformer, LED and LongT5, cells outside of the pattern count as masked; `trace.notes`
says so, and what else is no token. Of Longformer and LED, those tokens attend to all that the class of the
model makes global: the first one of `LongformerForSequenceClassification`, none of a model from a folder.
BigBird computes the weights of all pairs of short texts, and its blocks of longer ones: those that
transformers returns, times the readings of its first block, which outside of training is its random one, too.

## Objects

A model in memory may be compiled, have adapters of peft, or be inside of a `DataParallel`, a pipeline of
transformers or a `SentenceTransformer`: it is found there, with its tokenizer, and `trace.notes` says
where.

## Quantized weights

What the model computes is recorded; the package that reads the weights must be installed. Weights of
attention are compared with those of `eager` by `tests/capture/test_quantized.py`, on a processor:

| package | numbers | folder | object |
|---|---|---|---|
| torchao | 8 bits | to the bit | to the bit |
| bitsandbytes | 8 bits | to the bit | to the bit |
| compressed-tensors | 8 and 4 bits, packed | to the bit | to the bit |
| gptqmodel | GPTQ's and AWQ's own | untested | untested |

Without the package, such a folder is refused with the package's name. gptqmodel needs a newer PyTorch than
that of the tests.

## Refused

What cannot be shown exactly is not shown. These are refused by their config, before any weight is read:

| `model_type` | what the visitor reads |
|---|---|
{refused}

Other families are refused with the same sentences where these hold; `attnviz/models/families.py` lists them.
Refused too are models that need Python code of their own, weights that are stored as pickles, and other
models in which pictures and texts meet inside of the layers.
"""


_GROUPS: dict[str, tuple[tuple[str, ...], Callable[[Path], str]]] = {
    "shown": ((*FAMILIES, *ALIKE), told),
    "hybrid": (HYBRID, hybrid),
    "readers": (tuple(tiny_readers.READERS), reader),
    "alone": (WEIGHTS_ALONE, alone),
    "refused": (REFUSED, refused),
}


def row(folder: Path) -> str:
    """A family's row of its table."""
    return next(make for families, make in _GROUPS.values() if folder.name in families)(folder)


def page(row_of: Callable[[str], str]) -> str:
    """The whole page, with these rows of families."""
    tables = {name: "\n".join(map(row_of, families)) for name, (families, _) in _GROUPS.items()}
    return PAGE.format(tolerance=TOLERANCE, **tables)


if __name__ == "__main__":
    with quiet(), tempfile.TemporaryDirectory() as root:
        FILE.write_text(page(lambda family: row(tiny(family, Path(root) / family))), "utf-8")
