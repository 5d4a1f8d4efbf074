"""What the page on the translator is about: a sentence, who translates it, a French word, some heads."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.app import markdown
from attnviz.app.learn.computed import translate as compute
from attnviz.app.learn.computed import translated
from attnviz.app.learn.english import choose_variant, english, outside_note
from attnviz.app.learn.measured import variant_of
from attnviz.app.page import stop
from attnviz.app.state import memory
from attnviz.app.state.choices import CROSS_HEAD, DECODER_HEAD, ENCODER_HEAD, FRENCH_WORD
from attnviz.errors import AttnvizError
from attnviz.text import head_name
from attnviz.trace import Floats, Kind
from attnviz.trained.translator import variants

_translate = translated(compute.translate)

ALL = "all"
TAUGHT_CROSS_HEAD = str(variants.TAUGHT_CROSS_HEAD + 1)
TAUGHT_HEAD = head_name(variants.TAUGHT_LAYER, variants.TAUGHT_HEAD)
_HEADS_HELP = "Which French word and which heads the picture shows"
_MEMORY = "french was chosen for"
_HEADS_MEMORY = "cross_head was chosen for"


@dataclass(frozen=True, eq=False)
class ShownTranslation:
    """What the page is about.

    Attributes:
        text: the English sentence.
        model: who translates it; a name in the catalogue.
        translation: the French one, and all attention on the way.
        row: the decoder's row that is shown, from 0.
        encoder_head: the encoder's layer and head that are shown, from 0.
        cross_heads, decoder_heads: the decoder's heads that are shown, from 0.
    """

    text: str
    model: str
    translation: compute.Translation
    row: int
    encoder_head: tuple[int, int]
    cross_heads: tuple[int, ...]
    decoder_heads: tuple[int, ...]

    @property
    def sources(self) -> DisplayTokens:
        """The English tokens as they are shown."""
        return DisplayTokens(self.translation.source, self.text)

    @property
    def targets(self) -> DisplayTokens:
        """What the decoder reads: [START] and the French words."""
        return DisplayTokens(self.translation.target, str(self.translation.trace.target))

    @property
    def pronoun(self) -> compute.PronounChoice | None:
        """The first *il* or *elle* of the translation."""
        return next(iter(self.translation.pronouns), None)

    def weights(self, kind: Kind, layer: int = 0) -> Floats:
        """[head, query, key] of one block."""
        return self.translation.trace.block(kind, layer).weights

    @property
    def encoder(self) -> Floats:
        """The shown head of the encoder, [query, key]."""
        layer, head = self.encoder_head
        found: Floats = self.weights("encoder", layer)[head]
        return found

    @property
    def cross(self) -> Floats:
        """The shown heads of cross-attention, [head, row, source]."""
        found: Floats = self.weights("cross")[list(self.cross_heads)]
        return found

    def read(self, row: int) -> int:
        """The English token, from 0, to which one of the shown heads gives the most in this row."""
        return int(self.cross[:, row].max(axis=0).argmax())

    def source_name(self, place: int) -> str:
        """An English token (from 0), as Markdown."""
        return markdown.token(place, self.sources.groups)

    def target_name(self, place: int) -> str:
        """What the decoder reads at a row (from 0), as Markdown."""
        return markdown.token(place, self.targets.groups)


def written(translation: compute.Translation) -> tuple[str, ...]:
    """What each row of the decoder chose: the French words, and [END] if it came to an end."""
    (last, _), *_ = translation.choices[-1]
    return (*translation.words, last)


def choose() -> ShownTranslation:
    """Draw the sentence, who translates it, and which French word the page is about."""
    sentence, variant, button = st.columns([8, 5, 2])
    with sentence:
        text = english()
    with variant:
        model = choose_variant()
    try:
        found = _translate(model, text)
    except AttnvizError as error:
        stop(error, ":material/error:")
    outside_note(found.outside)
    with button, st.popover("Heads", help=_HEADS_HELP, icon=":material/tune:", width="stretch"):
        row = _choose_row(text, model, found)
        encoder_head, cross_heads, decoder_heads = _choose_heads(model, found)
    return ShownTranslation(text, model, found, row, encoder_head, cross_heads, decoder_heads)


def _choose_row(text: str, model: str, found: compute.Translation) -> int:
    """Draw the choice of a French word; with another translation, its pronoun is chosen first."""
    options = [f"{row + 1} {word}" for row, word in enumerate(written(found))]
    opening = options[found.pronouns[0].step if found.pronouns else 0]
    about = (text, model)
    if memory.get(_MEMORY, about) != about:
        FRENCH_WORD.set(opening)
    memory.put(_MEMORY, about)
    return options.index(FRENCH_WORD.select("French word to choose", options, opening))


def _choose_heads(
    model: str, found: compute.Translation
) -> tuple[tuple[int, int], tuple[int, ...], tuple[int, ...]]:
    """Draw the choices of the encoder's head, and of the heads of both attentions of the decoder."""
    blocks = found.trace.of_kind("encoder")
    n_heads = len(blocks[0].weights)
    names = [head_name(block.layer, head) for block in blocks for head in range(n_heads)]
    name = ENCODER_HEAD.select("Encoder: layer-head", names, TAUGHT_HEAD)
    layer, head = (int(number) - 1 for number in name.split("-"))
    # Where no head was told to read "it", none is worth more than the others.
    default = TAUGHT_CROSS_HEAD if variants.VARIANTS[variant_of(model)].alignment else ALL
    if memory.get(_HEADS_MEMORY, model) != model:
        CROSS_HEAD.set(default)
    memory.put(_HEADS_MEMORY, model)
    options = [ALL, *(str(head + 1) for head in range(n_heads))]
    cross = CROSS_HEAD.select("Cross-attention: head, or all side by side", options, default)
    back = DECODER_HEAD.select("Decoder: head, or all side by side", options)
    return (layer, head), _heads_named(cross, n_heads), _heads_named(back, n_heads)


def _heads_named(name: str, n_heads: int) -> tuple[int, ...]:
    """All heads, or the one of this number; from 0."""
    return tuple(range(n_heads)) if name == ALL else (int(name) - 1,)
