"""What heads do over many sentences, and what a model does without them.

These run a model; what is computed from a trace alone is in `attnviz.analysis`. They are for everybody; the
modules have the same as iterators of `Progress`, for pages. Two more of the kind are `attnviz.patching`, what
each head carries from one sentence into another, and `attnviz.decomposition`, an output as a sum of parts.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from attnviz.capture import loading
from attnviz.capture.given import model_input, opened
from attnviz.capture.model import Way
from attnviz.errors import AttnvizError, quoted
from attnviz.experiments import ablation, head_tests, neighbours
from attnviz.experiments.ablation import Ablation, WordOcclusion
from attnviz.experiments.corpus import Corpus, bundled
from attnviz.experiments.neighbours import Neighbours, Vector
from attnviz.experiments.scoring import Scores, measure
from attnviz.experiments.sentences import need_some
from attnviz.trace import checked_place

if TYPE_CHECKING:
    from attnviz.capture.attribution import Gradients

__all__ = ["ablate", "find", "gradients", "occlusion", "score_heads"]


def ablate(
    text: object,
    model: object = "minilm",
    place: int | None = None,
    second: str | None = None,
    target: str | None = None,
    tokenizer: object = None,
) -> Ablation:
    """Ablate every head of a model, each alone, and see what moves (as Michel et al. 2019, section 3.2).

    A silent head puts out 0 for every token. How far a token's output turns is 1 − cos(before, after).

    >>> tired = "The dog did not cross the road as it was too tired."
    >>> found = ablate(tired)
    >>> found.moved.turned.shape  # [head, token], the heads in the order of found.ablated
    (72, 15)
    >>> str(found.ablated[found.moved.turned[:, 9].argmax()])  # without it, “it” turns furthest
    'encoder 6-12'

    Args:
        text, model, second, target, tokenizer: as `attnviz.trace` takes them.
        place: where the model predicts a token, from 0; one of `Prediction.position`
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
                "out, or choose one with predictions by attnviz.predictions."
            )
        *_, last = ablation.ablate(name, given, place)
    return last.found


def find(
    text: object,
    model: object = "minilm",
    place: int = 0,
    layer: int = 0,
    head: int = 0,
    vector: Vector = "query",
    within: str | Path | None = None,
    count: int = neighbours.COUNT,
    tokenizer: object = None,
) -> Neighbours:
    """Find the tokens of a text at which a head has the most similar vector (Hoover et al. 2020).

    All tokens are compared, in memory that does not grow with the text.

    >>> tired = "The dog did not cross the road as it was too tired."
    >>> found = find(tired, place=9, layer=3, head=1)
    >>> first = found.nearest[0]
    >>> first.sentence, first.place, first.attends_to  # “it” attends most to “horse”
    ('The horse refused to enter the stable because it could smell smoke.', 9, 2)

    Args:
        text, model, tokenizer: as `attnviz.trace` takes them; an encoder–decoder's encoder reads it.
        place: the token, from 0.
        layer, head: from 0.
        vector: "query", "key" or "output": which vector of the token is compared by its cosine.
        within: the text that is searched, one sentence a line; a `Path`: a file in UTF-8, of any length;
            None: the sentences that come with attnviz. Tokens of `text` itself are not returned.
        count: maximum number of tokens.

    Raises:
        AttnvizError, TypeError: as `attnviz.trace` does; or there is no such token, layer, head or vector, or
            the text cannot be read.
        OSError: the file cannot be read.
    """
    given = model_input(text, None, None, None)
    with opened(model, tokenizer) as name:
        block = neighbours.block_of(name, given.text, layer)
        checked_place(place, len(block.query_tokens))
        wanted = neighbours.vector_of(block, head, vector, place)
        if isinstance(within, Path):
            corpus = Corpus.from_file(within)
        else:
            corpus = Corpus.from_text(bundled() if within is None else _one_text(within, "within"))
        *_, last = neighbours.search(corpus, name, (layer, head), vector, wanted, count, given.text)
    return last.found


def gradients(text: object, model: object = "minilm", place: int = 0, tokenizer: object = None) -> Gradients:
    """How strongly each token moves one token's output, or what the model expects there: by gradients.

    For a model with a next-token head, the logarithm of the probability of the token that
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
        place: the token with the output in question, from 0.
        way: "mask vector" or "mean vector", the masked token's vector or the mean of all word vectors takes
            the token's place; "key masked", masked for all other tokens; "deleted", all later ones move up.
            None: the first of these that the model has.

    Returns:
        float64 [token], 1 − cosine of that output before and after.

    Raises:
        AttnvizError, TypeError: as `attnviz.trace` does; or there is no such token, or not this way.
    """
    given = model_input(text, None, None, None)
    with opened(model, tokenizer) as name:
        return ablation.occlude_words(name, given, place, way)


def score_heads(
    test: str, model: object = "minilm", examples: str | None = None, tokenizer: object = None
) -> Scores:
    """Score every head of a model by one test, over many examples.

    >>> line = "The [dog] did not cross the [road] as *it* was too {tired > dog | narrow > road}."
    >>> scores = score_heads("pronoun to noun", examples=line)
    >>> scores.mean.shape, float(scores.mean[3, 1])  # [layer, head]: 4-2 is right in both sentences
    ((6, 12), 1.0)

    Args:
        test: the name of a test, such as "next token" or "object to verb"; `attnviz heads --help` has all.
        model, tokenizer: as `attnviz.trace` takes them.
        examples: a text. For a rule, one sentence a line; for pronouns, one pair a line, as above; for
            grammar, each sentence on a line with its relations indented below it: "object cat>chased;
            determiner the>dog". None: the examples that come with attnviz.

    Returns:
        The scores of all heads with confidence intervals, the best baseline, and the best head, chosen on one
        half of the examples and scored on the other.

    Raises:
        AttnvizError, TypeError: as `attnviz.trace` does; or there is no such test, a line cannot be read, or
            the model reads no example.
    """
    (one,) = head_tests.find(test)[:1]
    text = one.source.bundled() if examples is None else _one_text(examples, "examples")
    with opened(model, tokenizer) as name:
        *_, last = measure([one], Corpus.from_text(text, "the examples"), name)
    scores = last.found[one.name]
    need_some(scores.examples, "examples", scores.reasons)
    return scores


def _one_text(given: object, name: str) -> str:
    if isinstance(given, str):
        return given
    raise TypeError(f"{name} must be one str, not {type(given).__name__}.")
