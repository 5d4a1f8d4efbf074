"""The lesson "Translate": a sentence, its translation, and the source words that each word attended to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.app import markdown
from attnviz.app.components.share_table import share_table
from attnviz.app.lessons.computed import cached_translator
from attnviz.app.lessons.english import choose_variant, english, outside_note, reading_switch
from attnviz.app.lessons.lesson_page import LessonPage, lesson_page
from attnviz.app.lessons.measured import bundled_results, opening_head, variant_of
from attnviz.app.lessons.translate import values
from attnviz.app.lessons.translate.architecture import Part, Stack, diagram
from attnviz.app.page import stop
from attnviz.app.state.choices import FRENCH_WORD
from attnviz.app.weights_picture import weights_picture
from attnviz.errors import AttnvizError, ModelFilesDamaged
from attnviz.models import catalogue
from attnviz.text import isolated, percent
from attnviz.trace import Floats
from attnviz.trained.translator import variants
from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH
from attnviz.trained.vocabulary import END
from attnviz.widgets.tokens import ShownToken, shown_tokens

CODE = (
    ("attnviz.app.lessons.translate.values", "translate"),
    ("attnviz.trained.translator.translator", "_greedy"),
    ("attnviz.transformer.encoder_decoder", "EncoderDecoder"),
    ("attnviz.transformer.layers", "EncoderLayer", "DecoderLayer"),
)

_translate = cached_translator(values.translate)
_feed_forward_size = cached_translator(values.feed_forward_size)


@dataclass(frozen=True, eq=False)
class ShownTranslation:
    """A translation, and the row of the decoder that is shown.

    Attributes:
        text: English sentence.
        model: Name of the translator in the catalogue.
        translation: The French sentence, and all attention weights.
        row: Shown row of the decoder, from 0.
    """

    text: str
    model: str
    translation: values.Translation
    row: int

    @property
    def sources(self) -> DisplayTokens:
        """The English tokens."""
        return DisplayTokens(self.translation.source, self.text)

    @property
    def encoder_head(self) -> str:
        """The encoder head that attends from "it" to its referent most often, such as "2-1"."""
        return opening_head(self.model)

    @property
    def encoder(self) -> Floats:
        """The weights of `encoder_head`, [query, key]."""
        layer, head = (int(number) - 1 for number in self.encoder_head.split("-"))
        found: Floats = self.translation.trace.block("encoder", layer).weights[head]
        return found

    @property
    def cross_heads(self) -> list[int]:
        """The shown cross-attention heads, from 0: the head with an attention loss, or else all heads."""
        if variants.VARIANTS[variant_of(self.model)].alignment:
            return [variants.GUIDED_CROSS_HEAD]
        return list(range(catalogue.entry(self.model).heads))

    @property
    def cross(self) -> Floats:
        """The weights of `cross_heads`, [head, query, key]."""
        found: Floats = self.translation.trace.block("cross", 0).weights[self.cross_heads]
        return found

    def strongest_source(self, row: int) -> int:
        """Return the index of the English token with the largest weight in this row of the shown heads."""
        return int(self.cross[:, row].max(axis=0).argmax())

    def source_name(self, place: int) -> markdown.Markdown:
        """Return an English token as Markdown."""
        return markdown.token(place, self.sources.groups)


def draw() -> None:
    """Draw the lesson."""
    with lesson_page("translate") as page:
        with page.controls:
            shown = _choose(page)
        with page.picture:
            _picture(page, shown)
        page.explain()
        with page.beside:
            variant = variants.VARIANTS[variant_of(shown.model)]
            page.text("trained", title=variant.title, description=variant.description)
            _architecture(page, shown)
        _predict(page, shown)
        page.further(
            page.section("accuracy", _accuracy, shown),
            code=CODE,
        )


def _choose(page: LessonPage) -> ShownTranslation:
    """Draw the controls for the sentence, the translator and the French word (default: the pronoun)."""
    sentence, variant, word = st.columns([8, 4, 3])
    with sentence:
        text = english()
    with variant:
        model = choose_variant()
    try:
        found = _translate(model, text)
    except AttnvizError as error:
        stop(error, ":material/error:")
    outside_note(found.outside)
    options = _options(found)
    with word:
        opening = options[found.pronoun.step if found.pronoun else 0]
        FRENCH_WORD.follow(opening)
        row = options.index(FRENCH_WORD.select(page.label("french_word"), options, opening))
    return ShownTranslation(text, model, found, row)


def _options(found: values.Translation) -> list[str]:
    return [f"{row + 1} {word}" for row, word in enumerate(found.written)]


def _picture(page: LessonPage, shown: ShownTranslation) -> None:
    """Draw the French word's cross-attention, and the encoder attention of its key of largest weight."""
    found, sources = shown.translation, shown_tokens(shown.sources.groups)
    st.header(markdown.plain(found.text or END), anchor=False)
    reading_switch(shown.text)
    if found.written[-1] != END:
        page.text("unfinished", words=len(found.words))
    written = [ShownToken(label=word, name=word, title=word, special=word == END) for word in found.written]

    def pick(row: int | None, _: int | None) -> None:
        if row is not None:
            FRENCH_WORD.set(_options(found)[row])

    def lines(
        name: str, weights: Floats, heads: list[int], queries: list[ShownToken], query: int, layer: int
    ) -> None:
        heading = page.label(name, heads=", ".join(f"{layer}-{head + 1}" for head in heads))
        st.markdown(f":small[{markdown.plain(heading)}]")
        weights_picture(
            f"translation {name}",
            weights,
            queries,
            sources,
            view="lines",
            query=query,
            layer=layer,
            heads=[head + 1 for head in heads],
            heading=heading,
            caption=f"{isolated(shown.text)} → {isolated(found.text)} · {heading}",
            filename=f"attnviz-translation-{name}",
            on_pick=pick if name == "cross" else None,
        )

    st.markdown(f":small[{page.label('select')}]")
    left, right = st.columns(2, gap="medium")
    with left:
        lines("cross", shown.cross, shown.cross_heads, written, shown.row, 1)
    with right:
        layer, head = map(int, shown.encoder_head.split("-"))
        source = shown.strongest_source(shown.row)
        lines("encoder", shown.encoder[np.newaxis], [head - 1], sources, source, layer)
    after = page.label("next", after=found.target[shown.row].text)
    st.markdown(f":small[{markdown.plain(after)}]")
    share_table(
        "next words",
        title=after,
        columns=[page.label("probability")],
        rows=[
            {"place": str(rank), "label": word, "shares": [probability], "marked": rank == 1}
            for rank, (word, probability) in enumerate(found.choices[shown.row], start=1)
        ],
    )


def _architecture(page: LessonPage, shown: ShownTranslation) -> None:
    """Draw the architecture with the sizes of this model and this sentence."""
    entry, found, label = catalogue.entry(shown.model), shown.translation, page.label
    num_sources, num_targets = len(found.source), shown.row + 1
    add_norm = Part("block", label("add_norm"))
    feed_forward = Part(
        "block",
        label("feed_forward"),
        label("feed_forward_size", d_model=entry.d_model, hidden=_feed_forward_size(shown.model)),
    )

    def embedding(tokens: int) -> Part:
        return Part("positions", label("embedding"), label("vectors", tokens=tokens, d_model=entry.d_model))

    def weights(page_name: str, name: str, queries: int, keys: int) -> Part:
        return Part(page_name, label(name), label("queries_keys", queries=queries, keys=keys))

    self_attention = weights("query_key_value", "self", num_sources, num_sources)
    masked = weights("masks", "masked", num_targets, num_targets)
    cross = weights("cross_attention", "cross_attention", num_targets, num_sources)
    word, probability = found.choices[shown.row][0]
    st.html(
        diagram(
            label("architecture"),
            Stack(
                label("encoder_stack", layers=entry.layers, heads=entry.heads),
                label("english_tokens", tokens=num_sources),
                embedding(num_sources),
                [self_attention, add_norm, feed_forward, add_norm],
            ),
            Stack(
                label("decoder_stack", layers=entry.decoder_layers, heads=entry.heads),
                label("french_tokens", tokens=num_targets),
                embedding(num_targets),
                [masked, add_norm, cross, add_norm, feed_forward, add_norm],
            ),
            Part(
                "scale",
                label("softmax"),
                label("next_word", word=word, probability=percent(probability, 1), words=len(FRENCH)),
            ),
            cross=2,
        )
    )


def _predict(page: LessonPage, shown: ShownTranslation) -> None:
    """Draw the question about the pronoun, if there is one."""
    pronoun = shown.translation.pronoun
    step = pronoun.step if pronoun else shown.row
    source = shown.strongest_source(step)
    referent = int(shown.encoder[source].argmax())
    page.predict(
        pronoun=shown.translation.words[step] if pronoun else "",
        il=pronoun.il if pronoun else 0,
        elle=pronoun.elle if pronoun else 0,
        read=shown.source_name(source),
        head=shown.encoder_head,
        meant=shown.source_name(referent),
        weight=float(shown.encoder[source, referent]),
    )


def _accuracy(page: LessonPage, shown: ShownTranslation) -> None:
    """Draw the accuracy on held-out sentences."""
    try:
        found = bundled_results(variant_of(shown.model))
    except ModelFilesDamaged as error:
        st.error(markdown.plain(str(error)), icon=":material/error:")
        return
    page.text("accuracy", found=found, english=len(ENGLISH), french=len(FRENCH))
