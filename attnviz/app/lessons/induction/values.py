"""Repeated random words in a storyteller: weights, predictions, and copying with heads ablated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import torch
from torch import Tensor

from attnviz.capture import loading
from attnviz.capture.arrays import owned
from attnviz.interventions.edit import Edit, HeadOutput
from attnviz.models import catalogue
from attnviz.trace import Floats
from attnviz.trained.storyteller.copying import TEXTS, Copying, Heads, copied, copying, words_twice
from attnviz.trained.storyteller.grammar import CHANT, VOCABULARY
from attnviz.trained.storyteller.storyteller import Storyteller
from attnviz.trained.vocabulary import START
from attnviz.transformer.attention import scaled_dot_product_attention
from attnviz.transformer.decoder_only import DecoderOnlySteps
from attnviz.transformer.masks import causal_mask

Part: TypeAlias = Literal["query", "key", "value"]
"""What a head computes of each token's vector."""


@dataclass(frozen=True, eq=False)
class Repeated:
    """Words in their order, twice, after [CHANT].

    Attributes:
        weights: [layer, head, query, key].
        back: [layer, head, word], from the word that follows to the word, both at their first occurrence.
        match: [layer, head, word], from the repeated word to the one that followed it.
        likeliest: the most probable next word after each repeated word; not after the last.
        right: [word], the probability of the correct one.
    """

    weights: Floats
    back: Floats
    match: Floats
    likeliest: tuple[str, ...]
    right: Floats


def repeated(
    words: Sequence[str], ablated: Sequence[str] = (), *, model: str = catalogue.STORYTELLER
) -> Repeated:
    """Run a storyteller over words of its vocabulary, twice in the same order.

    Args:
        words: at least two.
        ablated: heads, such as "1-2".
        model: a storyteller in the catalogue.

    Raises:
        InvalidEdit: the model has no such head.
    """
    ids = torch.tensor(VOCABULARY.ids([CHANT, *words, *words]))
    edits = _edits(ablated)
    steps = loading.load_storyteller(model).steps(ids, [edits] if edits else ())
    weights = torch.stack([layer.attention.attention.weights for layer in steps.layers])
    first, again = torch.arange(1, len(words)), torch.arange(1 + len(words), 2 * len(words))
    expected = steps.logits[again].softmax(dim=-1)
    return Repeated(
        owned(weights),
        owned(weights[..., first + 1, first]),
        owned(weights[..., again, first + 1]),
        tuple(VOCABULARY.word(number) for number in expected.argmax(dim=-1).tolist()),
        owned(expected.gather(-1, ids[again + 1, None])[:, 0]),
    )


def measured(
    ablated: Sequence[str] = (), *, mean: bool = False, model: str = catalogue.STORYTELLER
) -> Copying:
    """Measure how well a storyteller copies random words with these heads ablated.

    Args:
        mean: whether the output of each is its mean over the texts at each place instead of zero.
        ablated, model: as in `repeated`.

    Raises:
        InvalidEdit: the model has no such head.
    """
    storyteller, heads = loading.load_storyteller(model), _edits(ablated)
    if not mean:
        return copying(storyteller, heads)
    layers = storyteller.steps(words_twice(TEXTS)).layers
    outputs = [layers[head.layer].attention.attention.output[:, head.head].mean(dim=0) for head in heads]
    return copying(
        storyteller,
        [
            HeadOutput("decoder", head.layer, head.head, owned(output))
            for head, output in zip(heads, outputs, strict=True)
        ],
    )


def measured_after_start(*, model: str = catalogue.STORYTELLER) -> Copying:
    """Measure the same texts with [START] in place of [CHANT]."""
    ids = words_twice(TEXTS)
    ids[:, 0] = VOCABULARY.ids([START])[0]
    return copied(ids, loading.load_storyteller(model).steps(ids))


def patched(
    storyteller: Storyteller, ids: Tensor, ablated: Sequence[str], part: Part, readers: Heads
) -> DecoderOnlySteps:
    """Return a pass in which some heads compute one part as if other heads were ablated.

    This is path patching (Wang et al. 2023): one path of the others' output is cut, all others stay.

    Args:
        ids: [text, token].
        ablated: the heads with their output removed, such as "1-2".
        part: the input from which it is removed.
        readers: in these heads, layer and head from 0.
    """
    clean, without = (storyteller.steps(ids, [edits] * len(ids)) for edits in ((), _edits(ablated)))
    mask, outputs = causal_mask(ids.shape[-1]), list[Tensor]()
    for layer, head in readers:
        query, key, value = (
            getattr((without if each == part else clean).layers[layer].attention, each)[:, head]
            for each in get_args(Part)
        )
        outputs.append(scaled_dot_product_attention(query, key, value, mask).output)
    return storyteller.steps(
        ids,
        [
            [HeadOutput("decoder", *at, owned(of_head)) for at, of_head in zip(readers, of_text, strict=True)]
            for of_text in zip(*outputs, strict=True)
        ],
    )


def without_path(
    ablated: Sequence[str], part: Part, readers: Heads, *, model: str = catalogue.STORYTELLER
) -> float:
    """Return the share of words copied if the readers compute one part as if these heads were ablated."""
    ids = words_twice(TEXTS)
    return copied(ids, patched(loading.load_storyteller(model), ids, ablated, part, readers)).right


def control_heads(whole: Copying) -> Heads:
    """Return the heads without a role in the layers of the previous-word heads."""
    layers = {layer for layer, _ in whole.previous_word_heads}
    roles = {*whole.previous_word_heads, *whole.induction_heads}
    heads: Heads = tuple(np.ndindex(whole.prefix_matching.shape))
    return tuple(head for head in heads if head[0] in layers and head not in roles)


def _edits(ablated: Sequence[str]) -> tuple[Edit, ...]:
    return tuple(Edit.parse(f"decoder {head}") for head in ablated)
