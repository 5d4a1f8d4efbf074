"""What is a token? The sentence cut into characters, words, or word pieces, with their ids and places."""

from __future__ import annotations

import streamlit as st

from attnviz.analysis.display_tokens import visible_text
from attnviz.app import markdown
from attnviz.app.learn.computed import computed
from attnviz.app.learn.computed import weighted_average as compute
from attnviz.app.references import cited_markdown
from attnviz.app.state.choices import SPLIT

_split = computed(compute.split)

SPLITS = ("Characters", "Words", "Word pieces")

_TOKENS = 60  # that are drawn
_CHARACTERS = 300  # of the text that the ids give back
_RARE_WORD = "tokenization"

_ABOUT_SPLITS = {
    "Characters": "An alphabet is a small vocabulary. But a single letter says little, and the number of "
    "weights grows with the square of the number of tokens.",
    "Words": "A vocabulary without end: every name and every typing error is a new word, and a word that "
    "is not in the list has no vector. ␣ is a space, a token like the others.",
    "Word pieces": "What BERT reads (WordPiece, Wu et al. 2016): a common word is one token, a rare one is "
    "put together from pieces, and a piece inside a word begins with `##`: EXAMPLE. There are no capitals, "
    "accents or spaces, so the ids do not give those back. The tokenizer puts `[CLS]` and `[SEP]` at the "
    "ends; the averages on this page leave them out.\n\n"
    "GPT-2 merges frequent neighbours again and again (**byte-pair encoding**, Sennrich et al. 2016), from "
    "the 256 **bytes** up (Radford et al. 2019): no text is unknown to it.",
}


def draw(typed: str) -> None:
    """Draw the choice of splitting, the tokens, and what the ids give back."""
    st.markdown(
        "A *tokenizer* cuts the text into **tokens**. Each has an **id**: its place in the *vocabulary*, the "
        "list of all tokens. Below the id stand the characters of the text that it covers, counted from 0: "
        "from the first number up to, not including, the second."
    )
    kind = SPLIT.segments("Split", SPLITS, SPLITS[2])
    found = _split(kind, typed)
    shown = found.pieces[:_TOKENS]
    st.dataframe(
        {
            "token": [_written(piece.text) for piece in shown],
            "id": [piece.id for piece in shown],
            "characters": [f"{p.start}–{p.end}" if p.end > p.start else "added" for p in shown],
        },
        hide_index=True,
        height="content",
        width="content",
    )
    if len(shown) < len(found.pieces):
        st.markdown(f":small[… and {len(found.pieces) - len(shown):,} more tokens.]")
    count = len(found.pieces)
    same, back = found.back == typed, visible_text(found.back)
    back = back if len(back) <= _CHARACTERS else f"{back[:_CHARACTERS]}…"
    st.markdown(
        f"**{count} tokens** of a vocabulary of {found.vocabulary:,}, so {count} × {count} = {count**2:,} "
        "weights. "
        f"Back from the ids: {markdown.code(back)}"
        + (", exactly what was typed." if same else ", not quite what was typed.")
    )
    cited_markdown(_ABOUT_SPLITS[kind].replace("EXAMPLE", _example()))


def _example() -> str:
    found = _split(SPLITS[2], _RARE_WORD).pieces
    cut = " ".join(markdown.code(piece.text) for piece in found if piece.end > piece.start)
    return f"*{_RARE_WORD}* is {cut}"


def _written(label: str) -> str:
    """A space shows as ␣, a control character as its sign."""
    return visible_text(label.replace(" ", "␣"))
