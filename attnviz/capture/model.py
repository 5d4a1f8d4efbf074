"""The inputs, outputs and interface of loaded models; importable without torch."""

from __future__ import annotations

import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from attnviz.capture.selection import EVERYTHING, Selection
from attnviz.errors import AttnvizError, ModelNotSupported, quoted
from attnviz.interventions.edit import Edits
from attnviz.models.catalogue import Expects
from attnviz.models.limits import DType
from attnviz.trace import Floats, Token, Trace

if TYPE_CHECKING:
    from pathlib import Path

    import torch
    from PIL import Image
    from torch import Tensor
    from torch.nn import Module
    from transformers import BaseImageProcessor, PreTrainedTokenizerBase, ProcessorMixin

    Text = str | Sequence[int] | NDArray[np.integer[Any]] | Tensor | Mapping[str, Any]
    """A text, its token ids, or the output of a transformers tokenizer."""

    Network = str | Path | Module
    """The name or folder of a model, or a transformers object."""

    Precision = str | torch.dtype
    """The dtype in which a model runs."""

    Device = str | torch.device
    """The device on which a model runs."""

    Tokenizer = PreTrainedTokenizerBase | Callable[[str], Any]
    """A transformers tokenizer, or a function from text to ids with the method `convert_ids_to_tokens`."""

    Picture = Image.Image | Path | bytes
    """A Pillow image, a file, or the bytes of an image file."""

    Processor = BaseImageProcessor | ProcessorMixin
    """An image processor, or a processor of images and text."""

MAX_NEW_TOKENS = 100
"""The largest number of tokens that a model may generate."""

MIN_TEMPERATURE, MAX_TEMPERATURE = 0.01, 10.0
"""The range of the temperature; it may also be 0, for greedy decoding."""

MAX_SEED = 2**32 - 1
"""The largest random seed."""

MAX_ELEMENTS = 2**25
"""The largest number of float32 elements in one batch of variants: 128 MB."""

MAX_VARIANTS = 64
"""The largest number of variants per batch; larger batches are not faster."""

OcclusionMethod = Literal["mask vector", "mean vector", "deleted"]
"""How a token is removed: its embedding is replaced with the mask token's embedding or with the mean
of all embeddings, or the token is deleted from the sequence."""

OCCLUSION_METHODS: tuple[OcclusionMethod, ...] = get_args(OcclusionMethod)
"""All occlusion methods."""

_MAX_QUOTED = 30  # maximum number of characters of an invalid number in a message
_VECTORS = 12  # vectors of d_model elements that a layer, with its feed-forward network, needs per token
_MATRICES = 4  # [query, key] matrices per head: scores, masked scores, weights, and edited weights


@dataclass(frozen=True, slots=True)
class Writing:
    """How a decoder generates tokens; the same seed gives the same tokens.

    Attributes:
        tokens: the largest number of new tokens, 0 to `MAX_NEW_TOKENS`; generation may end earlier.
        temperature: divides the scores; 0: greedy decoding.
        top_k: sample from the k most likely tokens; 0: from all (Fan et al. 2018).
        top_p: sample from the most likely tokens with this total probability; 1: from all
            (Holtzman et al. 2020).
        seed: the random seed.

    Raises:
        AttnvizError: a number is out of range.
    """

    tokens: int
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        _check("The number of tokens to write", self.tokens, int, MAX_NEW_TOKENS)
        _check("top-k", self.top_k, int, MAX_SEED)
        _check("The seed", self.seed, int, MAX_SEED)
        _check("The temperature", self.temperature, float, MAX_TEMPERATURE)
        _check("top-p", self.top_p, float, 1)
        if 0 < self.temperature < MIN_TEMPERATURE:
            raise AttnvizError(f"The temperature must be 0, or {MIN_TEMPERATURE:g} or more.")


@dataclass(frozen=True, slots=True)
class ModelInput:
    """The input of a model and its generation settings; used as a cache key.

    Attributes:
        text: the input (of the encoder, in an encoder–decoder). For a vision model, the name of the image;
            "" if `ids` is given.
        second: a second sentence, for models like BERT that read pairs; or None.
        target: the decoder's input in an encoder–decoder; None: the model generates it.
        writing: the generation settings; None: generate no tokens (an encoder–decoder without a target uses
            greedy decoding).
        ids: token ids, including special tokens, instead of the text.
        images: the images for a vision-language model: files, their bytes, or Pillow images.

    Raises:
        TypeError: an argument has the wrong type.
    """

    text: str
    second: str | None = None
    target: str | None = None
    writing: Writing | None = None
    ids: tuple[int, ...] | None = None
    images: tuple[Picture, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise TypeError(f"The text must be one str, not {_with_type(self.text)}.")
        for name in ("second", "target"):
            if not isinstance(getattr(self, name), str | None):
                raise TypeError(f"{name} must be a str or None, not {_with_type(getattr(self, name))}.")
        if not isinstance(self.writing, Writing | None):
            raise TypeError(f"writing must be a Writing, as in Writing(20), not {_with_type(self.writing)}.")


def as_model_input(text: str | ModelInput) -> ModelInput:
    """Return the input as a `ModelInput`; a plain text is converted."""
    return ModelInput(text) if isinstance(text, str) else text


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate token at one position.

    Attributes:
        text: the readable text (" dog" for GPT-2's "Ġdog").
        id: the index in the model's vocabulary.
        probability: the softmax over the whole vocabulary, before any filter.
        share: the sampling probability after temperature, top-k and top-p; equal to `probability` if the
            model does not generate.
    """

    text: str
    id: int
    probability: float
    share: float


class ExpectedToken(NamedTuple):
    """The predicted or actual token at one position.

    Attributes:
        id: the index in the model's vocabulary.
        text: the readable text.
        probability: its probability under the model.
        kind: "next", the token after the chosen one, or "masked", the masked token.
        actual: True for the actual token of the text; False for the most probable token.
    """

    id: int
    text: str
    probability: float
    kind: Expects
    actual: bool


@dataclass(frozen=True, slots=True)
class Prediction:
    """A model's prediction at one position.

    Attributes:
        position: the position, from 0, of the masked token, or of the token before the predicted one.
        expects: "next", the next token, or "masked", the masked token.
        candidates: the most likely tokens, in descending order of probability.
        actual: the next token of the text, typed or generated; after the last token, the end-of-text token if
            generation ended with it, else None. None for a masked token.
    """

    position: int
    expects: Expects
    candidates: tuple[Candidate, ...]
    actual: Candidate | None


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The outputs of a model for several variants of its attention.

    Attributes:
        states: [variant, token, d_model], the output of the last layer (of the decoder, in an
            encoder–decoder).
        source: [variant, token, d_model], the encoder output in an encoder–decoder, else None.
        probabilities: [variant, vocabulary], the prediction at the requested position; None
            if no position was requested.
    """

    states: Floats
    source: Floats | None = None
    probabilities: Floats | None = None

    @staticmethod
    def of_batches(
        variants: Sequence[Edits], elements: int, run: Callable[[Sequence[Edits]], Outcomes]
    ) -> Outcomes:
        """Compute all outcomes in batches of bounded memory.

        Args:
            variants: the edits of each variant.
            elements: the number of elements that one variant needs in memory; see `variant_elements`.
            run: returns the outcomes of one batch of variants.
        """
        size = max(1, min(MAX_VARIANTS, MAX_ELEMENTS // elements))
        parts = [run(variants[first : first + size]) for first in range(0, len(variants), size)]
        return Outcomes(
            _concatenated([part.states for part in parts]),
            None if parts[0].source is None else _concatenated([part.source for part in parts]),
            None if parts[0].probabilities is None else _concatenated([part.probabilities for part in parts]),
        )


def variant_elements(tokens: int, heads: int, d_model: int, vocabulary: int = 0) -> int:
    """Estimate the number of elements that one variant needs in memory.

    Args:
        tokens: the length of its input.
        heads, d_model: the sizes of a layer.
        vocabulary: the number of output probabilities per position; 0: none.
    """
    return tokens * (_MATRICES * heads * tokens + _VECTORS * d_model + 2 * vocabulary)


class Model(ABC):
    """A loaded model, safe to share among threads.

    A plain text becomes `ModelInput(text)`. Every method raises ModelNotSupported for an input that the model
    does not support (a second sentence, a target, generation), and another AttnvizError for an invalid text.

    Attributes:
        name: the name in links and messages.
        dtype: the dtype in which it runs.
        device: the device on which it runs, in torch's notation.
        weights_alone: the reason why only its weights can be recorded; None: everything can be recorded.
        notes: notes for each of its traces, such as the path of the model inside the caller's object.
    """

    name: str
    dtype: DType = "float32"
    device: str = "cpu"
    weights_alone: str | None = None
    notes: tuple[str, ...] = ()

    def need_vectors(self) -> None:
        """Raise unless the model's queries, keys, values and masks can be recorded.

        Raises:
            ModelNotSupported: only its weights can be recorded.
        """
        if self.weights_alone is not None:
            raise ModelNotSupported(self.weights_alone)

    @abstractmethod
    def tokens(self, text: str | ModelInput) -> tuple[Token, ...]:
        """Return the input tokens of the model, or of its encoder; see `loading.tokens`."""

    @abstractmethod
    def trace(self, text: str | ModelInput, *, edits: Edits = (), selection: Selection = EVERYTHING) -> Trace:
        """Trace one forward pass, after generating tokens if requested.

        Args:
            text: the input; tokens are generated with the same edits.
            edits: changes to the attention. The trace has the edited weights. A head with a
                replaced output keeps its own weights, values and output in the trace; the trace's `edits`
                name the head.
            selection: the layers, heads and queries to keep.

        Raises:
            EmptyText, TextTooLong, UnreadableText, UnknownWords: a text is invalid for this model.
            ModelNotSupported: the model does not support this input.
            InvalidEdit, InvalidTrace: the model or the text has no such layer, head or token.
        """

    def traces(self, texts: Sequence[ModelInput], selection: Selection = EVERYTHING) -> Iterator[Trace]:
        """Yield the traces of several texts, in order, in batches if the model supports them."""
        return (self.trace(text, selection=selection) for text in texts)

    def predictions(self, text: str | ModelInput, *, edits: Edits = ()) -> tuple[Prediction, ...]:
        """Return the prediction at each of `prediction_positions`."""
        self.tokens(text)
        if edits:
            self.trace(text, edits=edits)  # raises for invalid edits
        return ()

    def prediction_positions(self, text: str | ModelInput) -> tuple[int, ...]:
        """Return the token positions, from 0, at which the model predicts the next token or a masked token.

        In an encoder–decoder, they are positions in the decoder's input. The result is empty if the model has
        no language-model head, or predicts masked tokens and the text has none.
        """
        self.tokens(text)
        return ()

    @abstractmethod
    def outcomes(
        self, text: str | ModelInput, variants: Sequence[Edits], position: int | None = None
    ) -> Outcomes:
        """Return the output of each variant of the model's attention for one text.

        All variants have the same input tokens, including those that the unedited model generates.

        Args:
            variants: the edits of each variant; () is the unedited model.
            position: one of `prediction_positions`, at which to return probabilities; None: no probabilities.
        """

    @abstractmethod
    def words(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Return the readable texts of token ids."""

    def supported(
        self,
        text: str | ModelInput,
        *,
        pairs: bool = False,
        targets: bool = False,
        writes: bool = False,
        ids: bool = False,
        images: bool = False,
    ) -> ModelInput:
        """Return the input, if the model supports it.

        Raises:
            ModelNotSupported: a part of the input is not supported.
        """
        given = as_model_input(text)
        for value, is_supported, problem in (
            (given.second, pairs, "reads one text, not two sentences together. Omit the second sentence."),
            (given.target, targets, "has no decoder for a target. Omit the target."),
            (given.writing, writes, "cannot generate text. Trace it without generation."),
            (given.ids, ids, "reads a text, not token ids. Pass the text."),
            (given.images or None, images, "does not read images together with a text. Omit the images."),
        ):
            if value is not None and not is_supported:
                raise ModelNotSupported(f"{quoted(self.name)} {problem}")
        return given

    def need_cpu(self) -> None:
        """Raise unless the model runs on the CPU, as the caller's computation requires.

        Raises:
            ModelNotSupported: it runs on another device.
        """
        if self.device != "cpu":
            raise ModelNotSupported(
                f"{quoted(self.name)} runs on {self.device}, but this computation needs the CPU. Omit "
                "the device, or call model.cpu()."
            )

    def refuse_prediction(self, position: int | None) -> None:
        """Raise if a position is given, because this model does not predict tokens.

        Raises:
            ModelNotSupported: a position is given.
        """
        if position is not None:
            raise ModelNotSupported(f"{quoted(self.name)} does not predict tokens. Omit the position.")


def _with_type(found: object) -> str:
    return f"{reprlib.repr(found)} ({type(found).__name__})"


def _check(name: str, number: object, kind: type[int | float], maximum: float) -> None:
    """Raise unless `number` is of this kind and from 0 to `maximum`."""
    if isinstance(number, bool) or not isinstance(number, int | kind) or not 0 <= number <= maximum:
        noun = "a whole number" if kind is int else "a number"
        raise AttnvizError(f"{name} must be {noun} from 0 to {maximum:,}, not {number!r:.{_MAX_QUOTED}}.")


def _concatenated(parts: Sequence[Floats | None]) -> Floats:
    array = np.concatenate([part for part in parts if part is not None])
    array.setflags(write=False)
    return array
