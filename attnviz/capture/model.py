"""What a model is given, what it answers, and what every loaded model can do; all of it without torch."""

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
    """A text, the ids of its tokens, or what a tokenizer of transformers returns."""

    Network = str | Path | Module
    """A model's name, its folder, or an object of transformers."""

    Precision = str | torch.dtype
    """In which numbers a model runs."""

    Device = str | torch.device
    """Where it runs."""

    Tokenizer = PreTrainedTokenizerBase | Callable[[str], Any]
    """Of transformers, or a function from a text to ids with the method `convert_ids_to_tokens`."""

    Picture = Image.Image | Path | bytes
    """A picture of Pillow's, a file, or what is in one."""

    Processor = BaseImageProcessor | ProcessorMixin
    """What prepares images for a model."""

MAX_NEW_TOKENS = 100
"""The most tokens that a model is asked to write."""

MIN_TEMPERATURE, MAX_TEMPERATURE = 0.01, 10.0
"""What scores may be divided by, besides 0 for no chance at all."""

MAX_SEED = 2**32 - 1
"""The largest number that random numbers may start from."""

MAX_NUMBERS = 2**25
"""How many numbers one batch of variants may need in memory: 128 MB."""

MAX_VARIANTS = 64
"""How many variants one batch has at most; more would not be faster."""

OcclusionMethod = Literal["mask vector", "mean vector", "deleted"]
"""How a token is removed: its embedding is replaced with that of the mask token or with the mean of all
embeddings; or it is deleted from the sequence."""

OCCLUSION_METHODS: tuple[OcclusionMethod, ...] = get_args(OcclusionMethod)
"""All occlusion methods."""

_MAX_QUOTED = 30  # characters of a wrong number that its error message repeats
_VECTORS = 12  # of d_model numbers that a layer needs for each token, the feed-forward network's included
_MATRICES = 4  # of [query, key] numbers for each head: scores, masked scores, weights, and changed ones


@dataclass(frozen=True, slots=True)
class Writing:
    """How a decoder chooses the tokens that it writes (the same seed gives the same tokens).

    Attributes:
        tokens: how many it writes at most, 0 to `MAX_NEW_TOKENS`; it may end its text earlier.
        temperature: what its scores are divided by; 0: it always takes the likeliest token.
        top_k: it chooses among so many of the likeliest; 0: among all (Fan et al. 2018).
        top_p: it chooses among the likeliest that together have this probability; 1: among all
            (Holtzman et al. 2020).
        seed: of the random numbers.

    Raises:
        AttnvizError: a number is out of its range.
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
    """What a model reads, and what it is to write: a key of the caches.

    Attributes:
        text: what the model reads (an encoder–decoder: its encoder). For a model that sees pictures, the
            picture's name; "" where its tokens are given.
        second: a second sentence that a model like BERT reads together with the first; None for none.
        target: what the decoder of an encoder–decoder reads; None: what the model itself writes.
        writing: how a decoder writes on; None: it only reads (an encoder–decoder without a target takes the
            likeliest token each time).
        ids: the tokens of the text, rows of the vocabulary, in place of it; special tokens included.
        images: what a vision-language model reads with the text: files, their bytes, or pictures of Pillow's.

    Raises:
        TypeError: something is of another type.
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
    """A text alone is read as it is."""
    return ModelInput(text) if isinstance(text, str) else text


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate for a place.

    Attributes:
        text: as a person reads it (" dog" for GPT-2's "Ġdog").
        id: its row in the vocabulary.
        probability: of the softmax over the whole vocabulary, before any filter.
        share: what it is after temperature, top-k and top-p, by which it is or would be drawn; equal to
            `probability` where the model does not write.
    """

    text: str
    id: int
    probability: float
    share: float


class ExpectedToken(NamedTuple):
    """The token with the measured probability.

    Attributes:
        id: its row in the vocabulary.
        text: as a person reads it.
        probability: that the model gives it.
        kind: "next", what follows the chosen token, or "masked", what was masked there.
        actual: whether it is the token in that place; else it is the most probable one.
    """

    id: int
    text: str
    probability: float
    kind: Expects
    actual: bool


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model expects at one place.

    Attributes:
        position: the token, from 0, at whose place the model expects this: a token after which something
            follows, or a masked token.
        expects: "next", the token that follows there, or "masked", the token that was masked there.
        candidates: the likeliest ones, likeliest first.
        actual: the token that really follows (typed, or drawn by the model); None after the last one, unless
            the text ended there, and for a masked token.
    """

    position: int
    expects: Expects
    candidates: tuple[Candidate, ...]
    actual: Candidate | None


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What comes out of a model that reads a text once for each variant of its attention.

    Attributes:
        states: [variant, token, d_model], what the last layer puts out; the decoder's, where there is one
            beside an encoder.
        source: [variant, token, d_model], the encoder output that such a decoder attends to, else None.
        probabilities: [variant, vocabulary], the prediction at the requested position; None
            where none was.
    """

    states: Floats
    source: Floats | None = None
    probabilities: Floats | None = None

    @staticmethod
    def of_batches(
        variants: Sequence[Edits], each: int, run: Callable[[Sequence[Edits]], Outcomes]
    ) -> Outcomes:
        """The outcomes of all variants, some at a time, so that memory stays bounded however many there are.

        Args:
            variants: the edits of each.
            each: how many numbers one of them needs in memory; see `numbers_of_variant`.
            run: reads the text with some of the variants in one batch.
        """
        size = max(1, min(MAX_VARIANTS, MAX_NUMBERS // each))
        parts = [run(variants[first : first + size]) for first in range(0, len(variants), size)]
        return Outcomes(
            _joined([part.states for part in parts]),
            None if parts[0].source is None else _joined([part.source for part in parts]),
            None if parts[0].probabilities is None else _joined([part.probabilities for part in parts]),
        )


def numbers_of_variant(tokens: int, heads: int, d_model: int, vocabulary: int = 0) -> int:
    """How many numbers one variant of a model needs in memory at once, about.

    Args:
        tokens: that it reads.
        heads, d_model: the sizes of a layer.
        vocabulary: how many tokens it predicts probabilities of at every position; 0: none.
    """
    return tokens * (_MATRICES * heads * tokens + _VECTORS * d_model + 2 * vocabulary)


class Model(ABC):
    """A loaded model: safe to share among threads.

    A text alone means `ModelInput(text)`. What a model cannot do (a second sentence, a target, writing
    on) it refuses with ModelNotSupported. Every method raises AttnvizError for a text that it cannot read.

    Attributes:
        name: what it is called, in links and messages.
        dtype: in which numbers it runs.
        device: where it runs, as torch calls it.
        weights_alone: why it gives its weights and nothing else of its attention; None: it gives all.
        notes: sentences for each of its traces, such as inside of what a caller's model was found.
    """

    name: str
    dtype: DType = "float32"
    device: str = "cpu"
    weights_alone: str | None = None
    notes: tuple[str, ...] = ()

    def need_vectors(self) -> None:
        """Refuse what is computed from queries, keys, values or masks.

        Raises:
            ModelNotSupported: it gives its weights alone.
        """
        if self.weights_alone is not None:
            raise ModelNotSupported(self.weights_alone)

    @abstractmethod
    def tokens(self, text: str | ModelInput) -> tuple[Token, ...]:
        """What the model, or its encoder, reads; see `loading.tokens`."""

    @abstractmethod
    def trace(self, text: str | ModelInput, *, edits: Edits = (), selection: Selection = EVERYTHING) -> Trace:
        """One forward pass; a model that is to write does so first.

        Args:
            text: what it reads; what it writes, it writes with the same edits.
            edits: changes to its attention. The trace shows the weights that it went on with. Of a head
                whose output was replaced it shows the head's own weights, values and output; its `edits`
                name the head.
            selection: what is kept of it.

        Raises:
            EmptyText, TextTooLong, UnreadableText, UnknownWords: a text cannot be read as it is.
            ModelNotSupported: this model cannot do what is asked.
            InvalidEdit, InvalidTrace: the model or the text has no such place.
        """

    def traces(self, texts: Sequence[ModelInput], selection: Selection = EVERYTHING) -> Iterator[Trace]:
        """The traces of many texts, in their order, read together where the model can."""
        return (self.trace(text, selection=selection) for text in texts)

    def predictions(self, text: str | ModelInput, *, edits: Edits = ()) -> tuple[Prediction, ...]:
        """What it expects, place by place, in the same forward pass; empty without a language-model head."""
        self.tokens(text)
        if edits:
            self.trace(text, edits=edits)  # it may refuse them
        return ()

    def prediction_positions(self, text: str | ModelInput) -> tuple[int, ...]:
        """The tokens, from 0, at which it expects something: what follows, or what is masked.

        They are tokens of its decoder, where it has one. None where it has no head for tokens, or where
        nothing is masked.
        """
        self.tokens(text)
        return ()

    @abstractmethod
    def outcomes(
        self, text: str | ModelInput, variants: Sequence[Edits], position: int | None = None
    ) -> Outcomes:
        """What comes out if it reads a text once for each variant of its attention.

        All variants read the same tokens. What a model writes itself, it writes unchanged: only then does
        nothing differ but the changes.

        Args:
            variants: the edits of each; () is the model as it is.
            position: one of `prediction_positions`, for which it is asked; None: it is not asked.
        """

    @abstractmethod
    def words(self, ids: Sequence[int]) -> tuple[str, ...]:
        """What the tokens of these numbers are, as a person reads them."""

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
        """What is given, if the model can do it all: read two sentences, a target, or tokens, and write on.

        Raises:
            ModelNotSupported: the model has no such ability; the message names those it has.
        """
        given = as_model_input(text)
        for asked, can, otherwise in (
            (given.second, pairs, "reads one text, not two sentences together. Leave the second one out."),
            (given.target, targets, "has no decoder that could read a second text. Leave it out."),
            (given.writing, writes, "only reads, and writes nothing. Ask it to read without writing on."),
            (given.ids, ids, "reads a text, not its tokens. Give it the text."),
            (given.images or None, images, "reads no pictures together with a text. Leave images out."),
        ):
            if asked is not None and not can:
                raise ModelNotSupported(f"{quoted(self.name)} {otherwise}")
        return given

    def need_processor(self) -> None:
        """Refuse what is computed on the processor alone, if it runs elsewhere.

        Raises:
            ModelNotSupported: it does.
        """
        if self.device != "cpu":
            raise ModelNotSupported(
                f"{quoted(self.name)} runs on {self.device}, and this is computed on the processor. Leave "
                "the device out, or call model.cpu()."
            )

    def refuse_prediction(self, position: int | None) -> None:
        """Raise, since the model predicts no tokens.

        Raises:
            ModelNotSupported: a position is given.
        """
        if position is not None:
            raise ModelNotSupported(f"{quoted(self.name)} expects no tokens. Ask it for its vectors alone.")


def _with_type(found: object) -> str:
    return f"{reprlib.repr(found)} ({type(found).__name__})"


def _check(what: str, number: object, kind: type[int | float], most: float) -> None:
    """Refuse what is no number of this kind from 0 to `most`."""
    if isinstance(number, bool) or not isinstance(number, int | kind) or not 0 <= number <= most:
        called = "a whole number" if kind is int else "a number"
        raise AttnvizError(f"{what} must be {called} from 0 to {most:,}, not {number!r:.{_MAX_QUOTED}}.")


def _joined(parts: Sequence[Floats | None]) -> Floats:
    together = np.concatenate([part for part in parts if part is not None])
    together.setflags(write=False)
    return together
