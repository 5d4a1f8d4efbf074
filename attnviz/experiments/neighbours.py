"""Exact search for the tokens of a text at which a head has the most similar query, key or output.

exBERT (Hoover et al. 2020) searches a corpus in the same way. `read_corpus` keeps the vectors of a short
text in memory for repeated searches; `search` streams a text of any length and keeps only the results.
Both round vectors to float16, which changes cosines by less than 0.001.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.capture import loading
from attnviz.errors import AttnvizError, quoted
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.progress import Progress
from attnviz.experiments.scoring import Share, parts
from attnviz.experiments.sentences import SkippedSentence, check_any_read, self_attention, traces
from attnviz.models import resolve
from attnviz.models.catalogue import Entry
from attnviz.text import plural
from attnviz.trace import Block, Floats, Mask

Vector = Literal["query", "key", "output"]
"""One of a token's vectors in a head; the output is the head's weighted average of values."""

Float16s = NDArray[np.float16]
Places = NDArray[np.intp]
Lines = Sequence[tuple[int, str]]
"""Lines of a text with their numbers, from 0."""

COUNT = 50
"""Default number of results."""

MAX_REASONS = 50
"""Maximum number of skipped lines for which the reason is stored."""

_VECTORS: tuple[Vector, ...] = get_args(Vector)
_MAX_FLOAT16 = float(np.finfo(np.float16).max)


class Neighbour(NamedTuple):
    """A token found by a search.

    Attributes:
        similarity: Cosine between its vector and the search vector.
        line: Number of its line in the text, from 0.
        place: Position of the token in the line, from 0.
        sentence: The line.
        attends_to: Position of the token to which it attends most, from 0; special tokens are excluded.
        weight: Its attention weight on that token.
    """

    similarity: float
    line: int
    place: int
    sentence: str
    attends_to: int
    weight: float


@dataclass(frozen=True, eq=False)
class SentenceVectors:
    """The vectors of a sentence's tokens in all heads of one layer.

    Attributes:
        line: Number of its line in the text, from 0.
        text: The line.
        labels: [token], display labels.
        query, key, output: float16 [head, token, d_head].
        attends_to: int16 [head, token], position, from 0, of the token to which each token attends most;
            special tokens, to which many heads attend by default, are excluded.
        weight: float16 [head, token], the attention weight on that token.
    """

    line: int
    text: str
    labels: tuple[str, ...]
    query: Float16s
    key: Float16s
    output: Float16s
    attends_to: NDArray[np.int16]
    weight: Float16s

    @classmethod
    def of(cls, line: int, text: str, block: Block) -> SentenceVectors:
        """Return the vectors of one layer's attention."""
        tokens = block.query_tokens
        query, key, output = (
            np.clip(getattr(block, name), -_MAX_FLOAT16, _MAX_FLOAT16).astype(np.float16) for name in _VECTORS
        )
        others = np.where([token.special for token in tokens], -1, block.weights)
        return cls(
            line,
            text,
            DisplayTokens(tokens, text).labels,
            query,
            key,
            output,
            others.argmax(axis=-1).astype(np.int16),
            np.maximum(others.max(axis=-1), 0).astype(np.float16),
        )

    def vectors(self, vector: Vector) -> Float16s:
        """Return one vector of every token, float16 [head, token, d_head]."""
        found: Float16s = getattr(self, vector)
        return found


@dataclass(frozen=True, eq=False)
class TextVectors:
    """The vectors of all tokens of a text, in all heads of one layer.

    Attributes:
        sentences: The sentences that the model can read, in order.
        skipped: Lines that the model cannot read, with the reason.
    """

    sentences: tuple[SentenceVectors, ...] = ()
    skipped: tuple[SkippedSentence, ...] = ()

    @property
    def nbytes(self) -> int:
        """Size of the vectors in bytes."""
        return sum(one.vectors(vector).nbytes for one in self.sentences for vector in _VECTORS)

    @property
    def tokens(self) -> list[tuple[SentenceVectors, int]]:
        """The sentence of each token, and the token's position in that sentence, from 0."""
        return [(one, place) for one in self.sentences for place in range(len(one.labels))]

    def vectors(self, head: int, vector: Vector) -> Float16s:
        """Return one vector of every token, float16 [token, d_head]; `head` counts from 0."""
        return np.concatenate([one.vectors(vector)[head] for one in self.sentences])

    def nearest(
        self, head: int, vector: Vector, search_vector: Floats, count: int, exclude: str = ""
    ) -> list[tuple[int, Neighbour]]:
        """Return the tokens with the most similar vectors, most similar first; ties in order of position.

        Args:
            head: Index from 0.
            vector: Vectors to compare.
            search_vector: [d_head], the search vector.
            count: Maximum number of tokens.
            exclude: Sentence whose tokens are excluded.

        Returns:
            The index of each token in `tokens`, and its search result.
        """
        tokens = self.tokens
        allowed = np.array([one.text != exclude for one, _ in tokens], np.bool_)
        found = []
        numbers, cosines = nearest(self.vectors(head, vector), search_vector, count, allowed)
        for token, similarity in zip(numbers.tolist(), cosines.tolist(), strict=True):
            one, place = tokens[token]
            attends_to, weight = int(one.attends_to[head, place]), float(one.weight[head, place])
            found.append((token, Neighbour(similarity, one.line, place, one.text, attends_to, weight)))
        return found


@dataclass(frozen=True)
class Neighbours:
    """The tokens of a text with the vectors most similar to a search vector.

    Attributes:
        nearest: Results, most similar first; ties in order of position.
        tokens: Number of compared tokens.
        lines: Number of lines read, including empty and skipped lines.
        skipped: Number of lines that the model cannot read.
        reasons: The first skipped lines, at most `MAX_REASONS`, with the reason.
    """

    nearest: tuple[Neighbour, ...] = ()
    tokens: int = 0
    lines: int = 0
    skipped: int = 0
    reasons: tuple[SkippedSentence, ...] = ()

    def merged(self, other: Neighbours, count: int) -> Neighbours:
        """Merge the results of two parts of a text, keeping the `count` most similar tokens."""
        both = sorted((*self.nearest, *other.nearest), key=lambda near: (-near.similarity, *near[1:3]))
        return Neighbours(
            tuple(both[:count]),
            self.tokens + other.tokens,
            self.lines + other.lines,
            self.skipped + other.skipped,
            (self.reasons + other.reasons)[:MAX_REASONS],
        )


def nearest(
    vectors: NDArray[np.floating], search_vector: Floats, count: int, allowed: Mask
) -> tuple[Places, Floats]:
    """Find the vectors most similar to a search vector, by cosine; ties in order of position.

    Args:
        vectors: [token, d].
        search_vector: [d], the search vector.
        count: Maximum number of vectors.
        allowed: [token], whether the token may be returned.

    Returns:
        The indices of the vectors, and their cosines, float32; the cosine with a zero vector is 0.
    """
    floats = vectors.astype(np.float32)
    lengths = np.maximum(np.linalg.norm(floats, axis=-1) * np.linalg.norm(search_vector), 1e-12)
    cosines: Floats = (floats @ search_vector.astype(np.float32) / lengths).astype(np.float32)
    places = np.flatnonzero(allowed)
    places = places[np.argsort(-cosines[places], kind="stable")][:count]
    return places, cosines[places]


def search(
    corpus: Corpus,
    model: str,
    head: tuple[int, int],
    vector: Vector,
    search_vector: Floats,
    count: int = COUNT,
    exclude: str = "",
    share: Share = map,
) -> Iterator[Progress[Neighbours]]:
    """Search a text of any length; `done` and `total` count lines.

    Args:
        corpus: One sentence per line.
        model: Name of a model, as for `loading.load`.
        head: Layer and head, from 0.
        vector: Vectors to compare.
        search_vector: [d_head], the search vector.
        count: Maximum number of tokens.
        exclude: Sentence whose tokens are excluded.
        share: `map`, or the result of `on_ray.share`, which processes parts of the text in parallel.

    Raises:
        AttnvizError: the model cannot be used, has no such layer, or cannot read any line.
    """
    found = Neighbours()
    yield Progress(0, corpus.lines, found)
    work = partial(_search_part, model, head, vector, search_vector, count, exclude)
    for part in share(work, parts(corpus)):
        found = found.merged(part, count)
        yield Progress(found.lines, corpus.lines, found)
    check_any_read(found.tokens, "lines", found.reasons)


def _search_part(
    model: str,
    head: tuple[int, int],
    vector: Vector,
    search_vector: Floats,
    count: int,
    exclude: str,
    lines: Lines,
) -> Neighbours:
    layer, number = head
    read = read_lines(model, layer, lines)
    found = read.nearest(number, vector, search_vector, count, exclude) if read.sentences else []
    return Neighbours(
        tuple(near for _, near in found),
        len(read.tokens),
        len(lines),
        len(read.skipped),
        read.skipped[:MAX_REASONS],
    )


def read_corpus(
    corpus: Corpus, model: str, layer: int, max_bytes: int
) -> Iterator[Progress[TextVectors | None]]:
    """Read a short text; the last step contains its vectors. `done` and `total` count lines.

    Args:
        corpus: One sentence per line.
        model: Name of a model, as for `loading.load`.
        layer: Index from 0.
        max_bytes: Maximum size of the vectors.

    Raises:
        AttnvizError: the model cannot be used, has no such layer, or cannot read any line; or the vectors of
            the text are larger than `max_bytes`.
    """
    found = TextVectors()
    done = 0
    yield Progress(done, corpus.lines, None)
    for lines in parts(corpus):
        part = read_lines(model, layer, lines)
        found = TextVectors(found.sentences + part.sentences, found.skipped + part.skipped)
        if found.nbytes > max_bytes:
            raise AttnvizError(
                f"The vectors of this text need more than {max_bytes / 1e6:,.0f} MB. Use at most "
                f"{max(1, done):,} of its lines here, or search it in Python with attnviz.experiments.find."
            )
        done += len(lines)
        if done < corpus.lines:
            yield Progress(done, corpus.lines, None)
    check_any_read(len(found.sentences), "lines", found.skipped)
    yield Progress(done, corpus.lines, found)


def read_lines(model: str, layer: int, lines: Lines) -> TextVectors:
    """Read some lines of a text; empty lines are ignored.

    Args:
        model: Name of a model, as for `loading.load`.
        layer: Index from 0.
        lines: Lines with their numbers in the text.

    Raises:
        AttnvizError: the model cannot be used, or has no such layer.
    """
    entry, loaded = resolve.entry(model), loading.load(model)
    loaded.need_vectors()
    _check_layer(entry, layer)
    filled = [(number, line) for number, line in lines if line.strip()]
    sentences: list[SentenceVectors] = []
    skipped: list[SkippedSentence] = []
    for at, read in traces(entry, loaded, [(line,) for _, line in filled]):
        if isinstance(read, SkippedSentence):
            skipped.append(read)
        else:
            block = read[0].block(self_attention(entry), layer)
            sentences.append(SentenceVectors.of(*filled[at], block))
    return TextVectors(tuple(sorted(sentences, key=lambda one: one.line)), tuple(skipped))


def _check_layer(entry: Entry, layer: int) -> None:
    layers = entry.layers_of(self_attention(entry))
    if not 0 <= layer < layers:
        count = plural(layers, "layer")
        raise AttnvizError(f"{quoted(entry.name)} has {count}; there is no layer {layer + 1}.")
    if (kind := dict(entry.without_weights).get(layer)) is not None:
        raise AttnvizError(
            f"Layer {layer + 1} of {quoted(entry.name)} is {kind}; it has no attention weights."
        )


def block_of(model: str, text: str, layer: int) -> Block:
    """Return one layer's attention in one text, as `read_lines` computes it; `layer` counts from 0.

    Raises:
        AttnvizError: the model or the text cannot be used, or the model has no such layer.
    """
    entry, loaded = resolve.entry(model), loading.load(model)
    loaded.need_vectors()
    _check_layer(entry, layer)
    [(_, read)] = traces(entry, loaded, [(text,)])
    if isinstance(read, SkippedSentence):
        raise AttnvizError(read.reason)
    return read[0].block(self_attention(entry), layer)


def vector_of(block: Block, head: int, vector: str, place: int) -> Floats:
    """Return one vector of a token in a head, float32 [d_head]; `head` and `place` count from 0.

    Raises:
        AttnvizError: there is no such head or vector.
    """
    if not 0 <= head < len(block.query):
        raise AttnvizError(f"The layer has {plural(len(block.query), 'head')}; there is no head {head + 1}.")
    if vector not in _VECTORS:
        raise AttnvizError(
            f"{quoted(vector)} is not a vector of a head. Choose one of: {', '.join(_VECTORS)}."
        )
    found: Floats = getattr(block, vector)[head, place]
    return found
