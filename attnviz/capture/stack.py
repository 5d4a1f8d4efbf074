"""A model's layers as a function of its word vectors, so that these can be changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnviz.capture.huggingface import HuggingFaceModel
from attnviz.capture.model import Model
from attnviz.capture.network import expects
from attnviz.capture.scratch import ScratchModel
from attnviz.capture.translator import TranslatorModel
from attnviz.errors import ModelNotSupported
from attnviz.models.catalogue import Expects
from attnviz.models.tokenizer import TextTokenizer
from attnviz.trace import Token
from attnviz.transformer.layers import EncoderSteps

TOLERANCE = 1e-5
"""How far the outputs may be from those of the model when it reads the tokens themselves."""


class StackForward(NamedTuple):
    """What the layers made of one or several sentences.

    Attributes:
        output: [sentence, token, d_model], after the last layer.
        weights: of each layer [sentence, head, query, key]: the very numbers that the output was made with.
        logits: [sentence, token, vocabulary], the scores of what the model expects; None if it has no head.
    """

    output: Tensor
    weights: tuple[Tensor, ...]
    logits: Tensor | None = None


@dataclass(frozen=True, eq=False)
class Stack:
    """One text before the layers of one model; of an encoder–decoder, before its encoder's.

    Attributes:
        tokens: what is read.
        words: [token, d_word], their vectors in the model's table of words. Positions are added later.
        stand_in: [d_word], what a word is replaced by to leave it out.
        replaced_by: the token whose vector that is; None: it is the mean of all word vectors.
        run: from words [sentence, token, d_word] to what the layers make of them.
        expects: what the model's head tells of a place, if anything.
        mask_id: the masked token's row in the vocabulary, if there is one.
        spell: a token's row as a person reads it.
    """

    tokens: tuple[Token, ...]
    words: Tensor
    stand_in: Tensor
    replaced_by: str | None
    run: Callable[[Tensor], StackForward]
    expects: Expects | None = None
    mask_id: int | None = None
    spell: Callable[[int], str] = str


def stack_of(model: Model, text: str) -> Stack:
    """The layers of a loaded model, before a text; safe beside other threads that use the model.

    Raises:
        EmptyText, TextTooLong, UnreadableText, UnknownWords: the text cannot be read as it is.
        ModelNotSupported: the model cannot be given word vectors, or makes something else of them than of
            the tokens.
    """
    if isinstance(model, HuggingFaceModel):
        return _published(model, text)
    if isinstance(model, ScratchModel):
        return _from_scratch(model, text)
    if isinstance(model, TranslatorModel):
        return _of_translator(model, text)
    raise ModelNotSupported("This model reads no words, so none can be left out.")


def _published(model: HuggingFaceModel, text: str) -> Stack:
    tokens, network, tokenizer = model.tokens(text), model.network, model.tokenizer
    paired = bool(network.config.is_encoder_decoder)
    layers: Any = network.get_encoder() if paired else network
    table = network.get_input_embeddings()
    ids = torch.tensor([[token.id for token in tokens]])

    def run(**given: Tensor) -> StackForward:
        found = layers(**given, output_attentions=True, output_hidden_states=True)
        return StackForward(found.hidden_states[-1], found.attentions, getattr(found, "logits", None))

    with torch.no_grad():
        words = table(ids)
        try:
            off = (run(inputs_embeds=words).output - run(input_ids=ids).output).abs().max()
        # Each family refuses word vectors with an error of its own; none of them has a name in common.
        except (TypeError, ValueError, AttributeError, NotImplementedError) as error:
            raise ModelNotSupported(
                f"{type(network).__name__} does not take word vectors in place of words, so none can be "
                "bent or left out."
            ) from error
        if not off <= TOLERANCE:
            raise ModelNotSupported(
                f"{type(network).__name__} makes something else of its word vectors than of its words: its "
                f"outputs differ by {off:.1g}. What cannot be shown exactly is not shown."
            )
        stand_in, name = _stand_in(tokenizer, table)
    return Stack(
        tokens,
        words[0],
        stand_in,
        name,
        lambda words: run(inputs_embeds=words),
        None if paired else expects(network),
        tokenizer.mask_id,
        tokenizer.readable,
    )


def _from_scratch(model: ScratchModel, text: str) -> Stack:
    tokens, bert = model.tokens(text), model.bert
    steps = bert.embeddings(
        torch.tensor([token.id for token in tokens]), torch.zeros(len(tokens), dtype=torch.long)
    )
    added = (steps.positions + steps.segments).detach()
    return Stack(
        tokens,
        steps.words.detach(),
        *_stand_in(model.tokenizer, bert.embeddings.words),
        lambda words: _ran(bert.encoder(bert.embeddings.norm(words + added))),
    )


def _of_translator(model: TranslatorModel, text: str) -> Stack:
    tokens, network = model.tokens(text), model.translator.model
    steps = network.source_embedding(torch.tensor([token.id for token in tokens]))
    table = network.source_embedding.table
    average = table(torch.arange(table.num_embeddings)).mean(dim=0) * table.embedding_dim**0.5
    return Stack(
        tokens, steps.words, average, None, lambda words: _ran(network.encoder(words + steps.positions))
    )


def _ran(found: EncoderSteps) -> StackForward:
    return StackForward(found.output, tuple(layer.attention.attention.weights for layer in found.layers))


def _stand_in(tokenizer: TextTokenizer, table: Any) -> tuple[Tensor, str | None]:
    """[MASK]'s vector and spelling where the model has one, else the mean of all word vectors."""
    if tokenizer.mask_id is not None and tokenizer.mask_id < table.num_embeddings:
        return table(torch.tensor(tokenizer.mask_id)).detach(), tokenizer.mask
    return table(torch.arange(table.num_embeddings)).mean(dim=0).detach(), None


class ExpectedToken(NamedTuple):
    """The token whose probability is followed.

    Attributes:
        id: its row in the vocabulary.
        text: as a person reads it.
        probability: that the model gives it.
        kind: "next", what follows the chosen token, or "masked", what was masked there.
        actual: whether it is the token that stands there; else it is the likeliest.
    """

    id: int
    text: str
    probability: float
    kind: Expects
    actual: bool


def expected(stack: Stack, place: int) -> ExpectedToken | None:
    """What the model expects at a token: the next token that stands there, or else the likeliest.

    Args:
        stack: the layers.
        place: the token, from 0.

    Returns:
        None where the model expects nothing: it has no head, or the token is not masked.
    """
    following = place + 1 < len(stack.tokens) and stack.expects == "next"
    if stack.expects is None or (stack.expects == "masked" and stack.tokens[place].id != stack.mask_id):
        return None
    with torch.no_grad():
        logits = stack.run(stack.words[None]).logits
    assert logits is not None  # noqa: S101 - it has a head; for the type checker
    number = stack.tokens[place + 1].id if following else int(logits[0, place].argmax())
    probability = float(logits[0, place].softmax(-1)[number])
    return ExpectedToken(number, stack.spell(number), probability, stack.expects, following)
