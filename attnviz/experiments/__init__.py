"""Public API of the experiments that run a model: ablation, occlusion, gradients, search, scores of heads.

The modules of this folder provide them as iterators of `Progress`. See also `attnviz.patching` (activation
patching) and `attnviz.decomposition` (an output as a sum of parts). `attnviz.analysis` needs only a trace.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from attnviz.capture import loading
from attnviz.capture.given import model_input, opened
from attnviz.capture.model import OcclusionMethod
from attnviz.errors import AttnvizError, quoted
from attnviz.experiments import ablation, head_tests, neighbours
from attnviz.experiments.ablation import Ablation, WordOcclusion
from attnviz.experiments.corpus import Corpus, bundled
from attnviz.experiments.neighbours import Neighbours, Vector
from attnviz.experiments.scoring import Scores, measure
from attnviz.experiments.sentences import check_any_read
from attnviz.trace import checked_place

if TYPE_CHECKING:
    from attnviz.capture.attribution import Gradients
    from attnviz.capture.model import Device, Network, Precision, Text, Tokenizer

__all__ = ["ablate", "find", "gradients", "occlusion", "score_heads"]


def ablate(
    text: Text,
    model: Network = "minilm",
    place: int | str | None = None,
    second: str | None = None,
    target: str | None = None,
    tokenizer: Tokenizer | None = None,
    dtype: Precision | None = None,
    device: Device | None = None,
) -> Ablation:
    """Ablate each head of a model in turn and measure the change (like Michel et al. 2019, section 3.2).

    An ablated head outputs 0 for every token. The change of a token's output is 1 − cos(before, after).

    >>> tired = "The dog did not cross the road as it was too tired."
    >>> found = ablate(tired)
    >>> found.distances.cosine_change.shape  # [head, token], the heads in the order of found.ablated
    (72, 15)
    >>> str(found.ablated[found.distances.cosine_change[:, 9].argmax()])  # its ablation changes “it” most
    'encoder 6-12'

    Args:
        text, model, second, target, tokenizer, dtype, device: as for `attnviz.trace`.
        place: Position of a prediction, from 0, as in `Prediction.position` of `attnviz.predictions`, or the
            text of its token if it occurs once. None skips predictions.

    Returns:
        The ablated head of each variant, and the changes. Runs one forward pass per head.

    Raises:
        AttnvizError, TypeError: as for `attnviz.trace`; or the model has no prediction at this position.
    """
    given = model_input(text, second, target, None)
    with opened(model, tokenizer, dtype, device) as name:
        loaded = loading.load(name)
        if isinstance(place, str):
            *_, last_block = loaded.trace(given).blocks  # of the decoder, if there is one
            place = checked_place(place, last_block.query_tokens)
        if place is not None and place not in loaded.prediction_positions(given):
            raise AttnvizError(
                f"{quoted(loaded.name)} has no prediction at token {place}, counted from 0. Omit `place`, or "
                "use a position from attnviz.predictions."
            )
        *_, last = ablation.ablate(name, given, place)
    return last.found


def find(
    text: Text,
    model: Network = "minilm",
    place: int | str = 0,
    layer: int = 0,
    head: int = 0,
    vector: Vector = "query",
    within: str | Path | None = None,
    count: int = neighbours.COUNT,
    tokenizer: Tokenizer | None = None,
    dtype: Precision | None = None,
    device: Device | None = None,
) -> Neighbours:
    """Find the tokens with the vectors most similar to one token's vector in a head (Hoover et al. 2020).

    The search is exact, and its memory use does not depend on the length of the text.

    >>> tired = "The dog did not cross the road as it was too tired."
    >>> found = find(tired, place=9, layer=3, head=1)
    >>> first = found.nearest[0]
    >>> first.sentence, first.place, first.attends_to  # “it” attends most to “horse”
    ('The horse refused to enter the stable because it could smell smoke.', 9, 2)

    Args:
        text, model, tokenizer, dtype, device: as for `attnviz.trace`; the text is an encoder–decoder's source
            text.
        place: Position of the token, from 0, or its text if it occurs once.
        layer, head: from 0.
        vector: "query", "key" or "output": the vector of the token to compare by cosine.
        within: Text to search, one sentence per line, or the `Path` of a UTF-8 file of any length;
            None searches the bundled sentences. Tokens of `text` itself are excluded.
        count: Maximum number of tokens.

    Raises:
        AttnvizError, TypeError: as for `attnviz.trace`; or there is no such token, layer, head or vector, or
            the text cannot be read.
        OSError: the file cannot be read.
    """
    given = model_input(text, None, None, None)
    with opened(model, tokenizer, dtype, device) as name:
        block = neighbours.block_of(name, given.text, layer)
        place = checked_place(place, block.query_tokens)
        query_vector = neighbours.vector_of(block, head, vector, place)
        if isinstance(within, Path):
            corpus = Corpus.from_file(within)
        else:
            corpus = Corpus.from_text(bundled() if within is None else _one_text(within, "within"))
        *_, last = neighbours.search(corpus, name, (layer, head), vector, query_vector, count, given.text)
    return last.found


def gradients(
    text: Text,
    model: Network = "minilm",
    place: int | str = 0,
    tokenizer: Tokenizer | None = None,
    dtype: Precision | None = None,
    device: Device | None = None,
) -> Gradients:
    """Return the gradients of one token's prediction, or of its output, with respect to each token.

    In a causal language model, the log-probability of the text's next token is differentiated; after the last
    token, and at a masked token, the log-probability of the most likely token. For other models and tokens,
    all elements of the token's output are differentiated, and the gradients are combined as √Σ².

    >>> found = gradients("The dog slept.", place=3)
    >>> found.input_gradient.shape, int(found.input_gradient.argmax())  # “slept” depends most on itself
    ((6,), 3)

    Args:
        text, model, tokenizer, dtype, device: as for `attnviz.trace`; the text is an encoder–decoder's source
            text.
        place: Position of the token, from 0, or its text if it occurs once.

    Returns:
        float32 [token] each: norm of the gradient at each token's embedding, gradient × input, and
        gradient × attention. For an output, runs d_model backward passes.

    Raises:
        AttnvizError, TypeError: as for `attnviz.trace`; or there is no such token, or the model does not
            accept embeddings in place of tokens.
    """
    given = model_input(text, None, None, None)
    with opened(model, tokenizer, dtype, device) as name:
        loaded = loading.load(name)
        with loading.gate:  # attnviz's own models do not need transformers
            from attnviz.capture import attribution
            from attnviz.capture.stack import expected, stack_of

        stack = stack_of(loaded, given)
        at = checked_place(place, stack.tokens)
        *_, (_, _, last) = attribution.gradients(stack, at, expected(stack, at))
    return last


def occlusion(
    text: Text,
    model: Network = "minilm",
    place: int | str = 0,
    method: OcclusionMethod | None = None,
    tokenizer: Tokenizer | None = None,
    dtype: Precision | None = None,
    device: Device | None = None,
) -> WordOcclusion:
    """Remove each token in turn and measure the change of one token's output.

    See Zeiler & Fergus 2014 and Li et al. 2016.

    >>> tired = "The dog did not cross the road as it was too tired."
    >>> without = occlusion(tired, place=9)
    >>> without.replaced_by, without.cosine_change.shape
    ('[MASK]', (15,))
    >>> bool(without.cosine_change[2] > without.cosine_change[7])  # “it” depends more on “dog” than on “road”
    True

    Args:
        text, model, tokenizer, dtype, device: as for `attnviz.trace`; the text is an encoder–decoder's source
            text.
        place: Position of the token whose output is measured, from 0, or its text if it occurs once.
        method: "mask vector" and "mean vector" replace the token's embedding with the mask token's embedding
            or with the mean of all embeddings; "deleted" removes the token. None selects the first of these
            methods that the model supports.

    Returns:
        float64 [token], 1 − cosine between this output before and after the removal of each token.

    Raises:
        AttnvizError, TypeError: as for `attnviz.trace`; or there is no such token, or the model does not
            support the method.
    """
    given = model_input(text, None, None, None)
    with opened(model, tokenizer, dtype, device) as name:
        return ablation.occlude_words(name, given, place, method)


def score_heads(
    test: str,
    model: Network = "minilm",
    examples: str | None = None,
    tokenizer: Tokenizer | None = None,
    dtype: Precision | None = None,
    device: Device | None = None,
) -> Scores:
    """Score every head of a model by one test, over many examples.

    >>> line = "The [dog] did not cross the [road] as *it* was too {tired > dog | narrow > road}."
    >>> scores = score_heads("pronoun to noun", examples=line)
    >>> scores.mean.shape, float(scores.mean[3, 1])  # [layer, head]: head 4-2 is correct in both
    ((6, 12), 1.0)

    Args:
        test: Name of a test, such as "next token" or "object to verb"; `attnviz heads --help` lists all.
        model, tokenizer, dtype, device: as for `attnviz.trace`.
        examples: Examples as text. For a rule, one sentence per line; for pronouns, one pair per line, as
            above; for grammar, one sentence per line with its relations indented below it: "object
            cat>chased; determiner the>dog". None uses the bundled examples.

    Returns:
        The scores of all heads with confidence intervals, the best baseline, and the best head, chosen on one
        half of the examples and scored on the other.

    Raises:
        AttnvizError, TypeError: as for `attnviz.trace`; or there is no such test, a line is invalid, or
            the model cannot read any example.
    """
    (head_test,) = head_tests.find(test)[:1]
    text = head_test.source.bundled() if examples is None else _one_text(examples, "examples")
    with opened(model, tokenizer, dtype, device) as name:
        *_, last = measure([head_test], Corpus.from_text(text, "the examples"), name)
    scores = last.found[head_test.name]
    check_any_read(scores.examples, "examples", scores.reasons)
    return scores


def _one_text(given: object, name: str) -> str:
    if isinstance(given, str):
        return given
    raise TypeError(f"{name} must be one str, not {type(given).__name__}.")
