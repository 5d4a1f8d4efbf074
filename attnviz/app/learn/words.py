"""The words that every Learn page uses, each in a line or two."""

import streamlit as st

_WORDS = """
- **Token**: what a model reads: a word, a piece of one (`##ized`), or a sign. **[CLS]** and **[SEP]** are
  tokens that BERT adds at the beginning and the end; many heads look there when they find nothing else.
  The translator's are **[START]**, from which it begins to write, and **[END]**.
- **Vector**: a list of numbers, one list for each token. **Length** of a vector: the root of its
  summed squares.
- **BERT**: a transformer that learned from texts in which words were left out. The one here is small:
  6 layers with 12 heads each, vectors of 384 numbers.
- **Transformer**: a model made of **layers**; each takes all tokens' vectors and hands new ones on. An
  **encoder** reads a whole text; a **decoder** writes one, token by token: of its own text it sees only
  what is written so far. An **encoder–decoder** has both, and **cross-attention** between them: what is
  written reads what was read. The translator is a small one, English into French, trained for attnviz.
- **Attention**: how a token's new vector is mixed from the others'. **Head**: one attention of a layer,
  with matrices of its own; *4-2* is the second head of the fourth layer.
- :blue[**Query**], :red[**key**], :green[**value**]: what a token looks for, what it offers to be found
  by, and what it hands over. In a matrix, queries are rows and keys are columns: the **row** of a token is
  what that token looks at.
- **Score**: how well a query fits a key. **Softmax**: *e* to the power of each score, divided by the sum of
  all. :violet[**Weights**]: what softmax makes of a row of scores: shares that sum to 100 %.
- **Trained**: its numbers were changed in small steps until it did its task. **Gradient**: how strongly, and
  which way, a result reacts if a number is changed a little; training follows it. **Bias**: a learned number
  that is added. **Held out**: kept from the training, to test with.
"""


def words() -> None:
    """Draw a button that opens the list."""
    with st.popover("Words", help="What token, head, layer, query, key, value … mean"):
        st.markdown(_WORDS)
