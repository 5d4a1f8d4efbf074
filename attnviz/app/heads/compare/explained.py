"""How words are aligned, what merging does, and by which formula a change is measured."""

from __future__ import annotations

from attnviz.app import traces
from attnviz.app.heads.compare.compared import Comparison
from attnviz.app.references import cited_markdown

_SENTENCES = (
    "**Alignment.** The two sentences are aligned by words: as many same words as "
    "possible, in order (the longest common subsequence; of several, the one that keeps most neighbours"
    " together). Capital letters do not matter. Between two shared words, equally many others are matched "
    "(*tired → narrow*), but no word with punctuation; else each is alone (*− big*, *+ "
    "very*). At least "
    "half of the words of the shorter sentence must be the same in both, punctuation aside: else nothing is "
    "compared. Where fewer than half of the longer one’s words have a place in the other, there is a note."
)
_MODELS = (
    "**Alignment.** Each model splits the text in its own way. Tokens that share a letter"
    " form one word: the smallest parts of the text at whose borders both have a border. Tokens "
    "that a tokenizer added are matched by position, before the text or after it."
)
_MERGED = (
    "**Merging.** The pieces of a word are always shown as one: attention to a word is the sum over its"
    " pieces, attention from a word their mean (Clark et al. 2019)."
)
_INSERTED = (
    "**A word more takes its weight from the others.** Each row has 100 % to give: what a word gets that "
    "only one side has, the others together lack."
)
_MEASURE = (
    "**Total variation** of two rows $p$ and $q$: $\\tfrac12\\sum_j |p_j - q_j|$, the share of the weight "
    "that lies elsewhere; 0 % if nothing moved, 100 % if everything did. A head's number is the mean over "
    "all words of both, or that of the chosen word alone. A word that one side lacks counts with "
    "weight 0 there."
)
_SINK = (
    "**A sink** takes a part of each row in these heads, and is no word. What it gets counts in a distance, "
    "as if it were one more word; hiding special tokens and rescaling leave it out."
)
_CAUSAL = (
    "**Causal attention.** Here a word attends only to itself and earlier words: words "
    "before the first difference cannot change."
)
_LIMITS = (
    "A weight is what was read, not why the model decided (Jain & Wallace"
    " 2019). One comparison is an anecdote: see the same head on many sentences. In deep layers a token "
    "holds a mixture of several words (Abnar & Zuidema 2020)."
)
_ALIKE = (
    "**Most alike** is the head with the smallest distance on these words of this sentence. On another "
    "sentence it can be another; two heads that both rest on the last token are alike, too."
)


def _is_causal(compared: Comparison) -> bool:
    """Whether nothing brings a difference to the words before it, as attention to an encoder would."""
    return not compared.two_models and compared.first.model.kinds == ("decoder",)


def _have_sinks(compared: Comparison) -> bool:
    return any(
        traces.shown(read.model, read.given, read.kind, False, False)[-1].sink
        for read in (compared.first, compared.second)
    )


def draw(compared: Comparison) -> None:
    """Draw the rules."""
    rules = (
        _MODELS if compared.two_models else _SENTENCES,
        _MERGED,
        _INSERTED,
        _MEASURE,
        *([_SINK] if _have_sinks(compared) else []),
        *([_CAUSAL] if _is_causal(compared) else []),
        *([_ALIKE] if compared.two_models else []),
    )
    cited_markdown("\n\n".join(rules))


def limits() -> None:
    """List what one cannot conclude."""
    cited_markdown(_LIMITS)
