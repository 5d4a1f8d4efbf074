"""Whose six steps? BERT's, or those of one of the translator's three kinds of attention."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.app import controls, markdown
from attnviz.app.learn import choosing
from attnviz.app.learn.computed import MODEL, translated
from attnviz.app.learn.english import english, outside_note
from attnviz.app.learn.translate import values as compute
from attnviz.app.state.choices import SIX_STEPS_OF, TRANSLATOR_HEAD, TRANSLATOR_LAYER, TRANSLATOR_QUERY
from attnviz.capture import loading
from attnviz.models import catalogue
from attnviz.models.catalogue import TRANSLATOR
from attnviz.trace import Kind
from attnviz.trained.translator import variants

_translate = translated(compute.translate)


@dataclass(frozen=True, kw_only=True)
class Attention:
    """One kind of attention of one model, and how the page speaks of it.

    Attributes:
        model, kind: as the lesson calls them.
        whose: whose heads these are.
        asked: whom a token asks, each of whom offers something.
        reads: what reads the tokens; "{layer}" is the layer's number.
        first: where the vectors of its first layer come from.
        later: where those of a later layer come from; "{layer}" is the number of the layer before.
        special: what one could wrongly conclude from the tokens that the model adds.
    """

    model: str
    kind: Kind
    whose: str
    asked: str
    reads: str
    first: str
    later: str = "Layer {layer} handed it on: it already holds something of other tokens."
    special: str

    def origin(self, layer: int) -> str:
        """Where the vectors that a layer (from 0) reads come from."""
        return self.later.format(layer=layer) if layer else self.first

    @property
    def layers(self) -> int:
        """How many layers have such attention."""
        return catalogue.entry(self.model).layers_of(self.kind)


_EMBEDDED = (
    "The learned vector of the word, times the square root of its size, plus sines and cosines of its place "
    "(page 6): nothing read yet."
)
_MARKS = (
    "**That [START] and [END] mean much.** They mark where the French sentence begins and the English one "
    "ends, and can still get most of a head’s weight."
)

BERT = "BERT"

ATTENTIONS = {
    BERT: Attention(
        model=MODEL,
        kind="encoder",
        whose="BERT",
        asked="every token",
        reads="Layer {layer}",
        first="The learned vectors of the token, its place and its segment (first or second text), added and "
        "normalised: nothing read yet.",
        special="**That [CLS] and [SEP] mean much.** The tokenizer adds them, and in many heads they get "
        "most of the weight (Clark et al. 2019); what is then read there is often small "
        "(Kobayashi et al. 2020).",
    ),
    "Translator: English reads English": Attention(
        model=TRANSLATOR,
        kind="encoder",
        whose="the translator’s encoder",
        asked="every English token",
        reads="Layer {layer} of the encoder",
        first=_EMBEDDED,
        special=_MARKS,
    ),
    "Translator: French reads French": Attention(
        model=TRANSLATOR,
        kind="decoder",
        whose="the translator’s decoder",
        asked="itself and every French token before it",
        reads="Layer {layer} of the decoder",
        first=_EMBEDDED,
        special=_MARKS,
    ),
    "Translator: French reads English": Attention(
        model=TRANSLATOR,
        kind="cross",
        whose="the translator’s cross-attention",
        asked="every English token",
        reads="The decoder",
        first="The encoder’s output: it already holds something of the other English tokens.",
        special=_MARKS,
    ),
}

LOOKING_ACROSS = (
    "From the decoder’s own attention and Add & Norm (page 8), where it read itself and the French tokens "
    "before it."
)
"""Where the vector of a token that looks at another text comes from."""


def choose() -> tuple[Attention, str, int, int, int]:
    """Draw the choices; return the attention, the sentence, and a layer, a head and a token, from 0."""
    model, others = st.columns([2, 9])
    with model:
        attention = ATTENTIONS[SIX_STEPS_OF.select("Model", tuple(ATTENTIONS), BERT)]
    with others.container(key="beside-model"):
        if attention.model != MODEL:
            return attention, *_ask_translator(attention)
        chosen = choosing.head_selection()
        return attention, chosen.text, chosen.layer, chosen.head, chosen.query


def _ask_translator(attention: Attention) -> tuple[str, int, int, int]:
    """The same with the translator's own sentence; its decoder's words are those of its translation."""
    columns = st.columns([5, 4, 3], vertical_alignment="bottom")
    with columns[0]:
        text = english()
    translation = _translate(TRANSLATOR, text)
    with columns[1]:
        layer, head = _choose_translators_head(attention)
    with columns[2]:
        token = _choose_translators_word(attention, text, translation)
    outside_note(translation.outside)
    if attention.kind != "encoder":
        st.markdown(f"Its translation: {markdown.plain(translation.text)}")
    return text, layer, head, token


def _choose_translators_head(attention: Attention) -> tuple[int, int]:
    """From 0; where there is but one layer, there is nothing to choose."""
    taught = variants.TAUGHT_CROSS_HEAD if attention.kind == "cross" else variants.TAUGHT_HEAD
    heads = catalogue.entry(attention.model).heads
    if attention.layers == 1:
        return 0, TRANSLATOR_HEAD.draw("Head", heads, taught + 1) - 1
    opening = variants.TAUGHT_LAYER + 1, taught + 1
    return controls.head(attention.layers, heads, opening, (TRANSLATOR_LAYER, TRANSLATOR_HEAD))


def _choose_translators_word(attention: Attention, text: str, translation: compute.Translation) -> int:
    """At first, who is at the root of *il* or *elle*: "it", or the French word that it is written after."""
    if attention.kind == "encoder":
        groups = DisplayTokens(loading.tokens(TRANSLATOR, text), text).groups
        begin = None
    else:
        groups = DisplayTokens(translation.target, str(translation.trace.target)).groups
        begin = translation.pronouns[0].step if translation.pronouns else len(groups) // 2
    of = attention.kind, text
    return controls.token(groups, of, "Query (looks)", TRANSLATOR_QUERY, begin)
