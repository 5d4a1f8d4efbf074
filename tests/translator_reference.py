"""A second implementation of the translator, in NumPy; its attention can be edited."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH
from attnviz.trained.vocabulary import END, START

Array = NDArray[np.float64]
Change = Callable[[str, Array], None]
"""Function of the name and the weights of an attention block, [head, query, key], which it may modify."""


def unchanged(name: str, weights: Array) -> None:
    """Leave the weights unchanged."""


def move(name: str, head: int, query: int, source: int, target: int) -> Change:
    """Return a change that moves the weight of one key to another, in one row of one head."""

    def change(attention: str, weights: Array) -> None:
        if attention == name and query < weights.shape[1]:  # the decoder has fewer rows while it translates
            weights[head, query, target] += weights[head, query, source]
            weights[head, query, source] = 0

    return change


def ablate(name: str, head: int, query: int | None = None) -> Change:
    """Return a change that sets the weights of a head, or of one of its rows, to 0."""

    def change(attention: str, weights: Array) -> None:
        if attention == name:
            weights[head, slice(None) if query is None else slice(query, query + 1)] = 0

    return change


class Reference:
    """The network of Vaswani et al. 2017, figure 1, for one sentence.

    Args:
        file: safetensors file with the weights.
        heads: number of heads of each attention block.
    """

    def __init__(self, file: Path, heads: int) -> None:
        self.parameters = {name: array.astype(np.float64) for name, array in load_file(file).items()}
        self.heads = heads

    def probabilities(
        self, english: Sequence[str], french: Sequence[str], change: Change = unchanged
    ) -> Array:
        """Return the probabilities of the word after [START] and each French word, [target, vocabulary]."""
        source = self._embed("source", ENGLISH.ids([*english, END]))
        for layer in range(self._count("encoder")):
            source = self._attend(f"encoder.layers.{layer}.attention", source, source, change)
            source = self._feed_forward(f"encoder.layers.{layer}", source)
        target = self._embed("target", FRENCH.ids([START, *french]))
        for layer in range(self._count("decoder")):
            place = f"decoder.layers.{layer}"
            target = self._attend(f"{place}.attention", target, target, change, causal=True)
            target = self._attend(f"{place}.cross_attention", target, source, change)
            target = self._feed_forward(place, target)
        return softmax(target @ self.parameters["target_embedding.table.weight"].T)

    def translate(self, english: Sequence[str], change: Change = unchanged) -> tuple[str, ...]:
        """Translate by greedy decoding."""
        words: list[str] = []
        while len(words) < 2 * len(english):
            best = FRENCH.word(int(self.probabilities(english, words, change)[-1].argmax()))
            if best == END:
                break
            words.append(best)
        return tuple(words)

    def pronoun_probabilities(
        self, english: Sequence[str], french: Sequence[str], change: Change = unchanged
    ) -> tuple[float, float]:
        """Return the probabilities of *il* and *elle* at the place of the pronoun."""
        step = next(at for at, word in enumerate(french) if word in {"il", "elle"})
        row = self.probabilities(english, french, change)[step]
        il, elle = (float(row[number]) for number in FRENCH.ids(["il", "elle"]))
        return il, elle

    def _count(self, part: str) -> int:
        return 1 + max(
            int(name.split(".")[2]) for name in self.parameters if name.startswith(f"{part}.layers")
        )

    def _embed(self, text: str, ids: Sequence[int]) -> Array:
        table = self.parameters[f"{text}_embedding.table.weight"]
        size = table.shape[1]
        angles = np.arange(len(ids))[:, None] / 10000 ** (np.arange(0, size, 2) / size)
        positions = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(ids), size)
        result: Array = table[list(ids)] * np.sqrt(size) + positions
        return result

    def _linear(self, name: str, vectors: Array) -> Array:
        result: Array = vectors @ self.parameters[f"{name}.weight"].T + self.parameters[f"{name}.bias"]
        return result

    def _norm(self, name: str, vectors: Array) -> Array:
        centred = vectors - vectors.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
        result: Array = scaled * self.parameters[f"{name}.norm.weight"] + self.parameters[f"{name}.norm.bias"]
        return result

    def _attend(
        self, name: str, targets: Array, sources: Array, change: Change, causal: bool = False
    ) -> Array:
        query, key, value = (
            self._linear(f"{name}.to_{part}", vectors).reshape(len(vectors), self.heads, -1).swapaxes(0, 1)
            for part, vectors in (("query", targets), ("key", sources), ("value", sources))
        )
        scores = query @ key.swapaxes(1, 2) / np.sqrt(query.shape[-1])
        if causal:
            scores[:, np.triu(np.ones(scores.shape[1:], bool), 1)] = -np.inf
        weights = softmax(scores)
        change(name, weights)
        joined = (weights @ value).swapaxes(0, 1).reshape(len(targets), -1)
        return self._norm(f"{name}_add_norm", targets + self._linear(f"{name}.to_output", joined))

    def _feed_forward(self, name: str, vectors: Array) -> Array:
        inside = np.maximum(0, self._linear(f"{name}.feed_forward.expand", vectors))
        return self._norm(
            f"{name}.feed_forward_add_norm", vectors + self._linear(f"{name}.feed_forward.contract", inside)
        )


def softmax(scores: Array) -> Array:
    """Return the softmax of each row."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: Array = powers / powers.sum(axis=-1, keepdims=True)
    return result


@cache
def reference(variant: str = "guided", heads: int = 4) -> Reference:
    """Load a variant of the translator that is shipped with attnviz."""
    folder = Path(__file__).parents[1] / "attnviz" / "trained" / "translator" / "weights"
    return Reference(folder / f"{variant}.safetensors", heads)


@dataclass(frozen=True, eq=False)
class Forward:
    """A sentence and its translation.

    Attributes:
        source: the English tokens, including [END].
        words: the French words.
        probabilities: probabilities of the next word, [row, French word].
        encoder, cross, decoder: weights, [layer, head, query, key], [head, row, source], [head, row, target].
    """

    source: tuple[str, ...]
    words: tuple[str, ...]
    probabilities: Array
    encoder: Array
    cross: Array
    decoder: Array


@cache
def translation(sentence: str, variant: str = "guided") -> Forward:
    """Translate a sentence, and record all probabilities and weights of the translation."""
    english = sentence.lower().strip(".").split()
    words = reference(variant).translate(english)
    recorded: dict[str, Array] = {}
    probabilities = reference(variant).probabilities(english, words, recorded.__setitem__)
    layers = [weights for name, weights in recorded.items() if name.startswith("encoder")]
    cross, decoder = (recorded[f"decoder.layers.0.{name}"] for name in ("cross_attention", "attention"))
    return Forward((*english, END), words, probabilities, np.stack(layers), cross, decoder)
