"""Traces of vision-language models, in which some tokens are image patches."""

from __future__ import annotations

import inspect
import io
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch
import transformers
from PIL import Image
from torch import Tensor
from transformers import (
    AutoImageProcessor,
    AutoTokenizer,
    BaseImageProcessor,
    PreTrainedModel,
    ProcessorMixin,
)
from transformers.models.auto import processing_auto

from attnviz.capture import forward, image_grids
from attnviz.capture.arrays import as_numpy, one_per_head
from attnviz.capture.generation import (
    GenerationDefaults,
    generation_defaults,
    next_predictions,
    sample_tokens,
)
from attnviz.capture.inspection import (
    TOLERANCE,
    AttentionLayer,
    find_output_layer,
    kind_by_name,
    linear_layers,
    refuse_other_modules,
    run,
    weights_of,
    without_autocast,
)
from attnviz.capture.model import Model, ModelInput, Prediction, Writing
from attnviz.capture.network import quiet, set_attention, translated_errors
from attnviz.capture.pictures import opened, upright
from attnviz.capture.recorder import IMPLEMENTATION, Record, attend, recording
from attnviz.capture.selection import EVERYTHING, Selection
from attnviz.capture.vectors import ComputedArray, VectorWeights, check_size
from attnviz.errors import AttentionNotRead, ModelNotSupported, TextTooLong, UnreadableText, quoted
from attnviz.interventions.edit import Edits
from attnviz.models import config
from attnviz.models.catalogue import Entry
from attnviz.models.tokenizer import TextTokenizer, empty_text_error
from attnviz.trace import Block, Floats, Kind, Patch, Token, Trace

SHOWN_SIDE = 512
"""Maximum width and height, in pixels, of the images in a trace."""

_FAMILIES_WITHOUT_RULES = frozenset({"paligemma"})
"""Families that pass a ready-made mask, not a rule, to their decoder."""

_PER_TOKEN_INPUTS = ("attention_mask", "token_type_ids", "mm_token_type_ids")
"""Processor outputs with one value per token."""


@dataclass(frozen=True, eq=False)
class SeparateWeights:
    """The weights of sequences that a layer processes separately, as one array [head, query, key].

    Weights between sequences are 0.

    Attributes:
        parts: one [head, token, token] per sequence.
        limit: the maximum size of the full array, in bytes.
    """

    parts: Sequence[Tensor | VectorWeights]
    limit: int

    @cached_property
    def starts(self) -> list[int]:
        """The position of the first token of each sequence, and the total number of tokens."""
        return [*accumulate((part.shape[1] for part in self.parts), initial=0)]

    @property
    def shape(self) -> tuple[int, ...]:
        """[head, query, key]."""
        return (self.parts[0].shape[0], self.starts[-1], self.starts[-1])

    def rows(self, head: int, queries: Sequence[int]) -> Floats:
        """Return one head's weights of these queries, [query, key]."""
        found = np.zeros((len(queries), self.starts[-1]), np.float32)
        for part, start in zip(self.parts, self.starts, strict=False):
            inside = [at for at, query in enumerate(queries) if 0 <= query - start < part.shape[1]]
            if not inside:
                continue
            places = [queries[at] - start for at in inside]
            rows = as_numpy(part[head][places]) if isinstance(part, Tensor) else part.rows(head, places)
            found[inside, start : start + part.shape[1]] = rows
        return found

    def numpy(self) -> Floats:
        """Return the full array, [head, query, key].

        Raises:
            InvalidTrace: it would take more memory than the limit.
        """
        check_size(self.limit, self.shape, 4)
        return np.stack([self.rows(head, range(self.starts[-1])) for head in range(self.shape[0])])

    def mask(self) -> Tensor:
        """Return bool [query, key], True within each sequence."""
        blocks = [torch.ones(part.shape[1], part.shape[1], dtype=torch.bool) for part in self.parts]
        found: Tensor = torch.block_diag(*blocks)  # type: ignore[no-untyped-call]  # untyped in torch
        return found


@dataclass(frozen=True)
class PreparedInput:
    """The input of one forward pass.

    Attributes:
        inputs: the arguments of the forward pass.
        text: the text without image placeholders.
        tokens: the tokens of the text and the images.
        sequences: the patches of each sequence that the vision encoder processes separately.
        pictures: the images, as PNG files.
        written: the number of generated tokens at the end.
        end: the token that ended the text, or None.
        source: the tokens that a decoder's cross-attention attends to.
    """

    inputs: dict[str, Tensor]
    text: str
    tokens: tuple[Token, ...]
    sequences: list[list[Patch]]
    pictures: tuple[bytes, ...]
    written: int = 0
    end: int | None = None
    source: tuple[Token, ...] = ()


class VisionLanguageModel(Model):
    """A loaded vision-language model, safe to share among threads.

    Blocks of the text decoder have the kind "decoder"; blocks of the vision encoder have the kind "vision".

    Args:
        network: a result of `open_network` that no other model uses.
        processor: the model's transformers processor.
        tokenizer: the model's text tokenizer.

    Raises:
        ModelNotSupported: its attention cannot be recorded exactly.
    """

    _text_input = "input_ids"
    _weights_on_request = False
    """Whether the model's modules return weights only on request."""

    def __init__(
        self,
        entry: Entry,
        network: PreTrainedModel,
        processor: ProcessorMixin | BaseImageProcessor,
        tokenizer: TextTokenizer,
    ) -> None:
        self.name, self.dtype, self.device = entry.name, entry.dtype, str(network.device)
        self.entry, self.network, self.tokenizer = entry, network, tokenizer
        self._processor: Any = processor
        self._parameters = inspect.signature(network.forward).parameters
        self._prepare()
        self._layers = self._inspected()

    def _prepare(self) -> None:
        """Look up the constants that are needed to prepare inputs."""
        settings: Any = self.network.config
        self._image_id: int = settings.image_token_id
        self._placeholder: str = self._processor.image_token
        ends = (getattr(settings, f"vision_{end}_token_id", None) for end in ("start", "end"))
        self._image_template = "{}".join("" if end is None else self.tokenizer.spelled(end) for end in ends)

    def tokens(self, text: str | ModelInput) -> tuple[Token, ...]:
        """Return the tokens of the text and the images."""
        return self._prepare_input(self._check_input(text)).tokens

    def trace(self, text: str | ModelInput, *, edits: Edits = (), selection: Selection = EVERYTHING) -> Trace:
        """Trace one forward pass over the images, the text and the generated tokens.

        The weights of the vision encoder are included only if all heads and queries are selected.

        Raises:
            ModelNotSupported: edits are given.
        """
        if edits:
            self._refuse_edits()
        given = self._check_input(text)
        prepared = self._prepare_input(given)
        if given.writing is not None:
            prepared = self._generate(prepared, given.writing)
        return Trace(
            model=self.name,
            text=prepared.text,
            written=prepared.written,
            blocks=self._blocks(prepared, selection),
            pictures=prepared.pictures,
            notes=self.notes,
        )

    def predictions(self, text: str | ModelInput, *, edits: Edits = ()) -> tuple[Prediction, ...]:
        """Return only the prediction after the last token, because there may be thousands of tokens."""
        if edits:
            self._refuse_edits()
        given = self._check_input(text)
        prepared = self._prepare_input(given)
        prepared = prepared if given.writing is None else self._generate(prepared, given.writing)
        with torch.inference_mode():
            returned: Any = run(self.network, self._without_cache(prepared.inputs))
        logits, last = returned.logits[0, -1:].float().cpu(), [prepared.tokens[-1].id]
        [found] = next_predictions(
            logits, last, self.tokenizer.readable, self._defaults(), None, 0, prepared.end
        )
        return (replace(found, position=len(prepared.tokens) - 1),)

    def outcomes(
        self,
        text: str | ModelInput,  # noqa: ARG002 - same signature as for every model
        variants: Sequence[Edits],  # noqa: ARG002
        position: int | None = None,  # noqa: ARG002
    ) -> NoReturn:
        """Raise `ModelNotSupported`, because edits are not supported."""
        self._refuse_edits()

    def words(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Return the readable texts of token ids."""
        return tuple(self.tokenizer.readable(number) for number in ids)

    def _defaults(self) -> GenerationDefaults:
        return generation_defaults(self.network)

    def _refuse_edits(self) -> NoReturn:
        raise ModelNotSupported(
            f"Edits are not supported for {quoted(self.name)}, a vision-language model. Trace it "
            "without edits."
        )

    def _check_input(self, text: str | ModelInput) -> ModelInput:
        given = self.supported(text, writes=True, images=True)
        if not given.images:
            raise ModelNotSupported(
                f"{quoted(self.name)} needs images and text. Pass both: "
                "attnviz.trace(text, model, images=[…])."
            )
        if not given.text.strip():
            raise empty_text_error()
        return given

    def _prepare_input(self, given: ModelInput) -> PreparedInput:
        pictures = [upright(opened(picture)) for picture in given.images]
        text = given.text
        if self._placeholder not in text:
            text = f"{self._image_template.format(self._placeholder) * len(pictures)}{text}"
        try:
            made = self._processor(images=[pictures], text=text, return_tensors="pt")
        except (
            ValueError,
            IndexError,
            RuntimeError,
        ) as error:  # for instance, the numbers of placeholders and images differ
            raise UnreadableText(
                f"The processor of {quoted(self.name)} rejects this input: {str(error).splitlines()[0]:.200}"
            ) from error
        if (count := made["input_ids"].shape[1]) > self.entry.token_limit:
            raise TextTooLong(count, self.entry.token_limit, together=False)
        layout = image_grids.layout(self.network, self._processor, pictures, made, self.name)
        ids = made["input_ids"][0].tolist()
        text, tokens = self._placed(ids, layout.tokens)
        inputs = {
            name: value.to(self.network.device, self.network.dtype if value.is_floating_point() else None)
            for name, value in made.items()
            if name in self._parameters and name != "labels"
        }
        shown = tuple(map(as_png, pictures))
        return PreparedInput(inputs, text, tokens, layout.sequences, shown)

    def _placed(self, ids: Sequence[int], patches: Sequence[Patch | None]) -> tuple[str, tuple[Token, ...]]:
        """Return the text without image placeholders, and all tokens.

        Raises:
            ModelNotSupported: the numbers of image tokens and patches differ.
        """
        if (count := ids.count(self._image_id)) != len(patches):
            raise ModelNotSupported(
                f"This input of {quoted(self.name)} has {count} image tokens, but the config and the "
                f"processor require {len(patches)}."
            )
        text, words = self.tokenizer.append_tokens(
            "", (), [number for number in ids if number != self._image_id]
        )
        text_tokens, remaining = iter(words), iter(patches)
        tokens: list[Token] = []
        for number in ids:
            if number != self._image_id:
                tokens.append(next(text_tokens))
            elif (patch := next(remaining)) is not None:
                tokens.append(patch_token(patch, number, len(self._starts(patches)) > 1))
            else:
                tokens.append(Token(self.tokenizer.spelled(number), number, 0, 0, None, special=True))
        return text, tuple(tokens)

    @staticmethod
    def _starts(patches: Sequence[Patch | None]) -> set[tuple[int, int]]:
        return {(patch.picture, patch.view) for patch in patches if patch is not None}

    def _generate(self, prepared: PreparedInput, writing: Writing) -> PreparedInput:
        """Return the input with generated tokens.

        Each step processes the complete input again, because token positions may depend on the images.
        """
        inputs = dict(prepared.inputs)

        def scores(new_ids: Sequence[int]) -> Tensor:
            nonlocal inputs
            if new_ids is not before:
                inputs = self._extended(inputs, new_ids)
            with without_autocast(self.network.device):
                returned: Any = run(self.network, self._without_cache(inputs))
            last: Tensor = returned.logits[0, -1].float().cpu()
            return last

        before, defaults = prepared.inputs[self._text_input][0].tolist(), self._defaults()
        drawn = sample_tokens(scores, before, writing, self.entry.token_limit, defaults)
        steps = [step.id for step in drawn]
        end = steps.pop() if steps and steps[-1] in defaults.ends else None
        text, words = self.tokenizer.append_tokens(prepared.text, prepared.tokens, steps)
        return replace(
            prepared,
            inputs=self._extended(prepared.inputs, steps),
            text=text,
            tokens=words,
            written=len(steps),
            end=end,
        )

    def _extended(self, inputs: Mapping[str, Tensor], ids: Sequence[int]) -> dict[str, Tensor]:
        """Return the arguments of a forward pass with these tokens appended."""
        longer = dict(inputs)
        for name in (self._text_input, *_PER_TOKEN_INPUTS):
            if name in longer:
                values = ids if name == self._text_input else [int(name == "attention_mask")] * len(ids)
                longer[name] = torch.cat([longer[name], longer[name].new_tensor([values])], dim=1)
        return longer

    def _without_cache(self, inputs: Mapping[str, Tensor]) -> dict[str, Any]:
        """Return the arguments of a forward pass without a cache, with logits of the last token only."""
        lean = {"use_cache": False, "logits_to_keep": 1}
        return {**inputs, **{name: value for name, value in lean.items() if name in self._parameters}}

    # ---- recording

    def _inspected(self) -> dict[int, AttentionLayer]:
        """Check the recorded weights, and return each attention module's layer, by the module's `id`."""
        inputs = self._sample()
        with torch.inference_mode(), without_autocast(self.network.device):
            with recording() as records, linear_layers(self.network) as calls:
                run(self.network, inputs, with_weights=self._weights_on_request)
            set_attention(self.network, "eager")
            try:
                expected = run(self.network, inputs, with_weights=True)
            finally:
                set_attention(self.network, IMPLEMENTATION)
            vision_modules = {id(module) for module in self._vision_encoder().modules()}
            names = {id(module): name for name, module in self.network.named_modules()}
            layers: dict[int, AttentionLayer] = {}
            for record in records:
                if id(record.module) in layers:
                    continue
                is_cross = kind_by_name(names[id(record.module)]) == "cross"
                kind: Kind = (
                    "vision" if id(record.module) in vision_modules else "cross" if is_cross else "decoder"
                )
                number = sum(layer.kind == kind for layer in layers.values())
                mixed = find_output_layer(record, calls)
                if mixed[0] is None:
                    mixed = _output_layer_of_parts(
                        [each for each in records if each.module is record.module], calls
                    )
                layers[id(record.module)] = AttentionLayer(
                    record.module, kind, number, record.query.shape[1], *mixed
                )
            by_kind: dict[Kind, list[Record]] = defaultdict(list)
            for record in records:
                by_kind[layers[id(record.module)].kind].append(record)
            self._compare(by_kind, expected)
        return layers

    def _sample(self) -> dict[str, Any]:
        """Return a sample input for the inspection."""
        picture = Image.linear_gradient("L").resize((192, 128))
        return self._without_cache(self._prepare_input(ModelInput("a", images=(picture,))).inputs)

    def _vision_encoder(self) -> torch.nn.Module:
        base: Any = self.network
        found: torch.nn.Module = base.get_encoder(modality="image")
        return found

    def _compare(self, records: Mapping[Kind, Sequence[Record]], expected: object) -> None:
        """Compare the recorded weights of each kind with the weights that transformers' `eager` returns.

        Raises:
            AttentionNotRead: they differ.
        """
        self._compare_with(records["decoder"], weights_of(expected, "decoder"), self.entry.decoder_layers)

    def _compare_with(self, records: Sequence[Record], returned: Sequence[Tensor], layers: int) -> None:
        if not len(records) == len(returned) == layers:
            raise AttentionNotRead(
                f"{type(self.network).__name__} ran {len(records)} attention modules of one kind in {layers} "
                f"layers, but transformers returned the weights of {len(returned)}."
            )
        pairs = zip(records, returned, strict=True)
        difference = max(float((one.weights - other).abs().max()) for one, other in pairs)
        if not difference <= TOLERANCE:
            raise AttentionNotRead(
                f"The weights of {type(self.network).__name__} differ from transformers' weights by up to "
                f"{difference:.1g}."
            )

    def _blocks(self, prepared: PreparedInput, selection: Selection) -> tuple[Block, ...]:
        decoder = [layer for layer in self._layers.values() if layer.kind == "decoder"]
        count = len(prepared.tokens)
        selection.check([(layer.layer, layer.heads, count) for layer in decoder])
        complete = selection.heads is None and selection.queries is None
        heads, queries = selection.heads or range(decoder[0].heads), selection.queries or range(count)
        selected_layers = [layer for layer in decoder if selection.keeps(layer.layer)]
        elements = len(selected_layers) * len(heads) * len(queries) * count
        vision_layers = [layer for layer in self._layers.values() if layer.kind == "vision"]
        vision_layers = [layer for layer in vision_layers if complete and selection.keeps(layer.layer)]
        elements += sum(layer.heads for layer in vision_layers) * sum(
            len(each) ** 2 for each in prepared.sequences
        )
        largest = max(elements, decoder[0].heads * count**2)
        vectors = selection.store == "vectors" or (
            selection.store == "auto" and 4 * largest > selection.max_weight_bytes
        )
        if self.entry.family in _FAMILIES_WITHOUT_RULES:
            selection.refuse_vectors(self.name)
            vectors = False

        def trim(_: int, record: Record) -> Record:
            layer = self._layers.get(id(record.module))
            if layer is None or not selection.keeps(layer.layer) or (layer.kind == "vision" and not complete):
                return record.without_tensors()
            chosen = record if layer.kind == "vision" else record.of(selection.heads, selection.queries)
            return chosen.compact()

        with recording(None, trim, vectors=vectors) as records, torch.inference_mode():
            run(self.network, self._without_cache(prepared.inputs))
        groups: dict[int, list[Record]] = defaultdict(list)
        for record in records:
            groups[id(record.module)].append(record)
        refuse_other_modules(
            self.network, [group[0].module for group in groups.values()], [*self._layers.values()]
        )
        blocks = forward.recorded_blocks(
            self.network,
            selected_layers,
            [groups[id(layer.module)][0] for layer in selected_layers],
            prepared.tokens,
            selection,
            vectors=vectors,
        )
        return (
            *blocks,
            *(
                _vision_block(layer, groups[id(layer.module)], prepared.sequences, selection)
                for layer in vision_layers
            ),
        )


def _output_layer_of_parts(records: Sequence[Record], calls: Sequence[tuple[Any, Tensor]]) -> Any:
    """Return the result of `find_output_layer` for a module that ran once per sequence."""
    concatenated = torch.cat([record.concatenated()[0] for record in records]).float()
    for layer, given in calls:
        if given.shape == concatenated.shape and torch.allclose(
            given.float(), concatenated, atol=TOLERANCE, rtol=0
        ):
            return layer, given
    return None, None


def _vision_block(
    layer: AttentionLayer, records: Sequence[Record], sequences: list[list[Patch]], selection: Selection
) -> Block:
    """Return one layer's block of the vision encoder, over all sequences."""
    weights: list[Tensor | VectorWeights] = []
    for record in records:
        for row in range(len(record.query)):
            if record.weights.numel():
                weights.append(record.weights[row])
                continue
            places = range(record.query.shape[2])
            rules = (record.mask, record.bias, record.scale, record.cap, None)
            weights.append(
                VectorWeights(
                    record.query[row], record.key[row], places, *rules, selection.max_weight_bytes, attend
                )
            )
    combined = SeparateWeights(weights, selection.max_weight_bytes)
    tokens = _vision_tokens(sequences, [part.shape[1] for part in weights])
    vectors = {
        name: torch.cat([getattr(record, name).transpose(0, 1).flatten(1, 2) for record in records], dim=1)
        for name in ("query", "key", "value")
    }
    return Block(
        kind="vision",
        layer=layer.layer,
        query_tokens=tokens,
        key_tokens=tokens,
        query=vectors["query"],
        key=one_per_head(vectors["key"], layer.heads),
        value=one_per_head(vectors["value"], layer.heads),
        weights=combined,
        mask=ComputedArray(combined.shape[1:], combined.mask, 1, selection.max_weight_bytes),
        scale=records[0].scale,
        projection=layer.projection,
    )


def _vision_tokens(sequences: list[list[Patch]], lengths: Sequence[int]) -> tuple[Token, ...]:
    """Return the vision encoder's tokens; each sequence may begin with [CLS], or be split into windows."""
    several = len({patches[0][:2] for patches in sequences}) > 1
    found: list[Token] = []
    special = 0
    if len(lengths) == len(sequences):
        special = lengths[0] - len(sequences[0])
    for patches in sequences:
        found.extend(Token("[CLS]", 0, 0, 0, None, special=True) for _ in range(special))
        found.extend(patch_token(patch, 0, several) for patch in patches)
    if len(found) != sum(lengths) or special not in (0, 1):
        raise ModelNotSupported(
            f"The vision encoder processed {sum(lengths)} tokens, but its images have {len(found)} patches."
        )
    return tuple(found)


def patch_token(patch: Patch, number: int, several: bool) -> Token:
    """Return a token named "2,3" (row, column); if `several`, "1:2,3" in image 1, "1b:2,3" in its tiles."""
    place = f"{patch.row + 1},{patch.column + 1}"
    prefix = f"{patch.picture + 1}{'b' * patch.view}:" if several else ""
    return Token(f"{prefix}{place}", number, 0, 0, None, special=False, patch=patch)


def as_png(picture: Image.Image) -> bytes:
    """Return an image as a PNG file of at most `SHOWN_SIDE` pixels per side."""
    small = picture.copy()
    small.thumbnail((SHOWN_SIDE, SHOWN_SIDE))
    file = io.BytesIO()
    small.save(file, "PNG")
    return file.getvalue()


def processor_in(folder: Path, family: str, name: str) -> ProcessorMixin:
    """Load the processor of the model in a folder, without torchvision, which only videos need.

    Raises:
        ModelFilesDamaged: its files are missing, or their values are invalid.
        ModelNotSupported: transformers needs another package for it.
    """
    names: Mapping[str, str] = vars(processing_auto)["PROCESSOR_MAPPING_NAMES"]
    kind: Any = getattr(transformers, names[family])
    settings = (
        config.read_json(file, name) if (file := folder / config.IMAGE_PROCESSOR_FILES[0]).is_file() else {}
    )
    with quiet(), translated_errors(folder, name):
        auto: Any = AutoImageProcessor
        images = auto.from_pretrained(folder, backend="pil", local_files_only=True, trust_remote_code=False)
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        parameters = inspect.signature(kind.__init__).parameters
        arguments = {key: value for key, value in settings.items() if key in parameters}
        arguments |= {"image_processor": images, "tokenizer": tokenizer}
        if "video_processor" in parameters:
            arguments["video_processor"] = None
        processor: ProcessorMixin = without_videos(kind)(**arguments)
    return processor


def without_videos(kind: type[Any]) -> type[Any]:
    """Return a subclass that accepts None as its video processor, which would need torchvision."""
    return type(kind.__name__, (kind,), {"check_argument_for_proper_class": lambda *_: None})
