"""What is an induction head? Random words are said twice, with heads silenced, in any model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, TypeAlias, get_args

import numpy as np
import torch
from torch import Tensor

from attnviz.analysis.repeated import RepeatedScores, repeated_scores
from attnviz.capture import loading
from attnviz.capture.arrays import owned
from attnviz.capture.model import ModelInput
from attnviz.interventions.edit import Edit, HeadOutput
from attnviz.models import catalogue
from attnviz.trace import Floats
from attnviz.trained.storyteller.copying import TEXTS, copied, copying, said_twice
from attnviz.trained.storyteller.figures import Copying, Heads
from attnviz.trained.storyteller.grammar import CHANT, CONTAINERS, NOUNS, PLACES, VOCABULARY
from attnviz.trained.storyteller.storyteller import Storyteller
from attnviz.trained.storyteller.tasks import SAID_TWICE
from attnviz.transformer.attention import scaled_dot_product_attention
from attnviz.transformer.decoder_only import DecoderOnlySteps
from attnviz.transformer.masks import causal_mask

Part: TypeAlias = Literal["query", "key", "value"]
"""What a head makes of each token's vector."""

MEASURED_ON = f"{TEXTS} texts of {SAID_TWICE} random words"

_COMMON = (*NOUNS, *CONTAINERS, *PLACES)
_OTHER_MODELS_READ = 4  # texts


@dataclass(frozen=True, eq=False)
class Repeated:
    """Words read twice by the storyteller, after [CHANT].

    Attributes:
        weights: [layer, head, query, key].
        back: [layer, head, word], from the word that follows back to the word, both said first.
        match: [layer, head, word], from the word said again to the one that followed it.
        likeliest: the likeliest next word after each word that is said again; not after the last.
        right: [word], how probable the right one is there.
    """

    weights: Floats
    back: Floats
    match: Floats
    likeliest: tuple[str, ...]
    right: Floats


def repeated(
    words: Sequence[str], silenced: Sequence[str] = (), *, model: str = catalogue.STORYTELLER
) -> Repeated:
    """Let a storyteller read words of its vocabulary twice.

    Args:
        words: at least two.
        silenced: heads, such as "1-2".
        model: the storyteller's name in the catalogue.

    Raises:
        InvalidEdit: the model has no such head.
    """
    ids = torch.tensor(VOCABULARY.ids([CHANT, *words, *words]))
    edits = _edits(silenced)
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
    silenced: Sequence[str] = (), *, mean: bool = False, model: str = catalogue.STORYTELLER
) -> Copying:
    """How well a storyteller copies many random words, with these heads silenced.

    Args:
        mean: whether each of them puts out, at each place, its mean over the texts instead of nothing.
        silenced, model: as in `repeated`.

    Raises:
        InvalidEdit: the model has no such head.
    """
    storyteller, heads = loading.load_storyteller(model), _edits(silenced)
    if not mean:
        return copying(storyteller, heads)
    layers = storyteller.steps(said_twice(TEXTS)).layers
    outputs = [layers[head.layer].attention.attention.output[:, head.head].mean(dim=0) for head in heads]
    return copying(
        storyteller,
        [
            HeadOutput("decoder", head.layer, head.head, owned(output))
            for head, output in zip(heads, outputs, strict=True)
        ],
    )


def withheld(
    storyteller: Storyteller, ids: Tensor, silenced: Sequence[str], part: Part, readers: Heads
) -> DecoderOnlySteps:
    """One pass in which some heads compute one part as if other heads were silenced; all else stays.

    This is path patching (Wang et al. 2023): of all ways on which the others' output goes on, one is cut.

    Args:
        ids: [text, token].
        silenced: the heads whose output is withheld, such as "1-2".
        part: what it is withheld from.
        readers: in these heads, layer and head from 0.
    """
    clean, without = (storyteller.steps(ids, [edits] * len(ids)) for edits in ((), _edits(silenced)))
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
    silenced: Sequence[str], part: Part, readers: Heads, *, model: str = catalogue.STORYTELLER
) -> float:
    """The share of words copied if the readers alone compute one part as if these heads were silenced."""
    ids = said_twice(TEXTS)
    return copied(ids, withheld(loading.load_storyteller(model), ids, silenced, part, readers)).right


def in_model(model: str) -> RepeatedScores:
    """The scores of a model's heads in common English words said twice, on average over some texts.

    Raises:
        AttnvizError: the model cannot read them.
    """
    found = []
    for seed in range(_OTHER_MODELS_READ):
        words = Random(seed).sample(_COMMON, SAID_TWICE)  # noqa: S311 - words are no secret
        text = " ".join(words)
        trace = loading.trace(model, ModelInput(f"{text} {text}"))
        found.append(repeated_scores(trace.of_kind(trace.blocks[0].kind), len(text) + 1))
    mean = RepeatedScores(*(np.mean(part, axis=0) for part in zip(*found, strict=True)))
    for scores in (mean.prefix_matching, mean.same_token):
        scores.setflags(write=False)
    return mean


def _edits(silenced: Sequence[str]) -> tuple[Edit, ...]:
    return tuple(Edit.parse(f"decoder {head}") for head in silenced)
