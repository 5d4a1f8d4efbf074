"""What the pages about the translator should show, by numpy from its file; of attnviz only the word lists."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH

Array = NDArray[np.float64]
WEIGHTS = Path(__file__).parents[2] / "attnviz" / "translation" / "weights"
_HEADS = 4


@dataclass(frozen=True, eq=False)
class Forward:
    """A sentence and its translation.

    Attributes:
        source: the English tokens, [END] included.
        words: the French words.
        probabilities: [row, French word], of the next word.
        encoder: [layer, head, query, key]; cross: [head, row, source]; decoder: [head, row, target].
    """

    source: tuple[str, ...]
    words: tuple[str, ...]
    probabilities: Array
    encoder: Array
    cross: Array
    decoder: Array


@cache
def translation(sentence: str, file: str = "taught") -> Forward:
    """The translation, word by word, every word from all of the sentence anew."""
    network = _Network(load_file(WEIGHTS / f"{file}.safetensors"))
    source = [*sentence.lower().strip(".").split(), "[END]"]
    source_ids = ENGLISH.ids(source)
    words: list[str] = []
    while True:
        probabilities, encoder, cross, decoder = network.run(source_ids, FRENCH.ids(["[START]", *words]))
        word = FRENCH.word(int(probabilities[-1].argmax()))
        if word == "[END]":
            return Forward(tuple(source), tuple(words), probabilities, encoder, cross, decoder)
        words.append(word)


class _Network:
    def __init__(self, numbers: dict[str, NDArray[np.float16]]) -> None:
        self.numbers = {name: values.astype(np.float64) for name, values in numbers.items()}

    def run(self, source: list[int], target: list[int]) -> tuple[Array, Array, Array, Array]:
        english = self._embed("source_embedding", source)
        weights = []
        for layer in range(2):
            english, seen = self._attend(f"encoder.layers.{layer}", "attention", english, english)
            english = self._feed_forward(f"encoder.layers.{layer}", english)
            weights.append(seen)
        french = self._embed("target_embedding", target)
        ahead = np.triu(np.ones((len(target), len(target)), bool), 1)
        french, back = self._attend("decoder.layers.0", "attention", french, french, ahead)
        french, cross = self._attend("decoder.layers.0", "cross_attention", french, english)
        french = self._feed_forward("decoder.layers.0", french)
        logits = french @ self.numbers["target_embedding.table.weight"].T
        return _softmax(logits), np.stack(weights), cross, back

    def _embed(self, name: str, ids: list[int]) -> Array:
        table = self.numbers[f"{name}.table.weight"]
        size = table.shape[1]
        angle = np.arange(len(ids))[:, None] / 10000 ** (np.arange(0, size, 2) / size)
        positions = np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(len(ids), size)
        return cast("Array", table[ids] * np.sqrt(size) + positions)

    def _linear(self, name: str, vectors: Array) -> Array:
        return vectors @ self.numbers[f"{name}.weight"].T + self.numbers[f"{name}.bias"]

    def _norm(self, name: str, vectors: Array) -> Array:
        centred = vectors - vectors.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
        weight, bias = self.numbers[f"{name}.norm.weight"], self.numbers[f"{name}.norm.bias"]
        return cast("Array", scaled * weight + bias)

    def _attend(
        self, layer: str, name: str, asking: Array, offered: Array, hidden: NDArray[np.bool_] | None = None
    ) -> tuple[Array, Array]:
        def projected(part: str, vectors: Array) -> Array:
            return self._linear(f"{layer}.{name}.to_{part}", vectors).reshape(len(vectors), _HEADS, -1)

        query, key, value = projected("query", asking), projected("key", offered), projected("value", offered)
        scores = np.einsum("qhd,khd->hqk", query, key) / np.sqrt(query.shape[-1])
        weights = _softmax(scores if hidden is None else np.where(hidden, -np.inf, scores))
        read = np.einsum("hqk,khd->qhd", weights, value).reshape(asking.shape)
        added = asking + self._linear(f"{layer}.{name}.to_output", read)
        return self._norm(f"{layer}.{name}_add_norm", added), weights

    def _feed_forward(self, layer: str, vectors: Array) -> Array:
        inside = np.maximum(self._linear(f"{layer}.feed_forward.expand", vectors), 0)
        added = vectors + self._linear(f"{layer}.feed_forward.contract", inside)
        return self._norm(f"{layer}.feed_forward_add_norm", added)


def _softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return cast("Array", powers / powers.sum(axis=-1, keepdims=True))
