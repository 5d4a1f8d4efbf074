"""Traces of models with cross-attention from text to image patches: TrOCR, Donut, BLIP captioning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from attnviz.capture import forward, image_grids
from attnviz.capture.custom_attention import Arguments, Reader, recording_hook
from attnviz.capture.generation import GenerationDefaults, generation_defaults
from attnviz.capture.huggingface import GREEDY
from attnviz.capture.inspection import compare, refuse_other_modules, run, weights_of, without_autocast
from attnviz.capture.model import ModelInput, Writing
from attnviz.capture.network import vocabulary_rows
from attnviz.capture.pictures import opened, upright
from attnviz.capture.recorder import Record, recording
from attnviz.capture.selection import Selection
from attnviz.capture.vision_language import PreparedInput, VisionLanguageModel, as_png, patch_token
from attnviz.errors import ModelNotSupported, quoted
from attnviz.trace import Block, Kind, Token
from attnviz.transformer.multi_head import split_heads

_CLASSES = frozenset({"VisionEncoderDecoderModel", "BlipForConditionalGeneration"})
_SAMPLE = 7  # tokens in the sample input for the inspection

ENCODER_NOT_SHOWN = (
    "The attention of the encoder is not recorded: it is computed in windows of patches, and each stage "
    "merges patches of the previous stage."
)


class PictureReader(VisionLanguageModel):
    """A loaded model with an encoder for one image and a decoder that describes or transcribes the image.

    The text is the decoder's input: a transcript, the prompt of a task, or the start of a caption. If it is
    empty, the model generates it. Blocks of the decoder have the kinds "decoder" and "cross"; blocks of
    the encoder have the kind "vision".
    """

    _weights_on_request = True  # TrOCR's modules return weights only on request

    def _prepare(self) -> None:
        settings: Any = self.network.config
        if not {type(self.network).__name__, *(settings.architectures or ())} <= _CLASSES:
            raise ModelNotSupported(
                f"{quoted(self.name)} is of the family “{settings.model_type}”, of which attnviz supports "
                "only BlipForConditionalGeneration, for captions."
            )
        self._paired = bool(settings.is_encoder_decoder)
        self._text_input = "decoder_input_ids" if self._paired else "input_ids"
        self._encoder_config = settings.encoder if self._paired else settings.vision_config
        self._start = self.tokenizer.special(self._start_id(settings))
        for module in self.network.modules():
            if (reader := _READERS.get(type(module).__name__)) is not None:
                module.register_forward_hook(recording_hook(reader), with_kwargs=True)

    def _start_id(self, settings: Any) -> int:
        """Return the id of the decoder's start token."""
        if not self._paired:
            return int(settings.text_config.bos_token_id)
        for each in (self.network.generation_config, settings, settings.decoder):
            for name in ("decoder_start_token_id", "bos_token_id"):
                if isinstance(number := getattr(each, name, None), int):
                    return number
        raise ModelNotSupported(
            f"The config of {quoted(self.name)} has no decoder_start_token_id or "
            "bos_token_id, so its decoder has no start token."
        )

    def _defaults(self) -> GenerationDefaults:
        settings: Any = self.network.config
        found = generation_defaults(self.network)
        return found if self._paired else found._replace(ends=frozenset({settings.text_config.sep_token_id}))

    def _check_input(self, text: str | ModelInput) -> ModelInput:
        given = self.supported(text, writes=True, images=True)
        if len(given.images) != 1:
            raise ModelNotSupported(
                f"{quoted(self.name)} reads one image. Pass one: attnviz.trace(text, model, images=[…])."
            )
        if given.text.strip():
            return given
        return replace(given, text="", writing=given.writing or GREEDY)

    def _prepare_input(self, given: ModelInput) -> PreparedInput:
        picture = image_grids.rotated(self._processor, upright(opened(given.images[0])))
        pixels: Tensor = self._processor(picture, return_tensors="pt")["pixel_values"]
        special, patches = image_grids.encoder_layout(
            self._encoder_config, self._processor, picture, pixels.shape[2:], self.name
        )
        typed = self.tokenizer.tokens(given.text) if given.text else ()
        words = [token for token in typed if not token.special]
        # As in transformers' `generate`: Donut's prompts begin with their own start token.
        has_start = words and ("donut" in self._encoder_config.model_type or words[0].id == self._start.id)
        tokens = tuple(words) if has_start else (self._start, *words)
        if unknown := [token for token in tokens if token.id >= vocabulary_rows(self.network)]:
            raise ModelNotSupported(
                f"{quoted(self.name)} has no embedding for the token {quoted(unknown[0].text)}: the "
                "tokenizer does not belong to this model."
            )
        source = (
            *(Token(name, 0, 0, 0, None, special=True) for name in special),
            *(patch_token(patch, 0, several=False) for patch in patches),
        )
        inputs = {
            "pixel_values": pixels.to(self.network.device, self.network.dtype),
            self._text_input: torch.tensor([[token.id for token in tokens]], device=self.network.device),
        }
        return PreparedInput(inputs, given.text, tokens, [patches], (as_png(picture),), source=source)

    def _generate(self, prepared: PreparedInput, writing: Writing) -> PreparedInput:
        if not self._paired:
            return super()._generate(prepared, writing)
        network: Any = self.network
        with torch.inference_mode(), without_autocast(network.device):  # once for all steps
            encoded = network.encoder(prepared.inputs["pixel_values"])
        found = super()._generate(
            replace(prepared, inputs={**prepared.inputs, "encoder_outputs": encoded}), writing
        )
        return replace(found, inputs={**prepared.inputs, self._text_input: found.inputs[self._text_input]})

    def _sample(self) -> dict[str, Any]:
        sample, rows = super()._sample(), vocabulary_rows(self.network)
        ids = torch.linspace(rows // 2, rows - 1, _SAMPLE, device=self.network.device).long()
        return {**sample, self._text_input: ids[None]}

    def _vision_encoder(self) -> nn.Module:
        network: Any = self.network
        found: nn.Module = network.encoder if self._paired else network.vision_model
        return found

    def _compare(self, records: Mapping[Kind, Sequence[Record]], expected: object) -> None:
        if "vision" not in records:
            self.notes = (ENCODER_NOT_SHOWN,)
        for kind, kind_records in records.items():
            for number, record in enumerate(kind_records, 1):
                compare(record, record.weights, f"{type(self.network).__name__}, {kind} layer {number}")
            is_vision = kind == "vision"
            # transformers returns no weights of BLIP's decoder, but the decoder's modules do.
            own = [record.weights for record in kind_records]
            returned = (
                weights_of(expected, "encoder" if is_vision else kind) if is_vision or self._paired else own
            )
            layers = len(returned) if is_vision else self.entry.decoder_layers
            self._compare_with(kind_records, returned, layers)

    def _blocks(self, prepared: PreparedInput, selection: Selection) -> tuple[Block, ...]:
        selection.refuse_vectors(self.name)
        layers = [*self._layers.values()]
        selection.check(
            [(layer.layer, layer.heads, len(prepared.tokens)) for layer in layers if layer.kind != "vision"]
        )
        complete = selection.heads is None and selection.queries is None
        is_selected = [
            selection.keeps(layer.layer) and (complete or layer.kind != "vision") for layer in layers
        ]

        def trim(number: int, record: Record) -> Record:
            if number >= len(is_selected) or not is_selected[number]:
                return record.without_tensors()
            return record.of(selection.heads, selection.queries)

        with recording(None, trim) as records, torch.inference_mode():
            run(self.network, self._without_cache(prepared.inputs), with_weights=True)
        refuse_other_modules(self.network, [record.module for record in records], layers)
        blocks = forward.recorded_blocks(
            self.network,
            [layer for layer, keeps in zip(layers, is_selected, strict=True) if keeps],
            [record for record, keeps in zip(records, is_selected, strict=True) if keeps],
            prepared.tokens,
            selection,
            source=prepared.source,
        )
        return tuple(sorted(blocks, key=lambda block: block.kind == "vision"))


def _trocr(module: Any, inputs: Arguments, weights: Tensor) -> Record:
    """Record the attention of TrOCR's decoder to its own tokens, or to patches (Li et al. 2021)."""
    projections, source = (module.q_proj, module.k_proj, module.v_proj), inputs.get("key_value_states")
    mask = inputs.get("attention_mask")
    return _text_record(module, projections, module.num_heads, inputs, source, mask, module.scaling, weights)


def _blip_text(module: Any, inputs: Arguments, weights: Tensor) -> Record:
    """Record the attention of BLIP's decoder, which is computed like TrOCR's (Li et al. 2022)."""
    projections, source = (module.query, module.key, module.value), inputs.get("encoder_hidden_states")
    mask = inputs.get("attention_mask" if source is None else "encoder_attention_mask")
    heads, scale = module.num_attention_heads, module.attention_head_size**-0.5
    return _text_record(module, projections, heads, inputs, source, mask, scale, weights)


def _text_record(
    module: Any,
    projections: tuple[Any, Any, Any],
    heads: int,
    inputs: Arguments,
    source: Tensor | None,
    mask: Tensor | None,
    scale: float,
    weights: Tensor,
) -> Record:
    """Return the record of cross-attention to `source`, or of self-attention if it is None."""
    states = inputs["hidden_states"]
    sides = states, *(states if source is None else source,) * 2
    query, key, value = (
        split_heads(projection(side), heads) for projection, side in zip(projections, sides, strict=True)
    )
    return Record(module, query, key, value, mask, scale, None, weights)


def _blip_vision(module: Any, inputs: Arguments, weights: Tensor) -> Record:
    """Record the attention of BLIP's encoder between patches."""
    query, key, value = (
        split_heads(part, module.num_heads) for part in module.qkv(inputs["hidden_states"]).chunk(3, dim=-1)
    )
    return Record(module, query, key, value, None, module.scale, None, weights)


_READERS: Mapping[str, Reader] = {
    "TrOCRAttention": _trocr,
    "BlipTextSelfAttention": _blip_text,
    "BlipAttention": _blip_vision,
}
"""Functions that record attention, by the name of the attention class."""
