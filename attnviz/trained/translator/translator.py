"""A small model that translates English into French: built, run word by word, kept in a file."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from attnviz.interventions.edit import Edits, refuse_misfits
from attnviz.interventions.editing import edited
from attnviz.trained import weights_file
from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH
from attnviz.trained.vocabulary import END, PAD, START
from attnviz.transformer.encoder_decoder import EncoderDecoder, EncoderDecoderSteps
from attnviz.transformer.masks import padding_mask

Words = Sequence[str]

_HEADER = "attnviz translator"
_WORDS = (*ENGLISH.words, *FRENCH.words)


@dataclass(frozen=True)
class Sizes:
    """The sizes of the network, d_head = d_model / n_heads; the paper's are in `EncoderDecoder`."""

    d_model: int = 64
    n_heads: int = 4
    d_feed_forward: int = 128
    encoder_layers: int = 2
    decoder_layers: int = 1


def build(sizes: Sizes, seed: int) -> EncoderDecoder:
    """A network that has learned nothing yet, between the two vocabularies.

    Sentences that a grammar makes have no noise to learn by heart: it learns faster without dropout.

    Args:
        seed: chooses its first random weights; torch's own random numbers go on as if nothing had happened.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return EncoderDecoder(len(ENGLISH), len(FRENCH), **asdict(sizes), dropout=0.0)


class Batch(NamedTuple):
    """Sentences of different lengths side by side, in the order in which `EncoderDecoder` takes them.

    Attributes:
        source_ids: the English words, [END] and padding.
        target_ids: [START], the French words and padding.
        source_mask: no source token attends to padding.
        target_mask: None: each target token attends to earlier ones only, and padding comes last.
        cross_mask: no target token attends to the source's padding.
    """

    source_ids: Int[Tensor, "sentence source"]
    target_ids: Int[Tensor, "sentence target"]
    source_mask: Bool[Tensor, "sentence source source"]
    target_mask: None
    cross_mask: Bool[Tensor, "sentence target source"]


def batch(sources: Sequence[Words], targets: Sequence[Words]) -> Batch:
    """What the model reads of these sentences and of their translations, each as words alone."""
    source_ids = padded([source_of(words) for words in sources])
    target_ids = padded([target_of(words) for words in targets])
    real = source_ids != ENGLISH.ids([PAD])[0]
    source_mask = padding_mask(real, source_ids.shape[1])
    return Batch(source_ids, target_ids, source_mask, None, padding_mask(real, target_ids.shape[1]))


def source_of(words: Words) -> list[int]:
    """The English words' numbers, and [END]."""
    return ENGLISH.ids([*words, END])


def target_of(words: Words) -> list[int]:
    """[START], and the French words' numbers: what the decoder reads."""
    return FRENCH.ids([START, *words])


def padded(sentences: Sequence[Sequence[int]]) -> Int[Tensor, "sentence token"]:
    """Numbers of words, each row filled up with [PAD] to the length of the longest."""
    rows = [torch.tensor(sentence, dtype=torch.long) for sentence in sentences]
    return pad_sequence(rows, batch_first=True, padding_value=ENGLISH.ids([PAD])[0])


def longest_translation(source: Words) -> int:
    """The maximum number of words of a translation: an undertrained model may never write [END]."""
    return 2 * (len(source) + 1)


class Translator:
    """A trained model; safe to share among threads.

    Args:
        model: is copied, so that it may be trained further.
        about: how it was made: variant, seed, steps.
    """

    def __init__(self, model: EncoderDecoder, sizes: Sizes, about: Mapping[str, str]) -> None:
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        self.sizes = sizes
        self.about = dict(about)

    def steps(self, source_words: Words, target_words: Words, edits: Edits = ()) -> EncoderDecoderSteps:
        """One pass over a sentence and its translation, without a batch axis.

        Args:
            source_words: English, without [END].
            target_words: French, without [START] and [END].
            edits: what is changed in the model's attention.

        Raises:
            InvalidEdit: the model or the sentences have no such place.
        """
        refuse_misfits(edits, len(source_words) + 1, len(target_words) + 1)
        model = edited(self.model, [edits]) if edits else self.model
        with torch.inference_mode():
            steps: EncoderDecoderSteps = model(
                torch.tensor(source_of(source_words)), torch.tensor(target_of(target_words))
            )
        return steps

    def steps_all(
        self, sources: Sequence[Words], targets: Sequence[Words], edits: Sequence[Edits] = ()
    ) -> EncoderDecoderSteps:
        """`steps` for many sentences at once, with a batch axis, and padding where a sentence is shorter.

        Args:
            sources, targets: as in `steps`, one for each sentence.
            edits: one sequence for each sentence, or () for none at all.

        Raises:
            InvalidEdit: the model or a sentence has no such place.
        """
        for source, target, of_sentence in zip(sources, targets, edits or [()] * len(sources), strict=True):
            refuse_misfits(of_sentence, len(source) + 1, len(target) + 1)
        model = edited(self.model, edits) if edits else self.model
        with torch.inference_mode():
            steps: EncoderDecoderSteps = model(*batch(sources, targets))
        return steps

    def translate(self, source_words: Words, edits: Edits = ()) -> tuple[str, ...]:
        """Word by word, each time the most probable one (greedy decoding).

        Args:
            source_words: English, without [END].
            edits: what is changed in the model's attention.

        Returns:
            French words without [END], broken off after `longest_translation`.

        Raises:
            InvalidEdit: the model or the sentences have no such place.
        """
        (words,) = self.translate_all([source_words], [edits] if edits else ())
        return words

    def translate_all(self, sources: Sequence[Words], edits: Sequence[Edits] = ()) -> list[tuple[str, ...]]:
        """`translate` for many sentences at once.

        Args:
            sources: English, without [END].
            edits: one sequence for each sentence, or () for none at all.

        Raises:
            InvalidEdit: the model or a sentence has no such place.
        """
        limits = [longest_translation(words) for words in sources]
        for source, limit, of_sentence in zip(sources, limits, edits or [()] * len(sources), strict=True):
            refuse_misfits(of_sentence, len(source) + 1, limit + 1, at_most=True)
        model = edited(self.model, edits) if edits else self.model
        spoken = _greedy(model, sources)
        found = [until_end(words[:limit]) for words, limit in zip(spoken, limits, strict=True)]
        for source, words, of_sentence in zip(sources, found, edits, strict=bool(edits)):
            refuse_misfits(of_sentence, len(source) + 1, len(words) + 1)
        return found

    def save(self, file: Path) -> None:
        """Write the numbers in float16, the sizes and `about`; the same model gives the same bytes."""
        header = {"sizes": asdict(self.sizes), "about": self.about}
        weights_file.write(file, _HEADER, self.model, _WORDS, header)

    @classmethod
    def load(cls, file: Path) -> Translator:
        """A model from its file, in float32.

        Raises:
            ModelFilesDamaged: as `weights_file.read`.
        """
        model, header = weights_file.read(
            file,
            _HEADER,
            _WORDS,
            lambda header: build(Sizes(**header["sizes"]), seed=0),
        )
        return cls(model, Sizes(**header["sizes"]), header["about"])


def _greedy(model: EncoderDecoder, sources: Sequence[Words]) -> list[list[str]]:
    """Decode greedily, until every translation has [END]."""
    no_words = FRENCH.ids([PAD, START])
    spoken: list[list[str]] = [[] for _ in sources]
    with torch.inference_mode():
        for _ in range(max(map(longest_translation, sources))):
            logits = model(*batch(sources, spoken)).logits[:, -1]
            logits[:, no_words] = float("-inf")
            for words, number in zip(spoken, logits.argmax(dim=-1).tolist(), strict=True):
                words.append(FRENCH.word(number))
            if all(END in words for words in spoken):
                break
    return spoken


def until_end(words: Words) -> tuple[str, ...]:
    """The words before [END]."""
    return tuple(words[: words.index(END)] if END in words else words)
