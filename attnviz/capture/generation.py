"""A model with a head for tokens: what it expects, and how it writes on, token by token.

`network` is everywhere a model of transformers with its head, in evaluation mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnviz.capture.inspection import exactly
from attnviz.capture.model import Candidate, Prediction, Writing
from attnviz.models.tokenizer import TextTokenizer

MAX_CANDIDATES = 10
"""How many of the most probable tokens are returned."""


class Step(NamedTuple):
    """One token that a model wrote.

    Attributes:
        id: its row in the vocabulary.
        before: [vocabulary], the probabilities that the model gave to all tokens; they sum to 1.
        after: [vocabulary], those it was drawn by, after temperature, top-k and top-p.
    """

    id: int
    before: Tensor
    after: Tensor


class GenerationDefaults(NamedTuple):
    """What a model's makers wrote beside its weights about how it writes.

    Attributes:
        ends: the tokens that end a text.
        never: tokens that it must not write (Marian's padding, for one).
        first: the token that a decoder must write first (some BARTs' <s>), or None.
    """

    ends: frozenset[int]
    never: tuple[int, ...] = ()
    first: int | None = None


def habits_of(network: Any) -> GenerationDefaults:
    """The habits of a model with a head, from its generation config."""
    config = network.generation_config
    alone = [ids[0] for ids in config.bad_words_ids or () if len(ids) == 1]
    return GenerationDefaults(
        ends=frozenset(_listed(config.eos_token_id)),
        never=tuple(sorted({*alone, *_listed(config.suppress_tokens)})),
        first=config.forced_bos_token_id if network.config.is_encoder_decoder else None,
    )


def write(
    network: Any,
    ids: Sequence[int],
    writing: Writing,
    limit: int,
    source: Sequence[int] | None = None,
    around: Callable[[], AbstractContextManager[None]] | None = None,
) -> Iterator[Step]:
    """Writes on, until the text ends, `writing.tokens` are written or the model can read no more.

    Keys and values of what was read before are kept, so that every step reads one token only.

    Args:
        ids: the tokens so far: a text, or the token with which a decoder starts.
        writing: how many tokens, and how each is drawn.
        limit: the most tokens that the model reads.
        source: what the encoder of an encoder–decoder reads; None for a model without one.
        around: entered around every pass. Then nothing is kept from pass to pass, and each reads all again:
            a change may concern any token.

    Yields:
        The steps, in order; the last may be the token that ends a text.
    """
    fixed: dict[str, Any] = {}
    name = "input_ids"
    if source is not None:
        name = "decoder_input_ids"
        fixed["input_ids"] = torch.tensor([source], device=network.device)
        if around is None:
            with torch.inference_mode():
                fixed = {"encoder_outputs": network.get_encoder()(**fixed)}
    cache = None
    read: list[int] = []

    def scores(unread: Sequence[int]) -> Tensor:
        nonlocal cache
        read.extend(unread)
        given = {name: torch.tensor([unread if around is None else read], device=network.device), **fixed}
        with exactly(network.device), around() if around else nullcontext():
            output = network(**given, past_key_values=cache, use_cache=around is None)
        cache = output.past_key_values if around is None else None
        last: Tensor = output.logits[0, -1].float().cpu()
        return last

    return drawn_one_by_one(scores, ids, writing, limit, habits_of(network))


def drawn_one_by_one(
    scores: Callable[[Sequence[int]], Tensor],
    ids: Sequence[int],
    writing: Writing,
    limit: int,
    habits: GenerationDefaults,
) -> Iterator[Step]:
    """`write` for any model.

    Args:
        scores: takes the tokens since its last call, and returns the scores [vocabulary] of what
            follows the last one.
        ids, writing, limit: as for `write`.
    """
    generator = torch.Generator().manual_seed(writing.seed)
    unread = ids
    for place in range(len(ids), min(len(ids) + writing.tokens, limit)):
        with torch.inference_mode():
            found = scores(unread)
            after = drawn_by(found, writing, habits, place)
            drawn = torch.multinomial(after, 1, generator=generator)
        step = Step(int(drawn), found.softmax(-1), after)
        yield step
        if step.id in habits.ends:
            return
        unread = [step.id]


def drawn_by(scores: Tensor, writing: Writing, habits: GenerationDefaults, place: int) -> Tensor:
    """The probabilities by which the next token is drawn.

    First the scores are divided by the temperature, then only the `top_k` largest are kept, then only the
    fewest that together have the probability `top_p` (Holtzman et al. 2020, section 3.1), as transformers
    does it; what is left is scaled to sum to 1. Temperature 0 leaves the likeliest token alone.

    Args:
        scores: [vocabulary], the model's, before the softmax.
        habits: tokens that the model must not write get 0, and one that it must write 1.
        place: the place of the token, from 0; a decoder's start token has place 0.

    Returns:
        [vocabulary].
    """
    if place == 1 and habits.first is not None:
        return _only(habits.first, scores)
    scores = scores.clone()
    scores[[number for number in habits.never if number < len(scores)]] = -torch.inf
    if writing.temperature == 0:
        return _only(int(scores.argmax()), scores)
    scores = scores / writing.temperature
    if 0 < writing.top_k < len(scores):
        least = scores.topk(writing.top_k).values[-1]
        scores[scores < least] = -torch.inf
    if writing.top_p < 1:
        rising, order = scores.sort()
        unlikely = rising.softmax(-1).cumsum(-1) <= 1 - writing.top_p  # together no more than what may go
        unlikely[-1] = False
        scores[order[unlikely]] = -torch.inf
    return scores.softmax(-1)


def next_tokens(
    network: Any,
    tokenizer: TextTokenizer,
    inputs: Mapping[str, Any],
    writing: Writing | None = None,
    written: int = 0,
    end: int | None = None,
) -> tuple[Prediction, ...]:
    """What a decoder expects to follow at every place, by one pass over all tokens.

    Args:
        inputs: what it is called with, each [1, token]; the tokens that it expects something after are
            `decoder_input_ids` where there are any, else `input_ids`.
        writing: how it wrote the last tokens, if it wrote any.
        written: how many of the last tokens it wrote.
        end: the token that ended the text, which is not among those tokens, since it is never read.
    """
    read = inputs.get("decoder_input_ids", inputs["input_ids"])[0].tolist()
    with torch.inference_mode(), exactly(network.device):
        logits = network(**{**inputs, "use_cache": False}).logits[0].float().cpu()
    return expected_next(logits, read, tokenizer.readable, habits_of(network), writing, written, end)


def expected_next(
    logits: Tensor,
    read: Sequence[int],
    readable: Callable[[int], str],
    habits: GenerationDefaults,
    writing: Writing | None,
    written: int,
    end: int | None,
) -> tuple[Prediction, ...]:
    """`next_tokens` of any model.

    Args:
        logits: [token, vocabulary], the scores of what follows each token.
        readable: what a token of the vocabulary is, as a person reads it.
        writing, written, end: as for `next_tokens`.
    """
    ids = read if end is None else [*read, end]
    predictions = []
    for position, scores in enumerate(logits):
        following = position + 1
        probabilities = shares = scores.softmax(-1)
        if writing is not None and following >= len(read) - written:
            shares = drawn_by(scores, writing, habits, following)
        actual = _candidate(readable, ids[following], probabilities, shares) if following < len(ids) else None
        predictions.append(Prediction(position, "next", _likeliest(readable, probabilities, shares), actual))
    return tuple(predictions)


def masked_tokens(
    network: Any, tokenizer: TextTokenizer, inputs: Mapping[str, Any], masked: Sequence[int]
) -> tuple[Prediction, ...]:
    """What a model like BERT expects behind every masked token.

    Args:
        inputs: what it is called with, each [1, token].
        masked: the tokens, from 0.
    """
    with torch.inference_mode(), exactly(network.device):
        expected = network(**inputs).logits[0, list(masked)].float().cpu().softmax(-1)
    return tuple(
        Prediction(place, "masked", _likeliest(tokenizer.readable, probabilities, probabilities), None)
        for place, probabilities in zip(masked, expected, strict=True)
    )


def _likeliest(
    readable: Callable[[int], str], probabilities: Tensor, shares: Tensor
) -> tuple[Candidate, ...]:
    best = probabilities.topk(min(MAX_CANDIDATES, len(probabilities))).indices.tolist()
    return tuple(_candidate(readable, number, probabilities, shares) for number in best)


def _candidate(
    readable: Callable[[int], str], number: int, probabilities: Tensor, shares: Tensor
) -> Candidate:
    return Candidate(readable(number), number, float(probabilities[number]), float(shares[number]))


def _only(number: int, scores: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(torch.tensor(number), len(scores)).to(scores.dtype)


def _listed(ids: int | Iterable[int] | None) -> list[int]:
    if ids is None:
        return []
    return [ids] if isinstance(ids, int) else list(ids)
