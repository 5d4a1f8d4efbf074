"""What a token reads while one word of its sentence turns, step by step, into another."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from attnviz.capture import loading
from attnviz.capture.arrays import owned
from attnviz.capture.model import GRADES
from attnviz.capture.stack import Stack, StackForward, stack_of
from attnviz.capture.translator import TranslatorModel, words
from attnviz.errors import AttnvizError
from attnviz.text import plural
from attnviz.trace import Floats, Token, checked_place
from attnviz.trained.translator.translator import target_of
from attnviz.trained.translator.vocabulary import FRENCH

MOST_TOKENS = 128


@dataclass(frozen=True)
class Outcome:
    """Two words that the model may write at one place.

    Attributes:
        words: what it writes there with the first word, and with the second.
        probabilities: [step] of each of them.
    """

    words: tuple[str, str]
    probabilities: tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class Between:
    """Forward passes over one sentence, of which one word's vector is a mix of two words' vectors.

    Attributes:
        tokens: of the first sentence.
        place: of the word that changes, from 0.
        other: the same place in the second sentence.
        shares: [step], how much of the mix is the second word's vector: 0, 0.05, …, 1.
        rows: [step, layer, head, key], what the token that looks reads.
        outcome: what the model writes; None where it writes nothing, or the same with both words.
    """

    tokens: tuple[Token, ...]
    place: int
    other: Token
    shares: Floats
    rows: Floats
    outcome: Outcome | None


def between(model: str, first: str, second: str, query: int) -> Between:
    """Read the sentence with (1 − t) · x + t · y in place of one word's vector, for `GRADES` values of t.

    x and y are the two words' vectors in the model's own table. At t = 0 and t = 1 the model reads the first
    sentence and the second one; in between it reads a vector that is no word's.

    Args:
        query: the token that looks, from 0; of an encoder–decoder, the encoder's.

    Raises:
        AttnvizError: a sentence cannot be read, or the two do not differ in one token alone.
    """
    loaded = loading.load(model)
    here, there = stack_of(loaded, first), stack_of(loaded, second)
    checked_place(query, len(here.tokens))
    place = _changed(here, there)
    shares = torch.linspace(0, 1, GRADES)
    vectors = here.words.repeat(GRADES, 1, 1)
    vectors[:, place] = torch.lerp(here.words[place], there.words[place], shares[:, None])
    with torch.inference_mode():
        found = here.run(vectors)
        outcome = (
            _translated(loaded, here, there, found.output)
            if isinstance(loaded, TranslatorModel)
            else _next_word(here, found)
        )
    rows = torch.stack([weights[:, :, query] for weights in found.weights], dim=1)
    return Between(here.tokens, place, there.tokens[place], owned(shares), owned(rows), outcome)


def _changed(here: Stack, there: Stack) -> int:
    """The place at which the two sentences differ.

    Raises:
        AttnvizError: there is none, or more than one, or the sentences are too long.
    """
    one, other = here.tokens, there.tokens
    if len(one) > MOST_TOKENS:
        raise AttnvizError(
            f"The sentence has {plural(len(one), 'token')}, and is read {GRADES} times: {MOST_TOKENS} are "
            "the most."
        )
    if len(one) != len(other):
        raise AttnvizError(
            f"The first sentence has {plural(len(one), 'token')}, the second {len(other)}. Here one word "
            "turns into another: change one word into one that is as many tokens."
        )
    places = [at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a.id != b.id]
    if len(places) != 1:
        raise AttnvizError(
            f"The two sentences differ in {plural(len(places), 'token')}. Here one word turns into another: "
            "change one alone."
        )
    return places[0]


def _translated(model: TranslatorModel, here: Stack, there: Stack, encoded: torch.Tensor) -> Outcome | None:
    """The first French words in which the two translations differ, after those that they share."""
    one, other = (model.translator.translate(words(each.tokens)) for each in (here, there))
    shared = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    if shared is None:
        return None
    target = torch.tensor(target_of(one[:shared])).expand(len(encoded), -1)
    probabilities = model.translator.model.decode(target, encoded)[-1][:, -1].softmax(-1)
    first, second = FRENCH.ids([one[shared], other[shared]])
    return Outcome(
        (one[shared], other[shared]), (owned(probabilities[:, first]), owned(probabilities[:, second]))
    )


def _next_word(stack: Stack, found: StackForward) -> Outcome | None:
    """The likeliest words after the whole text."""
    if stack.expects != "next" or found.logits is None:
        return None
    probabilities = found.logits[:, -1].softmax(-1)
    first, second = (int(each.argmax()) for each in (probabilities[0], probabilities[-1]))
    if first == second:
        return None
    return Outcome(
        (stack.spell(first), stack.spell(second)),
        (owned(probabilities[:, first]), owned(probabilities[:, second])),
    )
