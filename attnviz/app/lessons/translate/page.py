"""The lesson "Translate": a sentence, its translation, and the source words that each word attended to."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.analysis.sentence import strongest_keys
from attnviz.app import markdown
from attnviz.app.components.share_table import share_table
from attnviz.app.lessons.computed import cached_translator
from attnviz.app.lessons.english import choose_variant, english, other_reading, outside_note
from attnviz.app.lessons.lesson_page import LessonPage, lesson_page
from attnviz.app.lessons.measured import label_smoothing, opening_head, shipped, variant_of
from attnviz.app.lessons.translate import values
from attnviz.app.lessons.translate.architecture import Part, Stack, diagram
from attnviz.app.lessons.translate.translation import DrawnAttention, translation
from attnviz.app.page import stop
from attnviz.app.state import memory
from attnviz.app.state.choices import CROSS_HEAD, DECODER_HEAD, ENCODER_HEAD, FRENCH_WORD
from attnviz.errors import AttnvizError, ModelFilesDamaged
from attnviz.models import catalogue
from attnviz.text import head_name, percent
from attnviz.trace import Floats, Kind
from attnviz.trained.translator import variants
from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH
from attnviz.trained.vocabulary import END
from attnviz.widgets.tokens import shown_tokens

ALL = "all"
CODE = (
    ("attnviz.app.lessons.translate.values", "translate"),
    ("attnviz.trained.translator.translator", "_greedy"),
    ("attnviz.transformer.encoder_decoder", "EncoderDecoder"),
    ("attnviz.transformer.layers", "EncoderLayer", "DecoderLayer"),
)
_DIGITS = 6  # of the weights in the widget's message
_MAX_LISTED = 2  # tokens for each head
_GUIDED_CROSS_HEAD = str(variants.GUIDED_CROSS_HEAD + 1)
_WORD_MEMORY = "french was chosen for"
_HEAD_MEMORY = "cross_head was chosen for"

_translate = cached_translator(values.translate)
_hidden_size = cached_translator(values.hidden_size)


@dataclass(frozen=True, eq=False)
class ShownTranslation:
    """The sentence and what is shown of its translation.

    Attributes:
        text: the English sentence.
        model: the translator's name in the catalogue.
        translation: the French sentence, and all attention.
        row: the shown row of the decoder, from 0.
        encoder_head: layer and head, from 0.
        cross_heads, decoder_heads: the shown heads, from 0.
    """

    text: str
    model: str
    translation: values.Translation
    row: int
    encoder_head: tuple[int, int]
    cross_heads: tuple[int, ...]
    decoder_heads: tuple[int, ...]

    @property
    def sources(self) -> DisplayTokens:
        """The English tokens."""
        return DisplayTokens(self.translation.source, self.text)

    @property
    def targets(self) -> DisplayTokens:
        """The tokens that the decoder reads: [START] and the French words."""
        return DisplayTokens(self.translation.target, str(self.translation.trace.target))

    @property
    def word(self) -> str:
        """The word that the shown row chose."""
        return self.translation.written[self.row]

    @property
    def encoder(self) -> Floats:
        """The shown head of the encoder, [query, key]."""
        layer, head = self.encoder_head
        found: Floats = self.translation.trace.block("encoder", layer).weights[head]
        return found

    def heads(self, kind: Kind) -> Floats:
        """Return the shown heads of one attention of the decoder, [head, query, key]."""
        heads = self.cross_heads if kind == "cross" else self.decoder_heads
        found: Floats = self.translation.trace.block(kind, 0).weights[list(heads)]
        return found

    def strongest_source(self, row: int) -> int:
        """Return the English token, from 0, with the largest weight of the shown heads in this row."""
        return int(self.heads("cross")[:, row].max(axis=0).argmax())

    def source_name(self, place: int) -> markdown.Markdown:
        """Return an English token (from 0), as Markdown."""
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
            page.section("heads", _every_head, shown),
            page.section("accuracy", _accuracy, shown),
            code=CODE,
        )


def _choose(page: LessonPage) -> ShownTranslation:
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
    with button, st.popover(page.label("heads"), icon=":material/tune:", width="stretch"):
        row = _choose_row(page, text, model, found)
        encoder_head, cross_heads, decoder_heads = _choose_heads(page, model, found)
    return ShownTranslation(text, model, found, row, encoder_head, cross_heads, decoder_heads)


def _choose_row(page: LessonPage, text: str, model: str, found: values.Translation) -> int:
    """Draw the choice of a French word; with another translation, its pronoun is chosen first."""
    options = _rows(found)
    opening = options[found.pronoun.step if found.pronoun else 0]
    about = (text, model)
    if memory.get(_WORD_MEMORY, about) != about:
        FRENCH_WORD.set(opening)
    memory.put(_WORD_MEMORY, about)
    return options.index(FRENCH_WORD.select(page.label("french_word"), options, opening))


def _rows(found: values.Translation) -> list[str]:
    return [f"{row + 1} {word}" for row, word in enumerate(found.written)]


def _choose_heads(
    page: LessonPage, model: str, found: values.Translation
) -> tuple[tuple[int, int], tuple[int, ...], tuple[int, ...]]:
    """Draw the choices of the encoder's head, and of the heads of both attentions of the decoder."""
    blocks = found.trace.of_kind("encoder")
    num_heads = len(blocks[0].weights)
    names = [head_name(block.layer, head) for block in blocks for head in range(num_heads)]
    # Only an attention loss makes one head of cross-attention differ from the others from the start.
    default = _GUIDED_CROSS_HEAD if variants.VARIANTS[variant_of(model)].alignment else ALL
    if memory.get(_HEAD_MEMORY, model) != model:
        CROSS_HEAD.set(default)
        ENCODER_HEAD.set(opening_head(model))
    memory.put(_HEAD_MEMORY, model)
    name = ENCODER_HEAD.select(page.label("encoder_head"), names, opening_head(model))
    layer, head = (int(number) - 1 for number in name.split("-"))
    options = [ALL, *(str(head + 1) for head in range(num_heads))]
    cross = CROSS_HEAD.select(page.label("cross_head"), options, default)
    decoder = DECODER_HEAD.select(page.label("decoder_head"), options)
    return (layer, head), _numbered(cross, num_heads), _numbered(decoder, num_heads)


def _numbered(name: str, num_heads: int) -> tuple[int, ...]:
    return tuple(range(num_heads)) if name == ALL else (int(name) - 1,)


def _picture(page: LessonPage, shown: ShownTranslation) -> None:
    """Draw both sentences with the lines between them."""
    found = shown.translation
    st.header(markdown.plain(found.text), anchor=False)
    other_reading(shown.text)
    if found.written[-1] != END:
        page.text("unfinished", words=len(found.words))
    elif not found.words:
        page.text("empty")
    options = _rows(found)
    layer, head = shown.encoder_head
    targets, last = shown_tokens(shown.targets.groups), found.written[-1]
    translation(
        "translation",
        source=shown_tokens(shown.sources.groups),
        target=targets,
        written=[*targets[1:], {"label": last, "name": last, "title": "", "special": last == END}],
        row=shown.row,
        encoder=DrawnAttention(
            caption=page.label("layer_and_head", layer=layer + 1, head=head + 1),
            heads=[head + 1],
            weights=[_rounded(shown.encoder)],
        ),
        cross=_drawn(page, shown.heads("cross"), shown.cross_heads),
        decoder=_drawn(page, shown.heads("decoder"), shown.decoder_heads),
        title=f"{shown.text} → {found.text}",
        on_pick=lambda row: FRENCH_WORD.set(options[row]),
    )
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


def _drawn(page: LessonPage, weights: Floats, heads: tuple[int, ...]) -> DrawnAttention:
    caption = (
        page.label("head", head=heads[0] + 1)
        if len(heads) == 1
        else page.label("all_heads", heads=len(heads))
    )
    return DrawnAttention(
        caption=caption, heads=[head + 1 for head in heads], weights=[_rounded(head) for head in weights]
    )


def _rounded(weights: Floats) -> list[list[float]]:
    rows: list[list[float]] = weights.astype(float).round(_DIGITS).tolist()
    return rows


def _architecture(page: LessonPage, shown: ShownTranslation) -> None:
    """Draw the architecture with the sizes of this model and this sentence."""
    entry, found, label = catalogue.entry(shown.model), shown.translation, page.label
    num_sources, num_targets = len(found.source), shown.row + 1
    add_norm = Part("block", label("add_norm"))
    feed_forward = Part(
        "block",
        label("feed_forward"),
        label("feed_forward_size", d_model=entry.d_model, hidden=_hidden_size(shown.model)),
    )

    def embedding(tokens: int) -> Part:
        return Part("positions", label("embedding"), label("vectors", tokens=tokens, d_model=entry.d_model))

    def weights(page_name: str, name: str, queries: int, keys: int) -> Part:
        return Part(
            page_name, label(name), label("queries_keys", queries=queries, keys=keys, heads=entry.heads)
        )

    self_attention = weights("query_key_value", "self", num_sources, num_sources)
    masked = weights("masks", "masked", num_targets, num_targets)
    cross = weights("cross_attention", "cross", num_targets, num_sources)
    word, probability = found.choices[shown.row][0]
    st.html(
        diagram(
            label("architecture"),
            Stack(
                label("encoder", layers=entry.layers),
                label("english_tokens", tokens=num_sources),
                embedding(num_sources),
                [self_attention, add_norm, feed_forward, add_norm],
            ),
            Stack(
                label("decoder", layers=entry.decoder_layers),
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
    """Draw the question for the pronoun; without one there is none."""
    pronoun = shown.translation.pronoun
    step = pronoun.step if pronoun else shown.row
    read = shown.strongest_source(step)
    meant = int(shown.encoder[read].argmax())
    page.predict(
        pronoun=shown.translation.words[step] if pronoun else "",
        il=pronoun.il if pronoun else 0,
        elle=pronoun.elle if pronoun else 0,
        read=shown.source_name(read),
        head=head_name(*shown.encoder_head),
        meant=shown.source_name(meant),
        weight=float(shown.encoder[read, meant]),
    )


def _every_head(page: LessonPage, shown: ShownTranslation) -> None:
    """Draw a table for each kind of attention: the strongest keys of each head."""
    page.text("heads", word=markdown.code(shown.word))
    read = shown.strongest_source(shown.row)
    target = markdown.token(shown.row, shown.targets.groups)
    tables: list[tuple[Kind, int, DisplayTokens, DisplayTokens, str]] = [
        ("encoder", read, shown.sources, shown.sources, shown.source_name(read)),
        ("cross", shown.row, shown.targets, shown.sources, target),
        ("decoder", shown.row, shown.targets, shown.targets, target),
    ]
    for column, (kind, query, queries, keys, name) in zip(st.columns(3, gap="large"), tables, strict=True):
        rows = [
            {
                "head": head_name(block.layer, head),
                "attended": markdown.shares(
                    strongest_keys(weights, query, queries.groups, keys.groups, _MAX_LISTED).keys, bold=False
                ),
            }
            for block in shown.translation.trace.of_kind(kind)
            for head, weights in enumerate(block.weights)
        ]
        with column:
            page.text(kind, query=name)
            page.text("table", rows=rows)


def _accuracy(page: LessonPage, shown: ShownTranslation) -> None:
    """Draw what was measured on held-out sentences."""
    try:
        found = shipped(variant_of(shown.model))
    except ModelFilesDamaged as error:
        st.error(markdown.plain(str(error)), icon=":material/error:")
        return
    page.text(
        "accuracy",
        exact=found.exact,
        pronoun=found.pronoun,
        head=found.head,
        subject=found.subject,
        object=found.object,
        num_near_duplicates=found.num_near_duplicates,
        sentences=found.sentences,
        english=f"{len(ENGLISH):,}",
        french=f"{len(FRENCH):,}",
        smoothing=label_smoothing(shown.model),
    )
