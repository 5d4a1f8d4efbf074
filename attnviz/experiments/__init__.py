"""What heads do over many sentences, and what a model does without them.

These run a model; what is computed from a trace alone is in `attnviz.analysis`. They are for everybody; the
modules have the same as iterators of `Progress`, for pages. Two more of the kind are `attnviz.patching`, what
each head carries from one sentence into another, and `attnviz.decomposition`, an output as a sum of parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attnviz.capture import loading
from attnviz.capture.given import model_input, opened
from attnviz.capture.model import Way
from attnviz.errors import AttnvizError, quoted
from attnviz.experiments import ablation, behaviour, coreference, syntax, text_index
from attnviz.experiments import pairs as pairs_of_sentences
from attnviz.experiments.ablation import Ablation, WordOcclusion
from attnviz.experiments.coreference import Verdicts
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.neighbours import Search
from attnviz.experiments.sentences import need_some, reader, self_attention
from attnviz.experiments.syntax import Grammar
from attnviz.models import resolve
from attnviz.trace import checked_place

if TYPE_CHECKING:
    from attnviz.capture.attribution import Gradients

__all__ = ["ablate", "find", "gradients", "occlusion", "pronouns", "relations"]


def ablate(
    text: object,
    model: object = "minilm",
    place: int | None = None,
    second: str | None = None,
    target: str | None = None,
    tokenizer: object = None,
) -> Ablation:
    """Silence every head of a model, each alone, and see what moves (as Michel et al. 2019, section 3.2).

    A silent head puts out 0 for every token. How far a token's output turns is 1 − cos(before, after).

    >>> tired = "The dog did not cross the road as it was too tired."
    >>> found = ablate(tired)
    >>> found.moved.turned.shape  # [head, token], the heads in the order of found.silenced
    (72, 15)
    >>> str(found.silenced[found.moved.turned[:, 9].argmax()])  # without it, “it” turns furthest
    'encoder 6-12'

    Args:
        text, model, second, target, tokenizer: as `attnviz.trace` takes them.
        place: where the model is asked for the token that it expects, from 0; one of `Prediction.position`
            of `attnviz.predictions`. None: it is not asked.

    Returns:
        What was silent in each variant, and what moved. There are as many forward passes as heads.

    Raises:
        AttnvizError, TypeError: as `attnviz.trace` does; or nothing is expected at this place.
    """
    given = model_input(text, second, target, None)
    with opened(model, tokenizer) as name:
        if place is not None and place not in (loaded := loading.load(name)).prediction_positions(given):
            raise AttnvizError(
                f"{quoted(loaded.name)} expects nothing at token {place}, counted from 0. Leave the place "
                "out, or choose one of which attnviz.predictions tells something."
            )
        *_, last = ablation.ablate(name, given, place)
    return last.found


def find(
    text: object,
    model: object = "minilm",
    place: int = 0,
    layer: int = 0,
    head: int | Sequence[int] = 0,
    by: str = "query",
    within: str | Path | None = None,
    tokenizer: object = None,
) -> Search:
    """Where else a head does what it does at one token: the nearest tokens of a text (Hoover et al. 2020).

    >>> tired = "The dog did not cross the road as it was too tired."
    >>> found = find(tired, place=9, layer=3, head=1)
    >>> near = found.neighbours()[0]
    >>> found.index.lines[near.line], near.place, near.reads  # “it” looks at “horse”
    ('The horse refused to enter the stable because it could smell smoke.', 9, 2)
    >>> [(each.count, each.total) for each in found.common() if each.name == "token"]  # 28 of 50 are “it”
    [(28, 50)]

    Args:
        text, model, tokenizer: as `attnviz.trace` takes them; an encoder–decoder's encoder reads it.
        place: the token, from 0.
        layer, head: from 0; of several heads, the nearest in all of them together.
        by: "query", "key" or "output": by which of its vectors in the head others are found; "state": by the
            hidden state that the layer reads; or "pattern": by how far away and at what it looks most, and by
            its entropy (see `neighbours.Search`).
        within: the text that is searched, one sentence a line; a `Path`: of the folder of one that
            `attnviz index` has read with the same model; None: the sentences that come with attnviz.

    Raises:
        AttnvizError, TypeError: as `attnviz.trace` does; or there is no such token, layer, head or vector, or
            the text or the folder cannot be used.
    """
    given = model_input(text, None, None, None)
    with opened(model, tokenizer) as name:
        entry = resolve.entry(name)
        read = text_index.block_of(name, given.text, layer)
        if isinstance(within, Path):
            index = text_index.opened(within)
            text_index.check_model(index, entry)
        else:
            corpus = Corpus.from_text(behaviour.bundled() if within is None else _one_text(within, "within"))
            *_, last = text_index.index(corpus, name, layers=[layer])
            index = last.found
    heads = [head] if isinstance(head, int) else head
    return Search.of(index, read, heads, checked_place(place, len(read[0].query_tokens)), by, given.text)


def gradients(text: object, model: object = "minilm", place: int = 0, tokenizer: object = None) -> Gradients:
    """How strongly each token moves one token's output, or what the model expects there: by gradients.

    A model whose head tells the next token is followed in the logarithm of the probability of the token that
    follows there (after the last one, of the likeliest); at a masked token, in that of the likeliest. Else
    all numbers of the token's output are followed, and their slopes added as √Σ².

    >>> slopes = gradients("The dog slept.", place=3)
    >>> slopes.words.shape, int(slopes.words.argmax())  # its own word moves “slept” most
    ((6,), 3)

    Args:
        text, model, tokenizer: as `attnviz.trace` takes them; of an encoder–decoder, its encoder reads it.
        place: the token, from 0.

    Returns:
        float32 [token], three times: the length of the gradient at each word's vector, gradient × input, and
        gradient × attention. With an output, there are as many backward passes as d_model.

    Raises:
        AttnvizError, TypeError: as `attnviz.trace` does; or there is no such token, or the model takes no
            word vectors in place of words.
    """
    given = model_input(text, None, None, None)
    with opened(model, tokenizer) as name:
        loaded = loading.load(name)
        with loading.gate:  # our own models come without transformers
            from attnviz.capture import attribution
            from attnviz.capture.stack import expected, stack_of

        stack = stack_of(loaded, given)
        followed = expected(stack, checked_place(place, len(stack.tokens)))
        *_, (_, _, last) = attribution.gradients(stack, place, followed)
    return last


def occlusion(
    text: object, model: object = "minilm", place: int = 0, way: Way | None = None, tokenizer: object = None
) -> WordOcclusion:
    """One token's output without each of the tokens in turn (Zeiler & Fergus 2014; Li et al. 2016).

    >>> tired = "The dog did not cross the road as it was too tired."
    >>> without = occlusion(tired, place=9)
    >>> without.replaced_by, without.turned.shape
    ('[MASK]', (15,))
    >>> bool(without.turned[2] > without.turned[7])  # “it” turns further without “dog” than without “road”
    True

    Args:
        text, model, tokenizer: as `attnviz.trace` takes them; of an encoder–decoder, its encoder reads it.
        place: the token whose output is looked at, from 0.
        way: "mask vector" or "mean vector", the masked token's vector or the mean of all word vectors takes
            the token's place; "key masked", no other token may look at it; "deleted", all later ones move up.
            None: the first of these that the model has.

    Returns:
        float64 [token], 1 − cosine of that output before and after.

    Raises:
        AttnvizError, TypeError: as `attnviz.trace` does; or there is no such token, or not this way.
    """
    given = model_input(text, None, None, None)
    with opened(model, tokenizer) as name:
        return ablation.words_left_out(name, given, place, way)


def pronouns(model: object = "minilm", pairs: str | None = None, tokenizer: object = None) -> Verdicts:
    """How often each head looks at the word that a pronoun stands for, in pairs of sentences.

    A pair differs in a word or a few, which decide what the pronoun stands for. A head is right in a sentence
    if of the two words the one that is meant has more weight (Levesque et al. 2012 built such pairs).

    >>> line = "The [dog] did not cross the [road] as *it* was too {tired > dog | narrow > road}."
    >>> scores = pronouns(pairs=line).scores()
    >>> scores.pairs.shape, bool(scores.pairs[3, 1])  # [layer, head]: 4-2 is right in both sentences
    ((6, 12), True)

    Args:
        model, tokenizer: as `attnviz.trace` takes them.
        pairs: the text of a file of pairs, one a line, as above; None: the pairs that come with attnviz.

    Returns:
        The weights between pronoun and words, `scores()` of them, and what the model could not read.

    Raises:
        AttnvizError, TypeError: as `attnviz.trace` does; or a line cannot be read, or the model reads none.
    """
    with opened(model, tokenizer) as name:
        entry = resolve.entry(name)
        kind, every = self_attention(entry), pairs_of_sentences.bundled()
        if pairs is not None:
            every = pairs_of_sentences.parse(_one_text(pairs, "pairs"))
        *_, last = coreference.resolve(every, reader(entry, loading.load(name)), kind)
    need_some(len(last.found.pairs), "pairs", last.found.unread)
    return last.found


def relations(model: object = "minilm", sentences: str | None = None, tokenizer: object = None) -> Grammar:
    r"""How often each head looks from a word to the one that it depends on (Clark et al. 2019, table 1).

    A head's answer for a word is the word that it looks at most, pieces merged, special tokens and the word
    itself left out.

    >>> found = relations(sentences="The dog chased a cat.\n  object cat>chased; determiner the>dog, a>cat")
    >>> found.hits.shape, found.totals.tolist()  # [looks, sort, layer, head], [sort]
    ((2, 6, 6, 12), [2, 0, 0, 0, 1, 0])

    Args:
        model, tokenizer: as `attnviz.trace` takes them.
        sentences: a text, each sentence on a line with its relations indented below it, as above; None: the
            sentences that come with attnviz.

    Returns:
        What every head answered: of "dependent" and "head word" as those who look, and of each sort, which
        are determiner, possessive, auxiliary, subject, object and preposition.

    Raises:
        AttnvizError, TypeError: as `attnviz.trace` does; or a line cannot be read, or the model reads none.
    """
    with opened(model, tokenizer) as name:
        entry = resolve.entry(name)
        kind = self_attention(entry)
        every = syntax.bundled() if sentences is None else syntax.parse(_one_text(sentences, "sentences"))
        *_, last = syntax.measure(every, reader(entry, loading.load(name)), kind)
    need_some(last.found.sentences, "sentences", last.found.unread)
    return last.found


def _one_text(given: object, name: str) -> str:
    if isinstance(given, str):
        return given
    raise TypeError(f"{name} must be one str, not {type(given).__name__}.")
