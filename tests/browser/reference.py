"""The numbers that the page should show, from transformers' own BERT and nothing of attnviz."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray

from tests import reference_bert

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Forward:
    """One forward pass.

    Attributes:
        tokens: the word pieces, special tokens included.
        special: whether the tokenizer added a token.
        words: the number of the word that a piece belongs to; None for special tokens.
        typed: the characters of the text that a token stands for.
        weights: [layer, head, query, key].
        query, key: [layer, head, token, d_head], after the projection.
    """

    tokens: tuple[str, ...]
    special: tuple[bool, ...]
    words: tuple[int | None, ...]
    typed: tuple[str, ...]
    weights: Array
    query: Array
    key: Array

    @property
    def labels(self) -> tuple[str, ...]:
        """What the picture calls the tokens: letters that the model does not know as they were typed."""
        pairs = zip(self.tokens, self.typed, strict=True)
        return tuple(f"{piece} {typed}" if piece == "[UNK]" else piece for piece, typed in pairs)

    @property
    def dot_products(self) -> Array:
        """q · k, [layer, head, query, key]."""
        return self.query @ self.key.transpose(0, 1, 3, 2)

    @property
    def scores(self) -> Array:
        """q · k / √d_head, [layer, head, query, key]."""
        return self.dot_products / float(np.sqrt(self.query.shape[-1]))

    def shown(self, hide: bool = False, merge: bool = False) -> "Shown":
        """The weights with pieces merged (sum over keys, mean over queries), then special tokens left out."""
        groups: list[list[int]] = []
        for position, word in enumerate(self.words):
            together = merge and position > 0 and word is not None and word == self.words[position - 1]
            groups[-1:] = [[*groups[-1], position]] if together else [*groups[-1:], [position]]
        members = np.array(
            [[position in group for position in range(len(self.tokens))] for group in groups], float
        )
        mean = members / members.sum(axis=1, keepdims=True)
        weights = mean @ self.weights @ members.T
        kept = [at for at, group in enumerate(groups) if not (hide and self.special[group[0]])]
        weights = weights[:, :, kept][:, :, :, kept]
        if hide:
            weights = weights / weights.sum(axis=-1, keepdims=True)
        positions = tuple(groups[at][0] for at in kept)
        labels = tuple("".join([self.tokens[g] for g in groups[at]]).replace("##", "") for at in kept)
        return Shown(labels if merge else tuple(self.tokens[at] for at in positions), positions, weights)


@dataclass(frozen=True, eq=False)
class Shown:
    """What is left after hiding and merging.

    Attributes:
        labels: the names of what is shown.
        positions: each one's first token, from 0.
        weights: [layer, head, shown query, shown key].
    """

    labels: tuple[str, ...]
    positions: tuple[int, ...]
    weights: Array

    @property
    def names(self) -> tuple[str, ...]:
        """What a sentence calls them."""
        return names(self.labels, self.positions)

    @property
    def options(self) -> tuple[str, ...]:
        """The names in the lists to choose from: "10 it"."""
        return tuple(f"{at + 1} {label}" for at, label in zip(self.positions, self.labels, strict=True))


def names(labels: Sequence[str], positions: Sequence[int] | None = None) -> tuple[str, ...]:
    """What a sentence calls the tokens: those with the same label also by their number, "the (token 2)"."""
    count = Counter(labels)
    numbered = zip(labels, range(len(labels)) if positions is None else positions, strict=True)
    return tuple(f"{label} (token {at + 1})" if count[label] > 1 else label for label, at in numbered)


@cache
def forward(text: str) -> Forward:
    """The bundled BERT over `text`; run once for each text."""
    tokenizer, model = reference_bert.tokenizer(), reference_bert.model()
    inputs = tokenizer(
        text, return_tensors="pt", return_special_tokens_mask=True, return_offsets_mapping=True
    )
    typed = [text[start:end] for start, end in inputs.pop("offset_mapping")[0].tolist()]
    special = inputs.pop("special_tokens_mask")[0].tolist()
    with torch.inference_mode():
        outputs = model(**inputs, output_attentions=True, output_hidden_states=True)
        heads = model.config.num_attention_heads
        projected: dict[str, list[Array]] = {"query": [], "key": []}
        for layer, hidden in zip(model.encoder.layer, outputs.hidden_states, strict=False):
            for name, vectors in projected.items():
                flat = getattr(layer.attention.self, name)(hidden)[0]
                vectors.append(_array(flat.reshape(len(flat), heads, -1).transpose(0, 1)))
    return Forward(
        tuple(tokenizer.convert_ids_to_tokens(inputs["input_ids"][0].tolist())),
        tuple(bool(flag) for flag in special),
        tuple(inputs.word_ids(0)),
        tuple(typed),
        np.stack([_array(weights[0]) for weights in outputs.attentions]),
        np.stack(projected["query"]),
        np.stack(projected["key"]),
    )


def _array(tensor: torch.Tensor) -> Array:
    return cast("Array", tensor.numpy().astype(np.float64))
