"""Generate docs/models.md from measurements of the tiny models: `python -m tests.models.models_page`."""

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
from attnviz.models.families import ANY_SIZE
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
    "clip_text_model": "CLIP text encoder",
    "siglip_text_model": "SigLIP text encoder",
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


def hybrid_row(folder: Path) -> str:
    """Return the table row of a hybrid family, with measurements."""
    traces = cached_trace(folder), in_memory(folder)
    cells = (
        NAMES[folder.name],
        f"`{folder.name}`",
        *(measured_difference(found, reference_weights(folder)) for found in traces),
        joined(list(dict.fromkeys(traces[0].without_weights.values()))),
        "; ".join(notes(traces[0].blocks, custom=False)) or "–",
    )
    return f"| {' | '.join(cells)} |"


def causal_mask(tokens: int) -> Mask:
    """Return the causal mask as [query, key]."""
    return np.tril(np.ones((tokens, tokens), dtype=np.bool_))


def supported_row(folder: Path) -> str:
    """Return the table row of a supported family, with measurements."""
    trace = cached_trace(folder)
    sink = any(block.sinks is not None for block in trace.blocks)
    traces = [trace, in_memory(folder), weights_alone(folder, sink)]
    cells = (
        NAMES[folder.name],
        f"`{folder.name}`",
        ", ".join(dict.fromkeys(block.kind for block in trace.blocks)),
        *(measured_difference(found, reference_weights(folder)) for found in traces),
        "; ".join([*image_notes(folder), *notes(trace.blocks, custom_attention.has(folder.name))]) or "–",
    )
    return f"| {' | '.join(cells)} |"


def in_memory(folder: Path) -> Trace:
    """Return the trace of the model given as an object in memory."""
    if folder.name in VISION_FAMILIES:
        return attnviz.look(picture(), reference_model(folder), processor=reference_processor(folder))
    target = TARGET if folder.name in ENCODER_DECODERS else None
    return attnviz.trace(
        SENTENCE, reference_model(folder), target=target, tokenizer=reference_tokenizer(folder)
    )


def weights_alone(folder: Path, sink: bool) -> Trace:
    """Return a trace of the weights that transformers returns."""
    main, decoder, cross = (*reference_weights(folder).values(), [], [])[:3]
    lengths = main[0].shape[-1], cross[0].shape[-2] if cross else 0
    words, target = (tuple(map(str, range(length))) for length in lengths)
    return Trace.from_weights(main, words, decoder=decoder, cross=cross, target_tokens=target, sink=sink)


def measured_difference(found: Trace, expected: Mapping[Kind, Sequence[Floats]]) -> str:
    """Return the largest difference from transformers' weights, as text."""
    difference = max(
        largest_difference(block.weights, weights)
        for kind, layers in expected.items()
        for block, weights in zip(found.of_kind(kind), layers, strict=True)
    )
    return difference_text(difference)


def difference_text(difference: float) -> str:
    """Return a difference of weights as text."""
    return "bit-identical" if difference == 0 else f"up to {difference:.0e}"


def largest_difference(found: Floats, expected: Floats) -> float:
    """Return the largest difference; if the shapes differ, from the nearest expected weight."""
    if found.shape == expected.shape:
        return float(np.abs(found - expected).max())
    return float(np.abs(found.reshape(-1, 1) - expected.ravel()).min(axis=1).max())


def is_local(block: Block) -> bool:
    """Return whether the mask is stricter than the mask of a plain encoder or decoder."""
    usual = causal_mask(len(block.query_tokens)) if block.kind == "decoder" else np.ones_like(block.mask)
    return not bool(block.mask[usual].all())


def image_notes(folder: Path) -> Iterator[str]:
    """Yield the notes on a vision family."""
    entry = resolve.entry(str(folder))
    if entry.is_vision_model:
        yield f"besides patches: {joined(entry.special)}" if entry.special else "no tokens besides patches"
    if entry.family in ANY_SIZE:
        yield "position embeddings are interpolated to the image size"
    if entry.family == "siglip_vision_model":
        yield "the pooling head after the last layer is not shown"


def notes(blocks: tuple[Block, ...], custom: bool) -> Iterator[str]:
    """Yield the notes on a family's attention; `custom`: it is not computed by an `AttentionInterface`."""
    if any(block.bias is not None for block in blocks):
        yield "the bias is included in the scores and shown as a separate stage"
    num_local = sum(is_local(block) for block in blocks)
    if num_local:
        yield f"{'every layer' if num_local == len(blocks) else 'some layers'} with local attention"
    if any(len(np.unique(block.key, axis=0)) < len(block.key) for block in blocks):
        yield "several heads share keys and values"
    if any(block.cap is not None for block in blocks):
        yield "soft-capped scores, shown as a separate stage"
    if any(block.sinks is not None for block in blocks):
        yield "each head has a sink, which is not a token, shown as a separate stage"
    if any(block.scale == 1 for block in blocks):
        yield "q·k is not scaled"
    if custom:
        yield "custom attention: the model returns the weights; the other steps are recorded separately"


def reader_row(folder: Path) -> str:
    """Return the table row of a family with cross-attention to an image."""
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
            difference_text(
                max(largest_difference(b.weights, expected[b.kind][b.layer][0].numpy()) for b in trace.blocks)
            )
            for trace in (attnviz.trace(text, folder, images=[picture()]), own)
        ),
        " ".join(own.notes) or "–",
    ]
    return f"| {' | '.join(cells)} |"


def weights_alone_row(folder: Path) -> str:
    """Return the table row of a family for which only the weights are shown."""
    with warnings.catch_warnings(action="ignore"):
        opened = [
            measured_difference(found, reference_weights(folder))
            for found in (cached_trace(folder), in_memory(folder))
        ]
    return f"| `{folder.name}` | {' | '.join(opened)} | {loading.load(str(folder)).weights_alone} |"


def refused_row(folder: Path) -> str:
    """Return the table row of a refused family, with the error message that a visitor reads."""
    try:
        resolve.entry(str(folder))
    except ModelNotSupported as error:
        return f"| `{folder.name}` | {error} |"
    raise AssertionError(folder.name)


PAGE = """# Models

<!-- Generated by `python -m tests.models.models_page`; a test checks it. -->

attnviz supports every transformers model with attention that attnviz can show *exactly*. For the tables
below, a small model of each family was built with random parameters, saved, and loaded from its
folder. Its attention weights were compared with the weights that transformers returns for the same text or
image with `attn_implementation="eager"`. The other columns compare the model as an object in memory, and a
trace of the returned weights alone. In every family, softmax(q·k·scale + bias) over the unmasked cells
reproduces the weights up to rounding (10⁻⁶). Families with capped scores cap them before the softmax;
families with sinks add the sink of the head to each row as one more score.

Other families with the same architecture work as well. Every model is checked in the same way when it is
loaded. If a weight differs by more than {tolerance:g}, only the weights that transformers returns are
shown.

| family | `model_type` | attention | folder | object | weights alone | notes |
|---|---|---|---|---|---|---|
{shown}

The encoder of an encoder–decoder can also be traced alone, for example a `T5EncoderModel` or the result of
`model.get_encoder()`. Classifiers such as `BartForSequenceClassification` are traced without their
classification head. The input of their decoder is the text, shifted by one token, if the model is an
object, and the target if the model is loaded from a folder.

If a complete CLIP or SigLIP model is loaded from a folder or the hub, its vision encoder is shown (the
`model_type` of the encoder alone is `clip_vision_model` or `siglip_vision_model`). To trace the text
encoder, save it with its tokenizer in another folder, with
`CLIPTextModel.from_pretrained(…).save_pretrained(…)` or `SiglipTextModel`. If the model is an object, pass
a tokenizer to trace its text encoder, or an image processor to trace its vision encoder.

## Hybrid models

Only some layers of these models have attention weights. These layers keep their numbers;
`trace.without_weights` and the app list the other layers.

| family | `model_type` | folder | object | other layers | notes |
|---|---|---|---|---|---|
{hybrid}

Other families with such layers are supported in the same way if their config has `layer_types`. Every layer
of Falcon-H1 has both attention and a recurrent part.

## Vision-language models

`attnviz.trace(text, model, images=[…])` supports LLaVA 1.5 (`llava`), LLaVA-OneVision (`llava_onevision`),
Qwen2-VL, Qwen2.5-VL and Qwen3-VL (`qwen2_vl`, `qwen2_5_vl`, `qwen3_vl`), PaliGemma (`paligemma`), Gemma 3
(`gemma3`), Idefics 3 (`idefics3`), SmolVLM (`smolvlm`, which needs the package num2words) and InternVL
(`internvl`). The weights of their text decoders are bit-identical to `eager`, for folders and objects. The
attention of their vision encoders has the kind `vision`. It is not possible to edit the attention of these
models, or to pass several texts at once.

The following models have an encoder that reads one image, and a decoder with cross-attention to the image's
patches. The text is the decoder's input: a transcript, the prompt of a task, or the beginning of a caption.
If the text is empty, the model generates one.

| family | name in the tests | attention | folder | object | notes |
|---|---|---|---|---|---|
{readers}

All these models except BLIP are `VisionEncoderDecoderModel`s. Other models of this class are supported if
their encoder belongs to the family `vit`, `deit`, `swin` or `donut-swin`.

## Weights alone

For these families, and for other families with custom attention code, only the weights that transformers
returns are shown. Features that need queries, keys, values or scores are not available:

| `model_type` | folder | object | message |
|---|---|---|---|
{alone}

In the encoders of Longformer, LED and LongT5, cells outside the sparse pattern are shown as masked;
`trace.notes` states this, and mentions attention to anything that is not a token. In Longformer and LED,
the model class determines the global tokens: the first token in `LongformerForSequenceClassification`, none
in a model from a folder. BigBird computes all weights of short texts, but only some blocks of the
weights of long texts. Outside training, all its random blocks are the first block, so the weights of that
block are multiplied by the number of times that it is used.

## Objects

A model in memory can be compiled, have peft adapters, or be part of a `DataParallel`, a transformers
pipeline or a `SentenceTransformer`: attnviz finds the model and its tokenizer, and `trace.notes`
describes where it found them.

## Quantized weights

Quantized models are traced without converting their weights; the package that reads their weights must be
installed. `tests/capture/test_quantized.py` compares the attention weights with `eager`, on a CPU:

| package | number format | folder | object |
|---|---|---|---|
| torchao | 8 bits | bit-identical | bit-identical |
| bitsandbytes | 8 bits | bit-identical | bit-identical |
| compressed-tensors | 8 and 4 bits, packed | bit-identical | bit-identical |
| gptqmodel | GPTQ and AWQ | untested | untested |

If the package is missing, the error message names it. gptqmodel needs a newer PyTorch than
the tests use.

## Unsupported models

attnviz refuses models that it cannot show exactly. It recognizes these model types from the config, before
any weight is read:

| `model_type` | message |
|---|---|
{refused}

Other families are refused for the same reasons; `attnviz/models/families.py` lists them. attnviz also
refuses models that need their own Python code, weights stored as pickles, and other models that combine
images and texts inside their layers.
"""


_GROUPS: dict[str, tuple[tuple[str, ...], Callable[[Path], str]]] = {
    "shown": ((*FAMILIES, *ALIKE), supported_row),
    "hybrid": (HYBRID, hybrid_row),
    "readers": (tuple(tiny_readers.READERS), reader_row),
    "alone": (WEIGHTS_ALONE, weights_alone_row),
    "refused": (REFUSED, refused_row),
}


def row(folder: Path) -> str:
    """Return the table row of a family."""
    return next(make for families, make in _GROUPS.values() if folder.name in families)(folder)


def page(row_of: Callable[[str], str]) -> str:
    """Return the complete page, with the rows that `row_of` returns."""
    tables = {name: "\n".join(map(row_of, families)) for name, (families, _) in _GROUPS.items()}
    return PAGE.format(tolerance=TOLERANCE, **tables)


if __name__ == "__main__":
    with quiet(), tempfile.TemporaryDirectory() as root:
        FILE.write_text(page(lambda family: row(tiny(family, Path(root) / family))), "utf-8")
