"""Load saved transformers models without remote code or pickles; no weights may be missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoModelForTextEncoding,
    PreTrainedConfig,
    PreTrainedModel,
)
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
)
from transformers.utils import logging

from attnviz.capture import custom_attention
from attnviz.capture.recorder import IMPLEMENTATION
from attnviz.errors import AttentionNotRead, ModelFilesDamaged, ModelNotSupported, quoted
from attnviz.models import families
from attnviz.models.catalogue import Expects
from attnviz.models.config import is_lone_encoder, shown_config, writes
from attnviz.models.limits import BYTES_PER_PARAMETER, DType

_PAIRED: Mapping[str, str] = MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES
_NEXT: Mapping[str, str] = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
_MASKED: Mapping[str, str] = MODEL_FOR_MASKED_LM_MAPPING_NAMES
_MAX_QUOTED = 200  # maximum number of characters of a transformers error in a message
# The pooling layer after an encoder: many files omit it, and no attention depends on it.
_UNUSED = ("pooler.", "encoder.pooler.")


def open_network(
    folder: Path,
    name: str | None = None,
    dtype: DType = "float32",
    device: str = "cpu",
    *,
    weights_alone: bool = False,
) -> PreTrainedModel:
    """Load the model in a folder, with its language-model head if it has one.

    Args:
        name: the model's name in messages, which do not contain its path; None: the folder's name.
        weights_alone: load a model that returns its attention weights and is not recorded.

    Raises:
        AttentionNotRead: its attention cannot be recorded.
        ModelNotSupported: attnviz or transformers does not support it, or it cannot be moved to the device.
        ModelFilesDamaged: a file is missing or damaged, or lacks weights.
    """
    name = name or folder.name
    with quiet(), translated_errors(folder, name):
        saved = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        reason = families.refusal(saved.model_type, saved.to_dict())
        if reason is not None:
            raise ModelNotSupported(reason)
        config = shown_config(saved)
        refuse_rounding(config.model_type, name, dtype)
        if not weights_alone:
            families.refuse_local(config.model_type)
        attention = implementation(config.model_type, weights_alone=weights_alone)
        network, missing = _load(_with_head(config), folder, config, dtype, attention)
        if missing:  # the file may have only the base model, although the config names a class with a head
            network, missing = _load(AutoModel, folder, config, dtype, attention)
    missing = {name for name in missing if not (name.startswith(_UNUSED) or _is_sinusoidal(network, name))}
    if missing:
        raise ModelFilesDamaged(
            f"Weights are missing in the model {quoted(name)}: {min(missing)}"
            f"{f' and {len(missing) - 1} more' if len(missing) > 1 else ''}. Save or download it again."
        )
    if is_lone_encoder(config):
        network.config.is_encoder_decoder = False
    if custom_attention.has(network.config.model_type) and not weights_alone:
        custom_attention.install_recorders(network)
    try:
        network.to(device)  # type: ignore[arg-type]  # accepts a device's name too
    except (RuntimeError, AssertionError) as error:  # no such device in torch's build, or too little memory
        raise ModelNotSupported(
            f"{quoted(name)} cannot be moved to {device}: {_first_line(error, folder)} Without a device, "
            "it runs on the CPU."
        ) from error
    return network


def set_attention(network: PreTrainedModel, attention: str) -> None:
    """Set a model's attention implementation, by its name in transformers."""
    with quiet():  # families without this setting always compute as `eager` does
        network.set_attn_implementation(attention)
    for module in network.modules():  # the parts of an EncoderDecoderModel have separate configs
        if isinstance(own := getattr(module, "config", None), PreTrainedConfig):
            own._attn_implementation = attention  # noqa: SLF001


def implementation(family: str, *, weights_alone: bool) -> str:
    """Return the attention implementation for recording a model, or for returning its weights."""
    return "eager" if weights_alone or custom_attention.has(family) else IMPLEMENTATION


def refuse_rounding(family: str, name: str, dtype: str) -> None:
    """Raise for a dtype in which attention of this family cannot be recorded exactly.

    Raises:
        ModelNotSupported: the dtype is not supported.
    """
    if custom_attention.has(family) and dtype != "float32":
        raise ModelNotSupported(
            f"{quoted(name)} has custom attention code and can be traced only in float32, not "
            f"in {dtype}. Open it without {dtype}, or call model.float()."
        )
    if dtype not in BYTES_PER_PARAMETER:
        raise ModelNotSupported(
            f"{quoted(name)} computes in {dtype}; attnviz supports {', '.join(BYTES_PER_PARAMETER)}. Use "
            "model.float()."
        )


def expects(network: PreTrainedModel) -> Expects | None:
    """Return the kind of tokens that the model's head predicts; None if it has no language-model head."""
    family, name = network.config.model_type, type(network).__name__
    if name in (_PAIRED.get(family), _NEXT.get(family)):
        return "next"
    return "masked" if name == _MASKED.get(family) else None


def vocabulary_rows(network: PreTrainedModel) -> int:
    """Return the number of embeddings, without reading `weight`, which adapters and quantized tables lack."""
    rows = getattr(network.get_input_embeddings(), "num_embeddings", None)
    return rows if isinstance(rows, int) else int(network.config.vocab_size)


def _with_head(config: PreTrainedConfig) -> Any:
    """Return the Auto class of transformers for a model with its saved head."""
    family, saved = config.model_type, config.architectures or ()
    if is_lone_encoder(config):
        return AutoModelForTextEncoding
    if config.is_encoder_decoder and family in _PAIRED and writes(saved):
        return AutoModelForSeq2SeqLM
    if family in families.WITH_IMAGES:
        return AutoModelForImageTextToText
    heads = ((AutoModelForCausalLM, _NEXT), (AutoModelForMaskedLM, _MASKED))
    model = getattr(transformers, families.WITHOUT_AUTO.get(family, "AutoModel"))
    return next((auto for auto, classes in heads if classes.get(family) in saved), model)


def _is_sinusoidal(network: PreTrainedModel, name: str) -> bool:
    """Return whether a weight is a sinusoidal position table, which is not learned and rarely saved."""
    return "Sinusoidal" in type(network.get_submodule(name.rpartition(".")[0])).__name__


def _load(
    auto: Any, folder: Path, config: PreTrainedConfig, dtype: DType, attention: str
) -> tuple[PreTrainedModel, set[str]]:
    """Return the model, and the names of missing weights, which transformers initializes randomly."""
    network, found = auto.from_pretrained(
        folder,
        config=config,
        attn_implementation=attention,
        dtype=getattr(torch, dtype),
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
        output_loading_info=True,
    )
    return network.eval(), set(found["missing_keys"])


@contextmanager
def quiet() -> Iterator[None]:
    """Disable transformers' progress bars and reports, which would clutter a server's log."""
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # untyped in transformers
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # untyped in transformers
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)


@contextmanager
def translated_errors(folder: Path, name: str) -> Iterator[None]:
    """Convert errors from transformers and safetensors to errors for users."""
    try:
        yield
    except (ModelNotSupported, ModelFilesDamaged):
        raise
    except (SafetensorError, OSError, RuntimeError, EOFError) as error:
        raise ModelFilesDamaged(
            f"The weights of {quoted(name)} cannot be read: {_first_line(error, folder)} Save or download "
            "them again."
        ) from error
    except KeyError as error:
        # If our implementation is the missing key, the family has its own attention classes.
        if error.args != (IMPLEMENTATION,):
            raise ModelNotSupported(
                f"transformers cannot build the model {quoted(name)}: unknown or missing key {error}."
            ) from error
        raise AttentionNotRead(
            f"{quoted(name)} has custom attention code that attnviz does not support."
        ) from error
    except Exception as error:  # model classes raise different errors
        raise ModelNotSupported(
            f"transformers cannot build the model {quoted(name)}: {_first_line(error, folder)}"
        ) from error


def _first_line(error: Exception, folder: Path) -> str:
    """Return the first line of an error's message, shortened, without the folder's path."""
    message = str(error).replace(str(folder), "its folder").strip()
    line = next(iter(message.splitlines()), type(error).__name__)
    return line[:_MAX_QUOTED].rstrip(" .:") + "."
