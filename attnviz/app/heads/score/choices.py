"""Controls for a test of heads, its examples, a model and a head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from attnviz.app import controls
from attnviz.app.heads import choosing, texts
from attnviz.app.page import bar
from attnviz.app.state import link
from attnviz.app.state.choices import SOURCE, TEST, TEXT
from attnviz.experiments.by_rule import SENTENCES
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.head_tests import TESTS
from attnviz.experiments.scoring import HeadTest
from attnviz.experiments.sentences import self_attention

DEFAULT_TEST = "pronoun to noun"
"""The default test, in which the head that Explore opens first has a high score."""


@dataclass(frozen=True)
class TestedHead(choosing.HeadSelection):
    """The selected head, the test, and its examples; `corpus` is None before the visitor enters examples."""

    test: HeadTest[Any]
    corpus: Corpus | None


def choose() -> TestedHead:
    """Draw the controls.

    Raises:
        AttnvizError: the model is unusable, or there are too many examples.
    """
    with bar():
        first, second, third = st.columns([5, 3, 4])
        below = st.container(horizontal=True, vertical_alignment="center")
    with first:
        test = TESTS[TEST.select("Test", list(TESTS), DEFAULT_TEST)]
    with second:
        entry = controls.reading_model(offer_own=False)
    kind = self_attention(entry)
    with third:
        layer, head = choosing.head(entry, kind)
    with below:
        source = SOURCE.segments("Examples", texts.SOURCES)
        corpus = texts.corpus(source, test.source) if source == texts.BUNDLED else None
    if corpus is None:
        initial = link.current(TEXT) if test.source is SENTENCES else test.source.example
        corpus = texts.corpus(source, test.source, initial)
    TEXT.keep()
    return TestedHead(entry, kind, layer, head, test, corpus)
