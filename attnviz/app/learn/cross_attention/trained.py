"""Cross-attention that was trained: the French words of the translator read the English ones."""

from __future__ import annotations

import streamlit as st

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.analysis.sentence import looks
from attnviz.app import markdown
from attnviz.app.controls import describe
from attnviz.app.learn.computed import translated
from attnviz.app.learn.english import EXAMPLES
from attnviz.app.learn.translate import values as compute
from attnviz.app.models import lookup
from attnviz.app.state.choices import CROSS_EXAMPLE, TRAINED_HEAD
from attnviz.app.weights_picture import shown_tokens, weights_picture
from attnviz.models import catalogue

_translate = translated(compute.translate)

_HEADS = catalogue.entry(catalogue.TRANSLATOR).heads


def trained() -> None:
    """Draw one cross-attention head of the translator, and one of its rows in words."""
    st.markdown(
        "attnviz's own translator writes French word by word. Before each word it reads the English sentence "
        "through cross-attention, with :blue[$W_Q$], :red[$W_K$] and :green[$W_V$] that were learned for it. "
        "A row belongs to the word written last, and reads for the choice of the **next** one."
    )
    describe(lookup.entry(catalogue.TRANSLATOR))
    sentence, number = st.columns(2)
    with sentence:
        example = CROSS_EXAMPLE.select("Example", list(EXAMPLES))
    with number:
        head = TRAINED_HEAD.draw("Head of its decoder", _HEADS)
    read = _translate(catalogue.TRANSLATOR, EXAMPLES[example])
    block = read.trace.block("cross", layer=0)
    weights = block.weights[head - 1]
    step = read.pronouns[-1].step if read.pronouns else 0
    with st.container(border=True):
        weights_picture(
            "trained cross weights",
            weights[None],
            shown_tokens(read.target, read.trace.target or ""),
            shown_tokens(read.source, EXAMPLES[example]),
            query=step,
            heads=(head,),
            heading=f"Decoder, cross-attention head {head}",
            note="rows: French words, each choosing the next one; columns: English words that are read",
            caption=f"“{EXAMPLES[example]}” → “{read.text}” · cross-attention head {head}",
            filename=f"attnviz-trained-cross-attention-head{head}",
        )
        targets, sources = (
            DisplayTokens(read.target, read.trace.target or ""),
            DisplayTokens(read.source, EXAMPLES[example]),
        )
        row = looks(weights, step, targets.groups, sources.groups)
        listed = markdown.shares(row.keys)
        following = (*read.words, "[END]")[step]
        st.markdown(
            f"French: *{read.text}* After {markdown.code(row.query)}, choosing {markdown.code(following)}, "
            f"head {head} reads {listed}."
        )
    st.page_link(
        "pages/translate.py", label="Watch it translate, word by word", icon=":material/arrow_forward:"
    )
