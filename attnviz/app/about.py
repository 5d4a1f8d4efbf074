"""The texts of the About page; all figures are computed."""

from math import isqrt

import streamlit as st

from attnviz.app.models.facts import reads, shape
from attnviz.app.references import cited_markdown
from attnviz.app.traces import MAX_WEIGHTS
from attnviz.models import catalogue


def how_to_read() -> None:
    """Explain how to read the picture of a head."""
    cited_markdown(
        """
A transformer reads a text as **tokens**: words, pieces of words, punctuation. In every **head** of every
**layer**, each token attends to tokens of the text. A **weight** is how much one token attends to another.

- In a head, each token has a :blue[query] and a :red[key]. The better a query matches a key, the larger the
  score.
- The weights of a head form a matrix. A row belongs to a query token, a column to a key token.
- For BERT, [CLS] is added at the beginning of a text and [SEP] at its end.
- The weights of one row sum to 100 %. In GPT-OSS they sum to less: each head has a **sink**, a learned score
  that is part of every row’s softmax but belongs to no token (Agarwal et al. 2025).
- Our **translators** have three kinds of attention: in the *encoder* the English words attend to each other;
  in the *decoder* each French word attends to the French words so far; in *cross*-attention, to the English
  words. The next French word is predicted from the decoder's output at the last
  French word so far. [START] and [END] are special tokens.
- In a **decoder** such as GPT-2, each token attends only to itself and earlier tokens. The next word is
  predicted at the last token: the prediction of a word uses the row of the token before it.
- If two sentences are **read together**, ᴬ or ᴮ after a token marks its sentence.
- Heads are named by layer and number, both from 1: `4-2` is the second head of the fourth layer.
- The weights of a row are the softmax of its scores. In BERT and GPT-2 a score is
  :blue[$q$] · :red[$k$] $/\\sqrt{d_{head}}$. The Explore page
  shows the arithmetic with the model's own vectors; the **Learn** pages explain the steps.
"""
    )


def meaning_of_a_weight() -> None:
    """Explain what a weight shows, and what it does not."""
    st.header("What a weight means, and what it does not", anchor=False)
    cited_markdown(
        """
- Attention weights show **where a head attends**, not why a model decides as it does (Jain & Wallace 2019,
  Serrano & Smith 2019; but see Wiegreffe & Pinter 2019).
- [CLS] and [SEP] often receive most of the weight, probably when there is **nothing relevant** for a head
  (Clark et al. 2019; Kobayashi et al. 2020). *Hide special tokens* omits them and rescales the other weights.
- In deep layers, the vector of a token is **a mixture** of several tokens (Abnar & Zuidema 2020).
- Heads do **different things** (Voita et al. 2019); averaging them hides this.
- **One pair of sentences proves little**: in the second sentence of the example *trophy / suitcase*,
  head 4-2 of MiniLM, a small BERT, attends from *it* to the wrong noun.
- If a token attends to more than $d_{head}$ + 1 tokens, other weights give the same output (Brunner et al.
  2020).
"""
    )
    st.page_link(
        "pages/beyond_weights.py",
        label="Compare weights with gradients, norms and occlusion",
        icon=":material/query_stats:",
    )


def models() -> None:
    """List the models of the catalogue, with their sizes."""
    st.header("The models", anchor=False)
    for name in catalogue.names():
        entry = catalogue.entry(name)
        st.markdown(f"**{entry.title}** (`{name}`): {entry.description} {shape(entry)}, {reads(entry)}.")


def limits() -> None:
    """Explain how long and unusual texts are handled."""
    st.header("Limits", anchor=False)
    st.markdown(
        f"""
- A text that is too long for the model is refused; nothing is truncated.
- With more than about 64 tokens, not all labels and lines are drawn.
- A word with a character outside MiniLM's vocabulary becomes [UNK], shown with the typed word; MiniLM
  was trained on English.
- A page shows at most {MAX_WEIGHTS:,} weights per kind of attention ({isqrt(MAX_WEIGHTS // 12**2)} tokens
  with 12 × 12 heads); for visitors who can use only the models of the list, a quarter of this. For visitors
  who can open their own models, Explore also shows longer texts.
- No picture, font or script is loaded from another host, and no sentence is logged.
"""
    )


def sources() -> None:
    """Draw the link to the references."""
    st.page_link("pages/references.py", label="References", icon=":material/menu_book:")
