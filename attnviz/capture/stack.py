"""A model's layers as a function of its word embeddings, which can be changed."""

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
"""Maximum difference between the outputs for word embeddings and for token ids."""


class StackForward(NamedTuple):
    """The results of the layers for one or several sentences.

    Attributes:
        output: [sentence, token, d_model], after the last layer.
        weights: for each layer [sentence, head, query, key], part of the same autograd graph as the output.
        logits: [sentence, token, vocabulary], from the language-model head; None without a head.
    """

    output: Tensor
    weights: tuple[Tensor, ...]
    logits: Tensor | None = None


@dataclass(frozen=True, eq=False)
class Stack:
    """One text and the layers of a model, or of its encoder in an encoder–decoder.

    Attributes:
        tokens: the input tokens.
        words: [token, d_word], their word embeddings, before positions are added.
        replacements: a replacement embedding, [d_word], for each occlusion method that uses one.
        run: computes the layers for word embeddings of several sentences, [sentence, token, d_word].
        expects: the kind of prediction of the model's head, if any.
        mask_token: the text of the mask token, if there is one.
        mask_id: the id of the mask token.
        spell: returns the readable text of a token id.
    """

    tokens: tuple[Token, ...]
    words: Tensor
    replacements: Mapping[OcclusionMethod, Tensor]
    run: Callable[[Tensor], StackForward]
    expects: Expects | None = None
    mask_token: str | None = None
    mask_id: int | None = None
    spell: Callable[[int], str] = str

    @property
    def occlusion_methods(self) -> tuple[OcclusionMethod, ...]:
        """The supported methods of removing a token."""
        return tuple(method for method in OCCLUSION_METHODS if method in (*self.replacements, "deleted"))


def stack_of(model: Model, text: str | ModelInput) -> Stack:
    """Return the layers of a loaded model for a text or its tokens; thread-safe.

    Raises:
        EmptyText, TextTooLong, UnreadableText, UnknownWords: the text is invalid for this model.
        ModelNotSupported: the model does not take word embeddings as input, or its output for them differs
            from its output for the tokens.
    """
    model.need_cpu()
    if as_model_input(text).second is not None:
        raise ModelNotSupported("This computation requires one text. Omit the second sentence.")
    if isinstance(model, HuggingFaceModel):
        return _from_transformers(model, text)
    if isinstance(model, ScratchModel):
        return _from_scratch(model, text)
    if isinstance(model, TranslatorModel):
        return _from_translator(model, text)
    if isinstance(model, StorytellerModel):
        return _from_storyteller(model, text)
    raise ModelNotSupported("This model does not read text, so no word can be removed.")


def _from_transformers(model: HuggingFaceModel, text: str | ModelInput) -> Stack:
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
            difference = (run(inputs_embeds=words).output - run(input_ids=ids).output).abs().max()
        # Families refuse word embeddings with different errors, which have no common base class.
        except (TypeError, ValueError, AttributeError, NotImplementedError) as error:
            raise ModelNotSupported(
                f"{type(network).__name__} does not accept word embeddings as input, so words cannot be "
                "changed or removed."
            ) from error
        if not difference <= TOLERANCE:
            raise ModelNotSupported(
                f"{type(network).__name__} computes different outputs from word embeddings than from token "
                f"ids: they differ by {difference:.1g}."
            )
    return Stack(
        tokens,
        words[0],
        _replacements(tokenizer, table),
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
        return _run_encoder(bert.encoder, bert.embeddings.norm(words + added[: words.shape[1]]))

    replacements = _replacements(model.tokenizer, bert.embeddings.words)
    return Stack(tokens, steps.words.detach(), replacements, run, mask_token=model.tokenizer.mask)


def _from_translator(model: TranslatorModel, text: str | ModelInput) -> Stack:
    tokens, network = model.tokens(text), model.translator.model
    steps = network.source_embedding(torch.tensor([token.id for token in tokens]))
    table = network.source_embedding.table
    average = table(torch.arange(table.num_embeddings)).mean(dim=0) * table.embedding_dim**0.5

    def run(words: Tensor) -> StackForward:
        return _run_encoder(network.encoder, words + steps.positions[: words.shape[1]])

    return Stack(tokens, steps.words, {"mean vector": average}, run)


def _from_storyteller(model: StorytellerModel, text: str | ModelInput) -> Stack:
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


def _run_encoder(encoder: Encoder, embedded: Tensor) -> StackForward:
    found = encoder(embedded)
    return StackForward(found.output, tuple(layer.attention.attention.weights for layer in found.layers))


def _replacements(tokenizer: TextTokenizer, table: Any) -> dict[OcclusionMethod, Tensor]:
    """Return the mask token's embedding, if there is such a token, and the mean of all word embeddings."""
    with torch.no_grad():
        replacements: dict[OcclusionMethod, Tensor] = {
            "mean vector": table(torch.arange(table.num_embeddings)).mean(dim=0)
        }
        if tokenizer.mask_id is not None and tokenizer.mask_id < table.num_embeddings:
            replacements["mask vector"] = table(torch.tensor(tokenizer.mask_id))
    return replacements


def expected(stack: Stack, position: int) -> ExpectedToken | None:
    """Return the prediction at a token: the actual next token, or else the most probable one.

    Args:
        position: the token's position, from 0.

    Returns:
        None if there is no prediction: the model has no head, or predicts masked tokens, but not this one.
    """
    has_next = position + 1 < len(stack.tokens) and stack.expects == "next"
    if stack.expects is None or (stack.expects == "masked" and stack.tokens[position].id != stack.mask_id):
        return None
    with torch.no_grad():
        logits = stack.run(stack.words[None]).logits
    assert logits is not None  # noqa: S101 - it has a head; for the type checker
    number = stack.tokens[position + 1].id if has_next else int(logits[0, position].argmax())
    probability = float(logits[0, position].softmax(-1)[number])
    return ExpectedToken(number, stack.spell(number), probability, stack.expects, has_next)
