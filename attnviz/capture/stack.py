"""A model's layers as a function of its word vectors, so that these can be changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnviz.capture.huggingface import HuggingFaceModel
from attnviz.capture.model import (
    OCCLUSION_METHODS,
    ExpectedToken,
    Model,
    ModelInput,
    OcclusionMethod,
    as_model_input,
)
from attnviz.capture.network import expects
from attnviz.capture.scratch import ScratchModel
from attnviz.capture.storyteller import StorytellerModel
from attnviz.capture.translator import TranslatorModel
from attnviz.errors import ModelNotSupported
from attnviz.models.catalogue import Expects
from attnviz.models.tokenizer import TextTokenizer
from attnviz.trace import Token
from attnviz.trained.storyteller.grammar import VOCABULARY
from attnviz.transformer.layers import Encoder
from attnviz.transformer.masks import causal_mask

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
        stand_ins: [d_word] each, what takes a word's place in the ways that put something there.
        run: from the words of some sentences, [sentence, token, d_word], to what the layers make of them.
        expects: what the model's head predicts at a place, if anything.
        mask_token: how the masked token is written, if there is one.
        mask_id: its row in the vocabulary.
        spell: a token's row as a person reads it.
    """

    tokens: tuple[Token, ...]
    words: Tensor
    stand_ins: Mapping[OcclusionMethod, Tensor]
    run: Callable[[Tensor], StackForward]
    expects: Expects | None = None
    mask_token: str | None = None
    mask_id: int | None = None
    spell: Callable[[int], str] = str

    @property
    def ways(self) -> tuple[OcclusionMethod, ...]:
        """How a token can be removed."""
        return tuple(way for way in OCCLUSION_METHODS if way in (*self.stand_ins, "deleted"))


def stack_of(model: Model, text: str | ModelInput) -> Stack:
    """The layers of a loaded model, before a text or its tokens; safe beside other threads that use it.

    Raises:
        EmptyText, TextTooLong, UnreadableText, UnknownWords: the text cannot be read as it is.
        ModelNotSupported: the model cannot be given word vectors, or makes something else of them than of
            the tokens.
    """
    model.need_processor()
    if as_model_input(text).second is not None:
        raise ModelNotSupported(
            "One text is needed here, not two sentences together. Leave the second one out."
        )
    if isinstance(model, HuggingFaceModel):
        return _published(model, text)
    if isinstance(model, ScratchModel):
        return _from_scratch(model, text)
    if isinstance(model, TranslatorModel):
        return _of_translator(model, text)
    if isinstance(model, StorytellerModel):
        return _of_storyteller(model, text)
    raise ModelNotSupported("This model reads no words, so none can be left out.")


def _published(model: HuggingFaceModel, text: str | ModelInput) -> Stack:
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
    return Stack(
        tokens,
        words[0],
        _stand_ins(tokenizer, table),
        lambda words: run(inputs_embeds=words),
        None if paired else expects(network),
        tokenizer.mask,
        tokenizer.mask_id,
        tokenizer.readable,
    )


def _from_scratch(model: ScratchModel, text: str | ModelInput) -> Stack:
    tokens, bert = model.tokens(text), model.bert
    steps = bert.embeddings(
        torch.tensor([token.id for token in tokens]), torch.zeros(len(tokens), dtype=torch.long)
    )
    added = (steps.positions + steps.segments).detach()

    def run(words: Tensor) -> StackForward:
        return _ran(bert.encoder, bert.embeddings.norm(words + added[: words.shape[1]]))

    stand_ins = _stand_ins(model.tokenizer, bert.embeddings.words)
    return Stack(tokens, steps.words.detach(), stand_ins, run, mask_token=model.tokenizer.mask)


def _of_translator(model: TranslatorModel, text: str | ModelInput) -> Stack:
    tokens, network = model.tokens(text), model.translator.model
    steps = network.source_embedding(torch.tensor([token.id for token in tokens]))
    table = network.source_embedding.table
    average = table(torch.arange(table.num_embeddings)).mean(dim=0) * table.embedding_dim**0.5

    def run(words: Tensor) -> StackForward:
        return _ran(network.encoder, words + steps.positions[: words.shape[1]])

    return Stack(tokens, steps.words, {"mean vector": average}, run)


def _of_storyteller(model: StorytellerModel, text: str | ModelInput) -> Stack:
    tokens, network = model.tokens(text), model.storyteller.model
    table = network.table.weight

    def run(words: Tensor) -> StackForward:
        found = network.read(words, causal_mask(words.shape[1]))
        return StackForward(
            found.output, tuple(layer.attention.attention.weights for layer in found.layers), found.logits
        )

    return Stack(
        tokens,
        table[[token.id for token in tokens]],
        {"mean vector": table.mean(dim=0)},
        run,
        "next",
        spell=VOCABULARY.word,
    )


def _ran(encoder: Encoder, embedded: Tensor) -> StackForward:
    found = encoder(embedded)
    return StackForward(found.output, tuple(layer.attention.attention.weights for layer in found.layers))


def _stand_ins(tokenizer: TextTokenizer, table: Any) -> dict[OcclusionMethod, Tensor]:
    """[MASK]'s vector where the model has one, and the mean of all word vectors."""
    with torch.no_grad():
        stand_ins: dict[OcclusionMethod, Tensor] = {
            "mean vector": table(torch.arange(table.num_embeddings)).mean(dim=0)
        }
        if tokenizer.mask_id is not None and tokenizer.mask_id < table.num_embeddings:
            stand_ins["mask vector"] = table(torch.tensor(tokenizer.mask_id))
    return stand_ins


def expected(stack: Stack, place: int) -> ExpectedToken | None:
    """The prediction at a token: the actual next token, or else the most probable one.

    Args:
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
