"""Exact search for the tokens of a text at which a head has the most similar query, key or output.

exBERT (Hoover et al. 2020) searches a corpus in the same way. `read_corpus` keeps the vectors of a short
text in memory for repeated searches; `search` streams a text of any length and keeps only the results.
Both round vectors to float16, which changes a cosine by less than 0.001.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.capture import loading
from attnviz.capture.model import Model, ModelInput
from attnviz.errors import AttnvizError, quoted
from attnviz.experiments.corpus import Corpus, broken
from attnviz.experiments.progress import Progress
from attnviz.experiments.sentences import (
    SkippedSentence,
    need_some,
    reader,
    return_freed_memory,
    self_attention,
)
from attnviz.models import resolve
from attnviz.models.catalogue import Entry
from attnviz.text import plural
from attnviz.trace import Block, Counts, Floats, Mask

Vector = Literal["query", "key", "output"]
"""A vector of a token in a head; the output is the head's weighted average of values."""

Halves = NDArray[np.float16]
Places = NDArray[np.intp]
Lines = Sequence[tuple[int, str]]
"""Lines of a text with their numbers, from 0."""

Share = Callable[[Callable[[Any], Any], Iterator[Any]], Iterator[Any]]
"""Applies a function to each item, as `map` does, in any order."""

COUNT = 50
"""Default number of results."""

MAX_TOKENS = 256
"""Maximum tokens per line; longer lines are skipped."""

MAX_REASONS = 50
"""Maximum number of skipped lines whose reason is kept."""

_VECTORS: tuple[Vector, ...] = get_args(Vector)
_BATCH = 16  # sentences; larger batches are no faster
_PART = 64  # lines; sentences of similar length share a batch, so that little is padded
_MAX_HALF = float(np.finfo(np.float16).max)


class Neighbour(NamedTuple):
    """A search result.

    Attributes:
        similarity: Cosine between its vector and the search vector.
        line: Number of its line in the text, from 0.
        place: Position of the token in the line, from 0.
        sentence: The line.
        attends_to: Position of the token with its largest attention weight, from 0, special tokens excluded.
        weight: That weight.
    """

    similarity: float
    line: int
    place: int
    sentence: str
    attends_to: int
    weight: float


@dataclass(frozen=True, eq=False)
class TextVectors:
    """The vectors of all tokens of some sentences, in all heads of one layer.

    Attributes:
        model: Name of the model.
        layer: from 0.
        sentences: Lines that the model can read.
        lines: Number of each sentence's line in the text, from 0.
        starts: [sentence + 1], the first token of each sentence; the last entry is the number of tokens.
        labels: [token], display labels.
        special: bool [token], whether the tokenizer added it.
        query, key, output: float16 [head, token, d_head].
        attends_to: int16 [head, token], position in its sentence, from 0, of the token with the largest
            attention weight; special tokens, to which many heads attend by default, are excluded.
        weight: float16 [head, token], that weight.
        skipped: Lines that the model cannot read, with the reason.
    """

    model: str
    layer: int
    sentences: tuple[str, ...]
    lines: tuple[int, ...]
    starts: Counts
    labels: tuple[str, ...]
    special: Mask
    query: Halves
    key: Halves
    output: Halves
    attends_to: NDArray[np.int16]
    weight: Halves
    skipped: tuple[SkippedSentence, ...]

    @property
    def nbytes(self) -> int:
        """Size of the vectors in bytes."""
        return self.query.nbytes + self.key.nbytes + self.output.nbytes

    def vectors(self, head: int, vector: Vector) -> Halves:
        """Return one vector of every token in a head, from 0: float16 [token, d_head]."""
        found: Halves = getattr(self, vector)[head]
        return found

    def place_of(self, token: int) -> tuple[int, int]:
        """Return the sentence of a token and its position in it, both from 0."""
        sentence = int(np.searchsorted(self.starts, token, side="right")) - 1
        return sentence, token - int(self.starts[sentence])

    def nearest(
        self, head: int, vector: Vector, wanted: Floats, count: int, exclude: str = ""
    ) -> tuple[Places, Floats]:
        """Return the tokens with the most similar vectors, most similar first; ties in order of position.

        Args:
            head: from 0.
            vector: Vectors to compare.
            wanted: [d_head], the search vector.
            count: Maximum number of tokens.
            exclude: Sentence whose tokens are excluded.

        Returns:
            Indices of the tokens, and their cosines.
        """
        allowed = np.repeat([sentence != exclude for sentence in self.sentences], np.diff(self.starts))
        return nearest(self.vectors(head, vector), wanted, count, allowed)

    def neighbour(self, head: int, token: int, similarity: float) -> Neighbour:
        """Return the search result for a token in a head, from 0."""
        sentence, place = self.place_of(token)
        return Neighbour(
            similarity,
            self.lines[sentence],
            place,
            self.sentences[sentence],
            int(self.attends_to[head, token]),
            float(self.weight[head, token]),
        )


@dataclass(frozen=True)
class Neighbours:
    """The tokens of a text with the most similar vectors.

    Attributes:
        nearest: Results, most similar first; ties in order of position.
        tokens: Number of tokens compared.
        lines: Number of lines read, including empty and skipped ones.
        skipped: Number of lines that the model cannot read.
        reasons: The first `MAX_REASONS` of those, with the reason.
    """

    nearest: tuple[Neighbour, ...] = ()
    tokens: int = 0
    lines: int = 0
    skipped: int = 0
    reasons: tuple[SkippedSentence, ...] = ()

    def merged(self, other: Neighbours, count: int) -> Neighbours:
        """Return the `count` most similar tokens of two parts of a text."""
        both = heapq.merge(self.nearest, other.nearest, key=_order)
        return Neighbours(
            tuple(islice(both, count)),
            self.tokens + other.tokens,
            self.lines + other.lines,
            self.skipped + other.skipped,
            (self.reasons + other.reasons)[:MAX_REASONS],
        )


def _order(found: Neighbour) -> tuple[float, int, int]:
    return -found.similarity, found.line, found.place


def nearest(
    vectors: NDArray[np.floating], wanted: Floats, count: int, allowed: Mask | None = None
) -> tuple[Places, Floats]:
    """Return the vectors with the largest cosine, largest first; ties in order of position.

    Args:
        vectors: [token, d].
        wanted: [d], the search vector.
        count: Maximum number of vectors.
        allowed: [token], whether it may be returned; None allows all.

    Returns:
        Their indices and cosines, float32; the cosine with a vector of zeros is 0.
    """
    single = vectors.astype(np.float32)
    lengths = np.maximum(np.linalg.norm(single, axis=-1) * np.linalg.norm(wanted), 1e-12)
    cosines: Floats = (single @ wanted.astype(np.float32) / lengths).astype(np.float32)
    places = np.arange(len(cosines)) if allowed is None else np.flatnonzero(allowed)
    places = places[np.argsort(-cosines[places], kind="stable")][:count]
    return places, cosines[places]


def search(
    corpus: Corpus,
    model: str,
    head: tuple[int, int],
    vector: Vector,
    wanted: Floats,
    count: int = COUNT,
    exclude: str = "",
    share: Share = map,
) -> Iterator[Progress[Neighbours]]:
    """Search a text of any length for the tokens with the most similar vectors; `done` counts lines.

    Args:
        corpus: One sentence per line.
        model: Name of a model, as for `loading.load`.
        head: Layer and head, from 0.
        vector: Vectors to compare.
        wanted: [d_head], the search vector.
        count: Maximum number of tokens.
        exclude: Sentence whose tokens are excluded.
        share: Distributes the parts of the text, as `on_ray.share` does; `map` uses this process.

    Raises:
        AttnvizError: the model cannot be used, has no such head, or cannot read any line.
    """
    found = Neighbours()
    yield Progress(0, corpus.lines, found)
    work = partial(_search_part, model, head, vector, wanted, count, exclude)
    for part in share(work, _parts(corpus)):
        found = found.merged(part, count)
        yield Progress(found.lines, corpus.lines, found)
    need_some(found.tokens, "lines", found.reasons)


def _search_part(
    model: str,
    head: tuple[int, int],
    vector: Vector,
    wanted: Floats,
    count: int,
    exclude: str,
    lines: Lines,
) -> Neighbours:
    layer, number = head
    read = read_lines(model, layer, lines)
    skipped = len(read.skipped)
    if not read.sentences:
        return Neighbours(lines=len(lines), skipped=skipped, reasons=read.skipped[:MAX_REASONS])
    places, similarities = read.nearest(number, vector, wanted, count, exclude)
    found = (
        read.neighbour(number, token, similarity)
        for token, similarity in zip(places.tolist(), similarities.tolist(), strict=True)
    )
    return Neighbours(tuple(found), len(read.labels), len(lines), skipped, read.skipped[:MAX_REASONS])


def read_corpus(
    corpus: Corpus, model: str, layer: int, max_bytes: int
) -> Iterator[Progress[TextVectors | None]]:
    """Read a short text and keep its vectors, which only the last step has. `done` and `total` count lines.

    Args:
        corpus: One sentence per line.
        model: Name of a model, as for `loading.load`.
        layer: from 0.
        max_bytes: Maximum size of the vectors.

    Raises:
        AttnvizError: the model cannot be used, has no such layer, or cannot read any line; or the vectors of
            the text are larger than `max_bytes`.
    """
    parts: list[TextVectors] = []
    done = size = 0
    yield Progress(done, corpus.lines, None)
    for lines in _parts(corpus):
        parts.append(read_lines(model, layer, lines))
        size += parts[-1].nbytes
        if size > max_bytes:
            raise AttnvizError(
                f"The vectors of this text take more than {max_bytes / 1e6:,.0f} MB. Use at most "
                f"{max(1, done):,} of its lines here, or search it in Python: attnviz.experiments.find"
            )
        done += len(lines)
        if done < corpus.lines:
            yield Progress(done, corpus.lines, None)
    found = _joined(parts)
    need_some(len(found.sentences), "lines", found.skipped)
    yield Progress(done, corpus.lines, found)


def _parts(corpus: Corpus) -> Iterator[Lines]:
    lines = enumerate(corpus)
    while part := tuple(islice(lines, _PART)):
        yield part


def _joined(parts: Sequence[TextVectors]) -> TextVectors:
    """Concatenate several parts of a text; parts without sentences contribute their skipped lines."""
    read = [part for part in parts if part.sentences] or parts[:1]
    lengths = np.concatenate([np.diff(part.starts) for part in read])
    return TextVectors(
        model=read[0].model,
        layer=read[0].layer,
        sentences=tuple(sentence for part in read for sentence in part.sentences),
        lines=tuple(line for part in read for line in part.lines),
        starts=np.concatenate([[0], np.cumsum(lengths)]),
        labels=tuple(label for part in read for label in part.labels),
        special=np.concatenate([part.special for part in read]),
        query=np.concatenate([part.query for part in read], axis=1),
        key=np.concatenate([part.key for part in read], axis=1),
        output=np.concatenate([part.output for part in read], axis=1),
        attends_to=np.concatenate([part.attends_to for part in read], axis=1),
        weight=np.concatenate([part.weight for part in read], axis=1),
        skipped=tuple(each for part in parts for each in part.skipped),
    )


def read_lines(model: str, layer: int, lines: Lines) -> TextVectors:
    """Read some lines of a text; empty ones are ignored.

    Args:
        model: Name of a model, as for `loading.load`.
        layer: from 0.
        lines: Lines with their numbers in the text.

    Raises:
        AttnvizError: the model cannot be used, or has no such layer.
    """
    entry, loaded = resolve.entry(model), loading.load(model)
    loaded.need_vectors()
    _check_layer(entry, layer)
    readable: list[tuple[int, str]] = []
    skipped: list[SkippedSentence] = []
    for number, line in lines:
        if not line.strip():
            continue
        if reason := _unreadable(loaded, line):
            skipped.append(SkippedSentence(line, reason))
        else:
            readable.append((number, line))
    blocks: dict[int, Block] = {}
    order = sorted(range(len(readable)), key=lambda at: len(readable[at][1]))
    for start in range(0, len(order), _BATCH):
        batch = order[start : start + _BATCH]
        read = _blocks(entry, loaded, layer, [readable[at][1] for at in batch])
        blocks |= dict(zip(batch, read, strict=True))
    return_freed_memory()
    sentences = tuple(line for _, line in readable)
    return _vectors(
        entry.name,
        layer,
        sentences,
        tuple(number for number, _ in readable),
        [blocks[at] for at in range(len(readable))],
        tuple(skipped),
    )


def _vectors(
    model: str,
    layer: int,
    sentences: tuple[str, ...],
    lines: tuple[int, ...],
    blocks: Sequence[Block],
    skipped: tuple[SkippedSentence, ...],
) -> TextVectors:
    tokens = [block.query_tokens for block in blocks]
    labels = tuple(
        group.label
        for sentence, its in zip(sentences, tokens, strict=True)
        for group in DisplayTokens(its, sentence).groups
    )
    arrays: dict[str, list[NDArray[Any]]] = {
        name: [] for name in ("query", "key", "output", "attends_to", "weight")
    }
    for block, its in zip(blocks, tokens, strict=True):
        for name in _VECTORS:
            half = np.clip(getattr(block, name), -_MAX_HALF, _MAX_HALF).astype(np.float16)
            arrays[name].append(half)
        others = np.where([token.special for token in its], -1, block.weights)
        arrays["attends_to"].append(others.argmax(axis=-1).astype(np.int16))
        arrays["weight"].append(np.maximum(others.max(axis=-1), 0).astype(np.float16))
    nothing = np.zeros((1, 0, 0), np.float16)
    joined: dict[str, NDArray[Any]] = {
        name: np.concatenate(each, axis=1) if each else nothing for name, each in arrays.items()
    }
    return TextVectors(
        model=model,
        layer=layer,
        sentences=sentences,
        lines=lines,
        starts=np.cumsum([0, *map(len, tokens)]),
        labels=labels,
        special=np.array([token.special for its in tokens for token in its], np.bool_),
        **joined,
        skipped=skipped,
    )


def _unreadable(loaded: Model, line: str) -> str:
    """Return why the model cannot read a line; "" if it can."""
    if broken(line):
        return "This line has bytes that are not UTF-8."
    try:
        tokens = loaded.tokens(line)
    except AttnvizError as error:
        return str(error)
    if len(tokens) > MAX_TOKENS:
        return f"This line has {len(tokens):,} tokens; the limit is {MAX_TOKENS}."
    return ""


def _blocks(entry: Entry, loaded: Model, layer: int, texts: Sequence[str]) -> list[Block]:
    """Return one layer's attention in each text."""
    traces = (
        map(reader(entry, loaded), texts)
        if len(entry.kinds) > 1
        else loaded.traces([ModelInput(text) for text in texts])
    )
    return [trace.block(self_attention(entry), layer) for trace in traces]


def _check_layer(entry: Entry, layer: int) -> None:
    layers = entry.layers_of(self_attention(entry))
    if not 0 <= layer < layers:
        raise AttnvizError(f"{quoted(entry.name)} has {plural(layers, 'layer')}. Choose one of them.")
    if (what := dict(entry.without_weights).get(layer)) is not None:
        raise AttnvizError(
            f"Layer {layer + 1} of {quoted(entry.name)} is {what}; it has no attention weights."
        )


def block_of(model: str, text: str, layer: int) -> Block:
    """Return one layer's attention in one text, as `read_lines` computes it; `layer` counts from 0.

    Raises:
        AttnvizError: the model cannot be used or cannot read the text, or has no such layer.
    """
    entry, loaded = resolve.entry(model), loading.load(model)
    loaded.need_vectors()
    _check_layer(entry, layer)
    [block] = _blocks(entry, loaded, layer, [text])
    return block


def vector_of(block: Block, head: int, vector: str, place: int) -> Floats:
    """Return one vector of a token, from 0, in a head, from 0: float32 [d_head].

    Raises:
        AttnvizError: there is no such head or vector.
    """
    if not 0 <= head < len(block.query):
        raise AttnvizError(f"The layer has {plural(len(block.query), 'head')}. Choose one of them.")
    if vector not in _VECTORS:
        raise AttnvizError(
            f"{quoted(vector)} is not a vector of a head. Choose one of: {', '.join(_VECTORS)}."
        )
    found: Floats = getattr(block, vector)[head, place]
    return found
