"""Trace the caller's own model objects without modifying them."""

from __future__ import annotations

import copy
import inspect
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from transformers import BaseImageProcessor, Pipeline, PreTrainedConfig, PreTrainedModel, ProcessorMixin
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from attnviz.capture import custom_attention
from attnviz.capture.huggingface import HuggingFaceModel
from attnviz.capture.network import (
    expects,
    implementation,
    quiet,
    refuse_rounding,
    set_attention,
    translated_errors,
    vocabulary_rows,
)
from attnviz.capture.weights_alone import load_or_fall_back
from attnviz.errors import ModelNotSupported, quoted
from attnviz.models import config, families, folder, tokenizer
from attnviz.models.catalogue import Borrowed, Entry, Facts
from attnviz.models.limits import DType

if TYPE_CHECKING:
    from attnviz.capture.pictures import VisionModel  # it needs Pillow
    from attnviz.capture.vision_language import VisionLanguageModel

_numbers = count(1)

_ATOMS = (str, bytes, int, float, type(None), type, FunctionType, ModuleType, torch.dtype, torch.device)
"""Types of objects that contain no tensors, or that `deepcopy` does not copy."""

_MAX_COPIED = 2**20
"""The largest number of elements in a copied buffer. Larger buffers (quantized weights) are shared."""


def borrowed(model: object, wrapper: object = None) -> HuggingFaceModel | VisionModel | VisionLanguageModel:
    """Return a model with the weights of the caller's object, prepared for recording, in `eval` mode.

    It has a second tree of modules, which shares the weights' memory. The caller's object is not
    changed, so several threads may share it, and training can continue afterwards.

    Args:
        model: a transformers model, or an object that contains one: a pipeline, a compiled model, a model
            with peft adapters, a DataParallel, a SentenceTransformer. The model's own hooks also run.
        wrapper: the tokenizer of a text model, the image processor of a vision model (for CLIP and SigLIP, it
            selects the vision encoder), or the processor of a vision-language model. None: use the one in
            the pipeline or SentenceTransformer; if it has none, pass token ids instead of texts.

    Raises:
        TypeError: the model, tokenizer or processor is not a transformers object.
        ModelNotSupported: the model's attention cannot be recorded exactly, or it is on several devices.
    """
    original, path = _find_model(model)
    notes = [f"The traced model is part of {type(model).__name__}: {path}."] if original is not model else []
    if wrapper is None and original is not model:
        names = (
            ("tokenizer",) if original.main_input_name == "input_ids" else ("processor", "image_processor")
        )
        wrapper = next((value for name in names if (value := getattr(model, name, None)) is not None), None)
    found = _borrowed(original, wrapper)
    if isinstance(found, HuggingFaceModel):
        found.decoder_reads_text = _is_paired_classifier(original)
    found.notes = (*found.notes, *notes)
    return found


def _is_paired_classifier(network: PreTrainedModel) -> bool:
    """Return whether a model is an encoder–decoder in which both parts read the same text."""
    heads = ("ForSequenceClassification", "ForQuestionAnswering")
    return bool(network.config.is_encoder_decoder) and type(network).__name__.endswith(heads)


def _borrowed(
    original: PreTrainedModel, wrapper: object
) -> HuggingFaceModel | VisionModel | VisionLanguageModel:
    name = Path(original.name_or_path or "").name or type(original).__name__
    if original.config.model_type in families.WITH_IMAGES:
        return _with_images(original, name, wrapper)
    wrapper = getattr(wrapper, "image_processor", wrapper)  # a processor may also contain a tokenizer
    if _is_paired_classifier(original):
        # The base model; `decoder_reads_text` passes the text to the decoder, as the complete model does.
        original = cast("PreTrainedModel", original.base_model)
    if original.config.model_type in families.TWO_TOWERS:
        tower = "vision_model" if isinstance(wrapper, BaseImageProcessor) else "text_model"
        original = getattr(original, tower, original)
    _check(original, name)
    is_vision = original.config.model_type in families.VISION
    if is_vision and isinstance(wrapper, BaseImageProcessor):
        return _vision_model(original, name, wrapper)
    if is_vision or isinstance(wrapper, BaseImageProcessor):
        raise ModelNotSupported(
            f"{quoted(name)} reads images. Pass an image and the model’s image processor: attnviz.look("
            "picture, model, processor=AutoImageProcessor.from_pretrained(…))."
            if is_vision
            else f"{quoted(name)} reads texts, not images. Pass a text."
        )
    max_length = getattr(wrapper, "model_max_length", None)
    facts = config.facts_of(
        _actual_config(original, name), name, max_length, bounded=False
    )  # `Selection` limits memory
    if wrapper is None:
        text_tokenizer = tokenizer.id_tokenizer(vocabulary_rows(original), facts.token_limit)
    else:
        types = getattr(original.config, "type_vocab_size", None)
        text_tokenizer = tokenizer.borrowed(wrapper, facts.token_limit, types)
    pairs = facts.may_read_pairs and folder.reads_pairs(text_tokenizer)
    entry = replace(_entry(original, name, facts), pairs=pairs, expects=expects(original))
    return load_or_fall_back(
        entry, lambda alone: _prepared_copy(original, name, weights_alone=alone), text_tokenizer, original
    )


def _vision_model(original: PreTrainedModel, name: str, processor: BaseImageProcessor) -> VisionModel:
    """Return the result of `borrowed` for a vision model."""
    from attnviz.capture.pictures import VisionModel

    entry = _entry(original, name, config.facts_of(original.config, name, processor=processor.to_dict()))
    return VisionModel(entry, _prepared_copy(original, name, weights_alone=False), processor, original)


def _with_images(original: PreTrainedModel, name: str, processor: object) -> VisionLanguageModel:
    """Return the result of `borrowed` for a vision-language model."""
    from attnviz.capture.picture_readers import PictureReader
    from attnviz.capture.vision_language import VisionLanguageModel

    if not isinstance(processor, ProcessorMixin):
        parts = [path for path, _ in original.named_modules() if path.rpartition(".")[2] == "language_model"]
        alone = f" For text alone, pass model{_path(parts[0])}." if parts else ""
        raise ModelNotSupported(
            f"{quoted(name)} reads images together with a text. Pass both, and the model’s processor: "
            f"attnviz.trace(text, model, images=[…], processor=AutoProcessor.from_pretrained(…)).{alone}"
        )
    _check(original, name)
    multimodal: Any = processor
    max_length = getattr(multimodal.tokenizer, "model_max_length", None)
    entry = _entry(original, name, config.facts_of(original.config, name, max_length))
    text_tokenizer = tokenizer.borrowed(multimodal.tokenizer, entry.token_limit, None)
    network = _prepared_copy(original, name, weights_alone=False)
    if entry.family in families.READERS:
        return PictureReader(entry, network, multimodal.image_processor, text_tokenizer)
    return VisionLanguageModel(entry, network, processor, text_tokenizer)


def _entry(original: PreTrainedModel, name: str, facts: Facts) -> Entry:
    parameter_counts = Counter[str](
        {_dtype(original): sum(parameter.numel() for parameter in original.parameters())}
    )
    return folder.described(name, name, facts, parameter_counts, _dtype(original), Borrowed(next(_numbers)))


def _prepared_copy(original: PreTrainedModel, name: str, *, weights_alone: bool) -> PreTrainedModel:
    """Return a copy of the model, prepared for recording unless `weights_alone`.

    Raises the same errors as `open_network`.
    """
    if not weights_alone:
        families.refuse_local(original.config.model_type)
    network = _module_copy(original)
    network.config.is_encoder_decoder = _actual_config(original, name).is_encoder_decoder
    family = network.config.model_type
    own, attention = custom_attention.has(family), implementation(family, weights_alone=weights_alone)
    if own:  # the modules use this setting, which transformers' method does not change in some families
        network.config._attn_implementation = attention  # noqa: SLF001
    else:
        with quiet(), translated_errors(Path(name), name):
            set_attention(network, attention)
    if own and not weights_alone:
        custom_attention.install_recorders(network)
    return network


def _actual_config(network: PreTrainedModel, name: str) -> PreTrainedConfig:
    """Return a copy of the config, with is_encoder_decoder=False if the network is only an encoder.

    Raises:
        ModelNotSupported: the model is only the decoder of an encoder–decoder.
    """
    own = copy.copy(network.config)
    own.architectures = [type(network).__name__]
    parameters = inspect.signature(network.forward).parameters
    if config.paired_family(own) and "decoder_input_ids" not in parameters:
        is_decoder = "encoder_hidden_states" in parameters and not own.is_decoder  # BART's decoder alone
        if getattr(network, "is_decoder", is_decoder):
            raise ModelNotSupported(
                f"{quoted(name)} is the decoder of an encoder–decoder and needs the encoder’s output. "
                "Pass the complete model."
            )
        own.is_encoder_decoder = False
    return own


def _check(network: PreTrainedModel, name: str) -> None:
    """Raise if a model's config, input, devices, attention function or dtype is not supported."""
    family, parameters = network.config.model_type, inspect.signature(network.forward).parameters
    # Quantized models are supported here, because the caller has the libraries that they need.
    reason = families.refusal(family, {**vars(network.config), "quantization_config": None})
    reads_text = network.main_input_name == "input_ids" and "pixel_values" not in parameters
    if reason is None and not reads_text and family not in families.VISION | families.WITH_IMAGES:
        reason = (
            f"{quoted(name)} does not read text, and attnviz does not support the family {quoted(family)}. "
            f"Supported vision families: {', '.join(sorted(families.VISION))}."
        )
    devices = sorted({str(each.device) for each in chain(network.parameters(), network.buffers())})
    if reason is None and "meta" in devices:
        reason = (
            f"Some weights of {quoted(name)} are not in memory: they are offloaded, or on the meta device. "
            "Load the model again with from_pretrained(…), without device_map or offloading."
        )
    elif reason is None and len(devices) > 1:
        reason = (
            f"The weights of {quoted(name)} are on {' and '.join(devices)}. Load the model on one device: "
            f'from_pretrained(…, device_map={{"": "{devices[-1]}"}}).'
        )
    attention = network.config._attn_implementation  # noqa: SLF001 - it has no public name
    function = ALL_ATTENTION_FUNCTIONS.get(attention)
    module_name = getattr(function, "__module__", None) or type(function).__module__
    if function is not None and not module_name.startswith(("transformers.", "attnviz.")):
        reason = reason or (
            f"{quoted(name)} computes attention with a custom function, {quoted(attention)}, which "
            "attnviz cannot record. To trace transformers’ attention, call "
            'model.set_attn_implementation("eager").'
        )
    if reason is not None:
        raise ModelNotSupported(reason)
    refuse_rounding(family, name, _dtype(network))


def _path(name: str) -> str:
    """Convert the name of a submodule to Python code: "0.auto_model" → "[0].auto_model"."""
    return "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in name.split("."))


def _dtype(network: PreTrainedModel) -> DType:
    """Return the dtype in which a model runs."""
    return cast("DType", str(network.dtype).removeprefix("torch."))


def _find_model(container: object) -> tuple[PreTrainedModel, str]:
    """Return the transformers model inside an object, and the path to it."""
    model, path = (
        (container.model, "model.model") if isinstance(container, Pipeline) else (container, "model")
    )
    adapter = getattr(model, "active_peft_config", None)
    if getattr(adapter, "is_prompt_learning", False):
        raise ModelNotSupported(
            f"This adapter ({type(adapter).__name__}) prepends vectors that are not tokens. "
            "attnviz cannot trace models with such an adapter."
        )
    if isinstance(model, nn.Module) and not isinstance(model, PreTrainedModel):
        found = [each for each in model.named_modules() if isinstance(each[1], PreTrainedModel)]
        inside = {id(part) for _, first in found[:1] for part in first.modules()}
        if found and all(id(each) in inside for _, each in found):
            model, path = found[0][1], f"{path}{_path(found[0][0])}"
    if not isinstance(model, PreTrainedModel):
        raise TypeError(
            'The model must be a name, such as "minilm", a folder, a Hugging Face id, or a model object of '
            f"transformers, not {type(model).__name__}."
        )
    return model, path


def _module_copy(network: PreTrainedModel) -> PreTrainedModel:
    """Return a second tree of modules with the same weights and hooks, in `eval` mode."""
    try:
        own = copy.deepcopy(network, _memo(network))
    except (RuntimeError, TypeError, ValueError) as error:
        raise ModelNotSupported(f"attnviz cannot copy {type(network).__name__}: {error}") from error
    own.config.return_dict = True
    own.eval()  # type: ignore[no-untyped-call]  # untyped in transformers
    return own


def _memo(network: PreTrainedModel) -> dict[int, Any]:
    """Return a memo for `deepcopy` that keeps hooks and replaces each tensor object.

    Configs, including nested ones, are copied shallowly.

    A forward pass may set attributes of a parameter (bitsandbytes moves its 8-bit weights from the parameter
    to the layer), replace its data, or write into a buffer (counters, observers of value ranges). So no
    tensor object is shared, only the memory of parameters and large buffers.
    """
    memo: dict[int, Any] = {}
    with_attributes: list[Tensor] = []
    configs: list[PreTrainedConfig] = []
    parts: list[Any] = [network]
    seen: set[int] = set()
    while parts:
        part = parts.pop()
        if id(part) in seen or isinstance(part, _ATOMS):
            continue
        seen.add(id(part))
        if isinstance(part, PreTrainedConfig):
            memo[id(part)] = copy.copy(part)
            configs.append(memo[id(part)])
        if isinstance(part, Tensor) and not is_lazy(part):
            memo[id(part)] = _tensor_copy(part)
            if vars(part) and not _wraps_tensors(part):
                with_attributes.append(part)
        if isinstance(part, Mapping):
            parts += part.values()
        elif isinstance(part, list | tuple | set | frozenset):
            parts += part
        for name, value in getattr(part, "__dict__", {}).items():
            if isinstance(part, nn.Module) and name.endswith("_hooks"):
                hooks = value.values() if isinstance(value, Mapping) else value
                memo.update((id(hook), hook) for hook in hooks)
            else:
                parts.append(value)
    for own in configs:
        vars(own).update({name: memo[id(value)] for name, value in vars(own).items() if id(value) in memo})
    for tensor in with_attributes:
        vars(memo[id(tensor)]).update(copy.deepcopy(vars(tensor), memo))
    return memo


def _tensor_copy(tensor: Tensor) -> Tensor:
    """Return a new tensor object of the same class, which shares the memory; copy a small buffer."""
    if _wraps_tensors(tensor):
        detached = tensor.detach()
        return nn.Parameter(detached, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else detached
    with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001 - no public function keeps a subclass
        plain = tensor.detach()
        if not isinstance(tensor, nn.Parameter) and tensor.numel() <= _MAX_COPIED:
            plain = plain.clone()
        return torch.Tensor._make_subclass(type(tensor), plain, tensor.requires_grad)  # noqa: SLF001


def _wraps_tensors(tensor: Tensor) -> bool:
    """Return whether a tensor wraps other tensors, as in torchao's quantized models."""
    return bool(is_traceable_wrapper_subclass(tensor))
