"""Predictions and token-by-token generation with a language-model head.

`network` is always a transformers model with its head, in evaluation mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnviz.capture.inspection import without_autocast
from attnviz.capture.model import Candidate, Prediction, Writing
from attnviz.models.tokenizer import TextTokenizer

MAX_CANDIDATES = 10
"""The maximum number of candidates in a prediction, which are the most probable tokens."""


class Step(NamedTuple):
    """One generated token.

    Attributes:
        id: the token's id in the vocabulary.
        before: [vocabulary], the model's probabilities; they sum to 1.
        after: [vocabulary], the sampling probabilities after temperature, top-k and top-p.
    """

    id: int
    before: Tensor
    after: Tensor


class GenerationDefaults(NamedTuple):
    """A model's generation settings, from its configuration files.

    Attributes:
        ends: the tokens that end a text.
        forbidden: tokens that must not be generated (Marian's padding, for instance).
        first: the token that a decoder must generate first (some BARTs' <s>), or None.
    """

    ends: frozenset[int]
    forbidden: tuple[int, ...] = ()
    first: int | None = None


def generation_defaults(network: Any) -> GenerationDefaults:
    """Return the generation settings of a model with a head."""
    config = network.generation_config
    bad_ids = [ids[0] for ids in config.bad_words_ids or () if len(ids) == 1]
    return GenerationDefaults(
        ends=frozenset(_as_list(config.eos_token_id)),
        forbidden=tuple(sorted({*bad_ids, *_as_list(config.suppress_tokens)})),
        first=config.forced_bos_token_id if network.config.is_encoder_decoder else None,
    )


def generate(
    network: Any,
    ids: Sequence[int],
    writing: Writing,
    limit: int,
    source: Sequence[int] | None = None,
    context: Callable[[], AbstractContextManager[None]] | None = None,
) -> Iterator[Step]:
    """Generate tokens until the text ends, or `writing.tokens` or the model's maximum length is reached.

    Keys and values are cached, so that each step processes only one token.

    Args:
        ids: the tokens so far: a text, or the decoder's start token.
        writing: the number of tokens and the sampling settings.
        limit: the maximum length of the model's input.
        source: the encoder's tokens in an encoder–decoder, else None.
        context: a context for each forward pass, to apply edits. Each pass then processes all tokens again,
            without a cache, because an edit may affect any token.

    Yields:
        The steps, in order; the last step may be the token that ends a text.
    """
    fixed: dict[str, Any] = {}
    name = "input_ids"
    if source is not None:
        name = "decoder_input_ids"
        fixed["input_ids"] = torch.tensor([source], device=network.device)
        if context is None:
            with torch.inference_mode():
                fixed = {"encoder_outputs": network.get_encoder()(**fixed)}
    cache = None
    all_ids: list[int] = []

    def scores(new_ids: Sequence[int]) -> Tensor:
        nonlocal cache
        all_ids.extend(new_ids)
        step_ids = torch.tensor([new_ids if context is None else all_ids], device=network.device)
        given = {name: step_ids, **fixed}
        with without_autocast(network.device), context() if context else nullcontext():
            output = network(**given, past_key_values=cache, use_cache=context is None)
        cache = output.past_key_values if context is None else None
        last: Tensor = output.logits[0, -1].float().cpu()
        return last

    return sample_tokens(scores, ids, writing, limit, generation_defaults(network))


def sample_tokens(
    scores: Callable[[Sequence[int]], Tensor],
    ids: Sequence[int],
    writing: Writing,
    limit: int,
    defaults: GenerationDefaults,
) -> Iterator[Step]:
    """Generate tokens as `generate` does, for any model.

    Args:
        scores: function of the ids added since its last call, which returns the scores of the next
            token, [vocabulary].
        ids, writing, limit: as for `generate`.
    """
    generator = torch.Generator().manual_seed(writing.seed)
    new_ids = ids
    for place in range(len(ids), min(len(ids) + writing.tokens, limit)):
        with torch.inference_mode():
            found = scores(new_ids)
            after = sampling_probabilities(found, writing, defaults, place)
            drawn = torch.multinomial(after, 1, generator=generator)
        step = Step(int(drawn), found.softmax(-1), after)
        yield step
        if step.id in defaults.ends:
            return
        new_ids = [step.id]


def sampling_probabilities(
    scores: Tensor, writing: Writing, defaults: GenerationDefaults, place: int
) -> Tensor:
    """Return the sampling probabilities of the next token, [vocabulary].

    The scores are divided by the temperature, then all but the `top_k` largest are removed, then all but the
    smallest set with total probability ≥ `top_p` (Holtzman et al. 2020, section 3.1), as in transformers;
    the remaining probabilities are scaled to sum to 1. Temperature 0 keeps only the most likely token.

    Args:
        scores: [vocabulary], the model's scores before the softmax.
        defaults: `forbidden` tokens have probability 0; at position 1, the `first` token has probability 1.
        place: the position of the token, from 0; a decoder's start token has position 0.
    """
    if place == 1 and defaults.first is not None:
        return _one_hot(defaults.first, scores)
    scores = scores.clone()
    scores[[number for number in defaults.forbidden if number < len(scores)]] = -torch.inf
    if writing.temperature == 0:
        return _one_hot(int(scores.argmax()), scores)
    scores = scores / writing.temperature
    if 0 < writing.top_k < len(scores):
        least = scores.topk(writing.top_k).values[-1]
        scores[scores < least] = -torch.inf
    if writing.top_p < 1:
        rising, order = scores.sort()
        unlikely = rising.softmax(-1).cumsum(-1) <= 1 - writing.top_p  # their sum is at most 1 − top_p
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
    """Predict the next token at every position, in one pass over all tokens.

    Args:
        inputs: the arguments of the forward pass, each [1, token]; each prediction follows a token of
            `decoder_input_ids`, if given, or of `input_ids`.
        writing: the settings with which the last tokens were generated, or None.
        written: the number of generated tokens at the end.
        end: the token that ended the text; it is not part of the inputs.
    """
    input_ids = inputs.get("decoder_input_ids", inputs["input_ids"])[0].tolist()
    with torch.inference_mode(), without_autocast(network.device):
        logits = network(**{**inputs, "use_cache": False}).logits[0].float().cpu()
    return next_predictions(
        logits, input_ids, tokenizer.readable, generation_defaults(network), writing, written, end
    )


def next_predictions(
    logits: Tensor,
    input_ids: Sequence[int],
    readable: Callable[[int], str],
    defaults: GenerationDefaults,
    writing: Writing | None,
    written: int,
    end: int | None,
) -> tuple[Prediction, ...]:
    """Return the predictions as `next_tokens` does, for any model.

    Args:
        logits: [token, vocabulary], the scores of the token that follows each token.
        input_ids: the ids of these tokens.
        readable: function that returns the readable text of a token id.
        writing, written, end: as for `next_tokens`.
    """
    ids = input_ids if end is None else [*input_ids, end]
    predictions = []
    for position, scores in enumerate(logits):
        following = position + 1
        probabilities = shares = scores.softmax(-1)
        if writing is not None and following >= len(input_ids) - written:
            shares = sampling_probabilities(scores, writing, defaults, following)
        actual = _candidate(readable, ids[following], probabilities, shares) if following < len(ids) else None
        predictions.append(Prediction(position, "next", _likeliest(readable, probabilities, shares), actual))
    return tuple(predictions)


def masked_tokens(
    network: Any, tokenizer: TextTokenizer, inputs: Mapping[str, Any], masked: Sequence[int]
) -> tuple[Prediction, ...]:
    """Predict each masked token with a model like BERT.

    Args:
        inputs: the arguments of the forward pass, each [1, token].
        masked: the positions of the masked tokens, from 0.
    """
    with torch.inference_mode(), without_autocast(network.device):
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


def _one_hot(number: int, scores: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(torch.tensor(number), len(scores)).to(scores.dtype)


def _as_list(ids: int | Iterable[int] | None) -> list[int]:
    if ids is None:
        return []
    return [ids] if isinstance(ids, int) else list(ids)
