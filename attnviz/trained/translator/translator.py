"""A small English–French translation model: building, decoding, saving and loading."""

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

from attnviz.interventions.edit import Edits, validate_edits
from attnviz.interventions.editing import edited
from attnviz.trained import weights_file
from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH
from attnviz.trained.vocabulary import END, PAD, START
from attnviz.transformer.encoder_decoder import EncoderDecoder, EncoderDecoderSteps
from attnviz.transformer.masks import padding_mask

Words = Sequence[str]


@dataclass(frozen=True)
class Sizes:
    """The sizes of the network, smaller than in Vaswani et al. 2017; d_head = d_model / n_heads."""

    d_model: int = 64
    n_heads: int = 4
    d_feed_forward: int = 128
    encoder_layers: int = 2
    decoder_layers: int = 1


def build(sizes: Sizes, seed: int) -> EncoderDecoder:
    """Return an untrained network for the two vocabularies.

    There is no dropout: the network does not overfit generated sentences, and trains faster without it.

    Args:
        sizes: Sizes of the network.
        seed: Seed of the initial weights; torch's global random state is unchanged.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return EncoderDecoder(len(ENGLISH), len(FRENCH), **asdict(sizes), dropout=0.0)


class Batch(NamedTuple):
    """A padded batch of sentences, as arguments of `EncoderDecoder`.

    Attributes:
        source_ids: Ids of the English words, [END] and padding.
        target_ids: Ids of [START], the French words and padding.
        source_mask: Padding mask of the source.
        cross_mask: Padding mask of the source, for the target's queries.
    """

    source_ids: Int[Tensor, "sentence source"]
    target_ids: Int[Tensor, "sentence target"]
    source_mask: Bool[Tensor, "sentence source source"]
    cross_mask: Bool[Tensor, "sentence target source"]


def batch(sources: Sequence[Words], targets: Sequence[Words]) -> Batch:
    """Return the batch of these sentences and translations, each a sequence of words."""
    source_ids = padded([encode_source(words) for words in sources])
    target_ids = padded([encode_target(words) for words in targets])
    real = source_ids != ENGLISH.ids([PAD])[0]
    source_mask = padding_mask(real, source_ids.shape[1])
    return Batch(source_ids, target_ids, source_mask, padding_mask(real, target_ids.shape[1]))


def encode_source(words: Words) -> list[int]:
    """Return the ids of English words and [END]."""
    return ENGLISH.ids([*words, END])


def encode_target(words: Words) -> list[int]:
    """Return the ids of [START] and French words, the decoder's input."""
    return FRENCH.ids([START, *words])


def padded(sentences: Sequence[Sequence[int]]) -> Int[Tensor, "sentence token"]:
    """Pad rows of ids with [PAD] to equal length."""
    rows = [torch.tensor(sentence, dtype=torch.long) for sentence in sentences]
    return pad_sequence(rows, batch_first=True, padding_value=ENGLISH.ids([PAD])[0])


def max_translation_words(source: Words) -> int:
    """Return the maximum number of words of a translation; an undertrained model may never generate [END]."""
    return 2 * (len(source) + 1)


class Translator:
    """A trained model; safe to share among threads.

    Args:
        model: The network; it is copied, so the caller can continue training it.
        sizes: Sizes of the network.
        about: Metadata: variant, seed, steps.
    """

    def __init__(self, model: EncoderDecoder, sizes: Sizes, about: Mapping[str, str]) -> None:
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        self.sizes = sizes
        self.about = dict(about)

    def steps(self, source_words: Words, target_words: Words, edits: Edits = ()) -> EncoderDecoderSteps:
        """Run one forward pass over a sentence and its translation, without a batch axis.

        Args:
            source_words: English words, without [END].
            target_words: French words, without [START] and [END].
            edits: Edits of the attention.

        Raises:
            InvalidEdit: the model has no such layer or head, or the sentences have no such token.
        """
        validate_edits(edits, len(source_words) + 1, len(target_words) + 1)
        model = edited(self.model, [edits]) if edits else self.model
        with torch.inference_mode():
            steps: EncoderDecoderSteps = model(
                torch.tensor(encode_source(source_words)), torch.tensor(encode_target(target_words))
            )
        return steps

    def steps_all(
        self, sources: Sequence[Words], targets: Sequence[Words], edits: Sequence[Edits] = ()
    ) -> EncoderDecoderSteps:
        """Run `steps` on a padded batch of sentences.

        Args:
            sources, targets: as in `steps`, one for each sentence.
            edits: One sequence for each sentence, or () for no edits.

        Raises:
            InvalidEdit: the model has no such layer or head, or a sentence has no such token.
        """
        for source, target, sentence_edits in zip(
            sources, targets, edits or [()] * len(sources), strict=True
        ):
            validate_edits(sentence_edits, len(source) + 1, len(target) + 1)
        model = edited(self.model, edits) if edits else self.model
        with torch.inference_mode():
            steps: EncoderDecoderSteps = model(*batch(sources, targets))
        return steps

    def translate(self, source_words: Words, edits: Edits = ()) -> tuple[str, ...]:
        """Translate a sentence by greedy decoding.

        Args:
            source_words: English words, without [END].
            edits: Edits of the attention.

        Returns:
            French words without [END], at most `max_translation_words`.

        Raises:
            InvalidEdit: the model has no such layer or head, or the sentences have no such token.
        """
        (words,) = self.translate_all([source_words], [edits] if edits else ())
        return words

    def translate_all(self, sources: Sequence[Words], edits: Sequence[Edits] = ()) -> list[tuple[str, ...]]:
        """Translate a batch of sentences.

        Args:
            sources: English words, without [END].
            edits: One sequence for each sentence, or () for no edits.

        Raises:
            InvalidEdit: the model has no such layer or head, or a sentence has no such token.
        """
        limits = [max_translation_words(words) for words in sources]
        for source, limit, sentence_edits in zip(sources, limits, edits or [()] * len(sources), strict=True):
            validate_edits(sentence_edits, len(source) + 1, limit + 1, at_most=True)
        model = edited(self.model, edits) if edits else self.model
        decoded = _greedy(model, sources)
        found = [until_end(words[:limit]) for words, limit in zip(decoded, limits, strict=True)]
        for source, words, sentence_edits in zip(sources, found, edits, strict=bool(edits)):
            validate_edits(sentence_edits, len(source) + 1, len(words) + 1)
        return found

    def save(self, file: Path) -> None:
        """Write the weights in float16, the sizes and `about`; the output is deterministic."""
        header = {"sizes": asdict(self.sizes), "about": self.about}
        weights_file.write(file, self.model, header)

    @classmethod
    def load(cls, file: Path) -> Translator:
        """Load a model, in float32.

        Raises:
            ModelFilesDamaged: as for `weights_file.read`.
        """
        model, header = weights_file.read(file, lambda header: build(Sizes(**header["sizes"]), seed=0))
        return cls(model, Sizes(**header["sizes"]), header["about"])


def _greedy(model: EncoderDecoder, sources: Sequence[Words]) -> list[list[str]]:
    """Decode greedily until every translation has [END], or up to the largest `max_translation_words`."""
    excluded = FRENCH.ids([PAD, START])
    translations: list[list[str]] = [[] for _ in sources]
    with torch.inference_mode():
        for _ in range(max(map(max_translation_words, sources))):
            logits = model(*batch(sources, translations)).logits[:, -1]
            logits[:, excluded] = float("-inf")
            for words, number in zip(translations, logits.argmax(dim=-1).tolist(), strict=True):
                words.append(FRENCH.word(number))
            if all(END in words for words in translations):
                break
    return translations


def until_end(words: Words) -> tuple[str, ...]:
    """Return the words before [END]."""
    return tuple(words[: words.index(END)] if END in words else words)
