"""Traces of a model object of the caller's program, which is not modified."""

from __future__ import annotations

import copy
import inspect
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from transformers import (
    BaseImageProcessor,
    Pipeline,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    ProcessorMixin,
)
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from attnviz.capture import custom_attention
from attnviz.capture.huggingface import HuggingFaceModel
from attnviz.capture.network import (
    compute_with,
    expects,
    implementation,
    in_our_words,
    quiet,
    refuse_rounding,
    refuse_unreadable,
    vocabulary_rows,
)
from attnviz.capture.weights_alone import opened
from attnviz.errors import AttnvizError, ModelNotSupported, quoted
from attnviz.models import config, families, folder, tokenizer
from attnviz.models.catalogue import Borrowed, Entry
from attnviz.models.config import Facts
from attnviz.models.limits import DType

if TYPE_CHECKING:
    from attnviz.capture.pictures import SeeingModel  # it needs Pillow
    from attnviz.capture.vision_language import VisionLanguageModel

_numbers = count(1)

_READS = {"pixel_values": "sees pictures", "input_values": "hears sounds", "input_features": "hears sounds"}
_TOKENIZER = (PreTrainedTokenizerBase,)
_PROCESSORS = (ProcessorMixin, BaseImageProcessor)
_PROPERTIES = ("auto_model", "model", "tokenizer")
"""What other libraries document, whatever they call it inside."""
_MAX_DEPTH = 3  # of a model inside of other objects

_ATOMS = (str, bytes, int, float, type(None), type, FunctionType, ModuleType, torch.dtype, torch.device)
"""What holds no tensor of a model, or is not copied by `deepcopy`."""

_MAX_COPIED = 2**20
"""The most numbers of a buffer that is copied. Larger ones are weights of quantized layers."""


def borrowed(model: object, wrapper: object = None) -> HuggingFaceModel | SeeingModel | VisionLanguageModel:
    """A model object of the caller, ready to be recorded, in `eval` mode.

    What runs is a second tree of the same modules over the same memory: nothing is set, hooked or put back on
    the object, so several threads may lend one, and train it on afterwards.

    Args:
        model: of transformers, perhaps compiled, with adapters of peft, in a DataParallel, a pipeline or a
            SentenceTransformer, of which the tokenizer is used if none is given. Its own hooks run along.
        wrapper: transformers' tokenizer; None: the model is given tokens. For a model that sees pictures, its
            image processor. Of CLIP and SigLIP, it decides which half is shown. For a model that reads
            pictures together with a text, its processor.

    Raises:
        TypeError: it is no model, or no tokenizer or processor, of transformers.
        ModelNotSupported: its attention cannot be shown exactly, or it is not on one device.
    """
    theirs, path = _inner(model)
    notes = [f"What was traced is inside of {type(model).__name__}: {path}."] if theirs is not model else []
    if wrapper is None and _holds_one(model):
        wanted = _TOKENIZER if theirs.main_input_name == "input_ids" else _PROCESSORS
        place, wrapper = next(_held(model, wanted), ("", None))
        notes.append(f"It reads with model{place}.")
    found = _borrowed(theirs, wrapper)
    found.notes = (*found.notes, *notes)
    return found


def _borrowed(
    theirs: PreTrainedModel, wrapper: object
) -> HuggingFaceModel | SeeingModel | VisionLanguageModel:
    name = Path(theirs.name_or_path or "").name or type(theirs).__name__
    if theirs.config.model_type in families.WITH_IMAGES:
        return _with_images(theirs, name, wrapper)
    wrapper = getattr(wrapper, "image_processor", wrapper)  # inside of what also has a tokenizer
    if theirs.config.model_type in families.TWO_TOWERS:
        half = "vision_model" if isinstance(wrapper, BaseImageProcessor) else "text_model"
        theirs = getattr(theirs, half, theirs)
    _check(theirs, name, pictures=isinstance(wrapper, BaseImageProcessor))
    sees = theirs.config.model_type in families.SEES
    if sees and isinstance(wrapper, BaseImageProcessor):
        return _seeing(theirs, name, wrapper)
    if sees or isinstance(wrapper, BaseImageProcessor):
        raise ModelNotSupported(
            f"{quoted(name)} sees pictures. Give it one, and its image processor: attnviz.look(picture, "
            "model, processor=AutoImageProcessor.from_pretrained(…))."
            if sees
            else f"{quoted(name)} reads texts and sees no pictures. Give it a text."
        )
    longest = getattr(wrapper, "model_max_length", None)
    facts = config.facts_of(_as_built(theirs, name), name, longest, bounded=False)  # see `Selection`
    if wrapper is None:
        reads = tokenizer.numbers(vocabulary_rows(theirs), facts.token_limit)
    else:
        types = getattr(theirs.config, "type_vocab_size", None)
        reads = tokenizer.borrowed(wrapper, facts.token_limit, types)
    pairs = facts.joins and folder.joins(reads)
    entry = replace(_entry(theirs, name, facts), pairs=pairs, expects=expects(theirs))
    return opened(entry, lambda alone: _ready(theirs, name, weights_alone=alone), reads, theirs)


def _seeing(theirs: PreTrainedModel, name: str, processor: BaseImageProcessor) -> SeeingModel:
    """As `borrowed`, of a model that sees pictures."""
    from attnviz.capture.pictures import SeeingModel

    entry = _entry(theirs, name, config.facts_of(theirs.config, name, processor=processor.to_dict()))
    return SeeingModel(entry, _ready(theirs, name, weights_alone=False), processor, theirs)


def _with_images(theirs: PreTrainedModel, name: str, processor: object) -> VisionLanguageModel:
    """As `borrowed`, of a model that reads pictures together with a text."""
    from attnviz.capture.picture_readers import PictureReader
    from attnviz.capture.vision_language import VisionLanguageModel

    if not isinstance(processor, ProcessorMixin):
        reader = theirs.config.model_type in families.READERS  # whose decoder needs its encoder
        part = _part(theirs, pictures=reader or isinstance(processor, BaseImageProcessor))
        alone = f" Or read one of the two alone. Give a part of it: {part}." if part else ""
        raise ModelNotSupported(
            f"{quoted(name)} reads pictures together with a text. Give it both, and its processor: "
            f"attnviz.trace(text, model, images=[…], processor=AutoProcessor.from_pretrained(…)).{alone}"
        )
    _check(theirs, name, pictures=True)
    of_text: Any = processor
    longest = getattr(of_text.tokenizer, "model_max_length", None)
    entry = _entry(theirs, name, config.facts_of(theirs.config, name, longest))
    reads = tokenizer.borrowed(of_text.tokenizer, entry.token_limit, None)
    network = _ready(theirs, name, weights_alone=False)
    if entry.family in families.READERS:
        return PictureReader(entry, network, of_text.image_processor, reads)
    return VisionLanguageModel(entry, network, processor, reads)


def _entry(theirs: PreTrainedModel, name: str, facts: Facts) -> Entry:
    learned = Counter[str]({_dtype(theirs): sum(parameter.numel() for parameter in theirs.parameters())})
    origin = Borrowed(next(_numbers), _own_attention(theirs))
    return folder.described(name, name, facts, learned, _dtype(theirs), origin)


def _own_attention(network: PreTrainedModel) -> str | None:
    """Return the name of the attention function that the model was set to, unless it is transformers'."""
    name: str = network.config._attn_implementation  # noqa: SLF001 - transformers has no public name for it
    for functions in (ALL_ATTENTION_FUNCTIONS, ALL_MASK_ATTENTION_FUNCTIONS):
        function = functions.get(name)
        home = getattr(function, "__module__", None) or type(function).__module__
        if function is not None and not home.startswith(("transformers.", "attnviz.")):
            return name
    return None


def _ready(theirs: PreTrainedModel, name: str, *, weights_alone: bool) -> PreTrainedModel:
    """A copy to run, recorded or not; raises as `network.open_network`."""
    if not weights_alone:
        refuse_unreadable(theirs.config)
    network = _copied(theirs)
    network.config.is_encoder_decoder = _as_built(theirs, name).is_encoder_decoder
    family = network.config.model_type
    own, wanted = custom_attention.has(family), implementation(family, weights_alone=weights_alone)
    if weights_alone:
        wanted = _own_attention(theirs) or wanted
    if own:  # its modules ask the config, which transformers' own method leaves as it is in some families
        network.config._attn_implementation = wanted  # noqa: SLF001
    else:
        with quiet(), in_our_words(Path(name), name):
            compute_with(network, wanted)
    if weights_alone and network.config._attn_implementation != wanted:  # noqa: SLF001
        raise ModelNotSupported(
            f"The attention implementation of {quoted(name)} cannot be changed once it is loaded. Load it "
            'with attn_implementation="eager".'
        )
    if own and not weights_alone:
        custom_attention.listen(network)
    return network


def _as_built(network: PreTrainedModel, name: str) -> PreTrainedConfig:
    """Return the config; for the encoder of an encoder–decoder it states that it is no encoder–decoder.

    Raises:
        ModelNotSupported: it is the decoder of one.
    """
    own = copy.copy(network.config)
    own.architectures = [type(network).__name__]
    parameters = inspect.signature(network.forward).parameters
    if config.paired_family(own) and "decoder_input_ids" not in parameters:
        reads_on = "encoder_hidden_states" in parameters and not own.is_decoder  # BART's, made to read alone
        if getattr(network, "is_decoder", reads_on):
            raise ModelNotSupported(
                f"{quoted(name)} is the decoder of an encoder–decoder, and reads what its encoder makes of a "
                "text. Give the whole model."
            )
        own.is_encoder_decoder = False
    return own


def _check(network: PreTrainedModel, name: str, *, pictures: bool) -> None:
    """Raise if its config, its input or the devices of its weights make it unsupported.

    Args:
        pictures: whether a picture is to be shown.
    """
    family, reads = network.config.model_type, network.main_input_name
    takes = inspect.signature(network.forward).parameters
    reads = "pixel_values" if "pixel_values" in takes else reads
    # Compressed weights are no reason here: who holds the object has what runs them.
    said = {**vars(network.config), "quantization_config": None}
    reason = families.refusal(family, said)
    if reason is not None:
        pictures = pictures or "input_ids" not in takes
        part = _part(network, pictures=pictures) or _part(network, pictures=not pictures)
        reason = families.refusal(family, said, part)
    elif reads != "input_ids" and family not in families.SEES | families.WITH_IMAGES:
        does = _READS.get(reads, f"reads {reads}")
        reason = (
            f"{quoted(name)} {does}, and attnviz does not show the family {quoted(family)}. Of models that "
            f"see it shows {', '.join(sorted(families.SEES))}."
        )
    devices = sorted({str(each.device) for each in chain(network.parameters(), network.buffers())})
    if reason is None and "meta" in devices:
        reason = (
            f"Some weights of {quoted(name)} are not in memory: they are offloaded, or on the device meta. "
            "Load it again with from_pretrained(…), without device_map and offloading."
        )
    elif reason is None and len(devices) > 1:
        where = f"The weights of {quoted(name)} are on {' and '.join(devices)}."
        one = devices[-1]
        reason = f'{where} Put the whole model on one: model.to("{one}").'
        if hasattr(network, "hf_device_map"):  # hooks of accelerate would bring its inputs back
            reason = f'{where} Load it again on one: from_pretrained(…, device_map={{"": "{one}"}}).'
    if reason is not None:
        raise ModelNotSupported(reason)
    refuse_rounding(network.config.model_type, name, _dtype(network))


def _part(network: PreTrainedModel, *, pictures: bool) -> str:
    """Return the call that shows a part of a model, the outermost that can be shown; "" if there is none."""
    for path, module in network.named_modules():
        reads = getattr(module, "main_input_name", None)
        if not path or not isinstance(module, PreTrainedModel):
            continue
        try:
            facts = config.facts_of(_as_built(module, path), path)
            refused = facts.images or families.refusal(facts.family, vars(module.config)) is not None
        except AttnvizError:
            continue
        if not refused and reads == ("pixel_values" if pictures else "input_ids"):
            place = f"model{_path(path)}"
            look = f"attnviz.look(picture, {place}, processor=…)"
            return look if pictures else f"attnviz.trace(text, {place}, tokenizer=…)"
    return ""


def _path(name: str) -> str:
    """Return the name of a submodule as Python: "0.auto_model" → "[0].auto_model"."""
    return "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in name.split("."))


def _dtype(network: PreTrainedModel) -> DType:
    """In which numbers it runs."""
    return cast("DType", str(network.dtype).removeprefix("torch."))


def _inner(holder: object) -> tuple[Any, str]:
    """The model of transformers inside of what compiles, adapts or calls it, and where it is there."""
    model: Any = holder
    path = "model"
    if hasattr(model, "_orig_mod"):  # torch.compile
        model, path = model._orig_mod, f"{path}._orig_mod"  # noqa: SLF001 - it has no other name
    if isinstance(model, nn.DataParallel | nn.parallel.DistributedDataParallel):
        model, path = model.module, f"{path}.module"
    if _holds_one(model):
        found = [*_held(model, (PreTrainedModel,))]
        parts = {id(part) for _, each in found[:1] for part in each.modules()}
        if found and all(id(each) in parts for _, each in found):
            model, path = found[0][1], f"{path}{found[0][0]}"
    adapter: Any = getattr(model, "active_peft_config", None)
    if adapter is not None and hasattr(model, "get_base_model"):
        if adapter.is_prompt_learning:
            raise ModelNotSupported(
                f"This adapter ({type(adapter).__name__}) puts vectors before the text that are no tokens. "
                "What cannot be shown exactly is not shown."
            )
        model, path = model.get_base_model(), f"{path}.get_base_model(), with its adapters"
    if not isinstance(model, PreTrainedModel):
        raise TypeError(
            'The model must be a name, such as "minilm", a folder, a Hugging Face id, or a model object of '
            f"transformers, not {type(model).__name__}.{_hint(model)}"
        )
    return model, path


def _holds_one(holder: object) -> bool:
    """Whether an object does no more than to call a model of transformers, and knows its tokenizer."""
    homes = {base.__module__.partition(".")[0] for base in type(holder).__mro__}
    return isinstance(holder, Pipeline) or "sentence_transformers" in homes


def _hint(holder: object) -> str:
    """Return where a pipeline, a SentenceTransformer and the like hold their model and its tokenizer."""
    if isinstance(holder, type):
        return f" This is the class: give an object, as {holder.__name__}.from_pretrained(…) returns one."
    called = "pipe" if isinstance(holder, Pipeline) else "model"
    found = next(_held(holder, (PreTrainedModel,)), None)
    if found is None:
        return ""
    path, network = found
    reads = network.main_input_name == "input_ids"
    argument = "tokenizer" if reads else "processor"
    for each, _ in _held(holder, _TOKENIZER if reads else _PROCESSORS):
        return f" Give what is inside: {called}{path}, with {argument}={called}{each}."
    return f" Give what is inside: {called}{path}."


def _held(holder: object, wanted: tuple[type, ...]) -> Iterator[tuple[str, Any]]:
    """Yield (path, object) of the objects of a type inside of another one, the shortest path first."""
    level, seen = [("", holder)], {id(holder)}
    for _ in range(_MAX_DEPTH):
        inner: list[tuple[str, object]] = []
        for path, each in level:
            members = dict(getattr(each, "__dict__", {}))
            public = {name: _property(each, name) for name in _PROPERTIES}
            for name, value in {**public, **members, **members.get("_modules", {})}.items():
                if id(value) not in seen and not isinstance(value, type | ModuleType):
                    seen.add(id(value))
                    inner.append((f"{path}{_path(name)}", value))
        yield from (found for found in inner if isinstance(found[1], wanted))
        level = inner


def _property(holder: object, name: str) -> object:
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 - a property of a foreign class may raise anything
        return None


def _copied(network: PreTrainedModel) -> PreTrainedModel:
    """Return a second tree of modules over the same weights and hooks, in `eval` mode."""
    try:
        own = copy.deepcopy(network, _memo(network))
    except (RuntimeError, TypeError, ValueError) as error:
        raise ModelNotSupported(
            f"{type(network).__name__} holds something that cannot be copied, so it cannot be shown and stay "
            f"as it is: {error}"
        ) from error
    own.config.return_dict = True
    own.eval()  # type: ignore[no-untyped-call]  # transformers leaves it untyped
    return own


def _memo(network: PreTrainedModel) -> dict[int, Any]:
    """Return what `deepcopy` must not copy: hooks as they are, and for each tensor a new one of its own.

    Configs are copied, but not what is in them, except for other configs.

    A forward pass may set attributes of a parameter (bitsandbytes moves its 8-bit weights from the parameter
    to the layer), replace its data, or write into a buffer (counters, observers of value ranges). So no
    tensor object is shared, only the memory of large ones.
    """
    memo: dict[int, Any] = {}
    attributed: list[Tensor] = []
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
            memo[id(part)] = _second(part)
            if vars(part) and not _is_made_of_others(part):
                attributed.append(part)
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
    for tensor in attributed:
        vars(memo[id(tensor)]).update(copy.deepcopy(vars(tensor), memo))
    return memo


def _second(tensor: Tensor) -> Tensor:
    """Return a second object of a tensor's class over the same memory; of a small buffer, over a copy."""
    if _is_made_of_others(tensor):
        again = tensor.detach()
        return nn.Parameter(again, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else again
    with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001 - no public way keeps a subclass
        plain = tensor.detach()
        if not isinstance(tensor, nn.Parameter) and tensor.numel() <= _MAX_COPIED:
            plain = plain.clone()
        return torch.Tensor._make_subclass(type(tensor), plain, tensor.requires_grad)  # noqa: SLF001


def _is_made_of_others(tensor: Tensor) -> bool:
    """Return whether a tensor wraps others, as torchao's quantized ones do."""
    return bool(is_traceable_wrapper_subclass(tensor))
