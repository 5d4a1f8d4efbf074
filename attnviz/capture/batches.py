"""Many sentences through a model at once: those of equal length together, so that nothing is padded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeGuard, runtime_checkable

from attnviz.capture.model import Model
from attnviz.errors import AttnvizError
from attnviz.models.catalogue import Entry
from attnviz.trace import Floats, Kind, Mask, Token

MAX_TOKENS = 1_024
"""How many tokens a batch has at most; more make a forward pass no faster. A sentence is never cut."""

MAX_BYTES = 32_000_000
"""How much the weights of a batch take at most, unless a single sentence takes more."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Sentences of equal length, with special tokens in the same places, and their weights.

    No sentence is padded, so each weight is the one that the model computes for the sentence alone, to about
    1e-6, or more where scores are large: only the order of float32 sums may differ.

    Attributes:
        lines: the numbers of their lines, from 0.
        texts: the sentences.
        tokens: each one's tokens, special tokens included.
        weights: of each layer, float32 [sentence, head, query, key]. Read them while the batch lasts: keep
            sums, not views.
        masks: of each layer, bool [query, key], True where a query may look; the same for all sentences.
    """

    lines: tuple[int, ...]
    texts: tuple[str, ...]
    tokens: tuple[tuple[Token, ...], ...]
    weights: tuple[Floats, ...]
    masks: tuple[Mask, ...]


@dataclass(frozen=True)
class Refused:
    """A line that the model cannot read.

    Attributes:
        line: its number, from 0.
        why: the reason, for a person.
    """

    line: int
    why: str


@runtime_checkable
class ReadsBatches(Protocol):
    """A model that reads many sentences in one forward pass."""

    def batch_weights(
        self, sentences: Sequence[Sequence[Token]], kind: Kind
    ) -> tuple[tuple[Floats, ...], tuple[Mask, ...]]:
        """Of each layer, the weights and the mask; as `forward.batch_weights`."""


def batches(model: Model, entry: Entry, lines: Iterable[tuple[int, str]]) -> Iterator[Batch | Refused]:
    """Read all these lines, which should be some hundreds: that many are held at once, as tokens.

    Models that transformers runs read batches. Our own ones (the BERT from scratch, and the translators,
    which also write the French text) and those that give their weights alone read one sentence after the
    other, through their traces.

    Args:
        model: as `loading.load` returns it.
        entry: what is known of it. Its first kind of attention is read: the encoder's, where it has one.

    Yields:
        Lines that cannot be read first, as they come, then batches, short sentences before long ones.
    """
    groups: dict[tuple[bool, ...], list[_Read]] = defaultdict(list)
    for line, text in lines:
        try:
            tokens = model.tokens(text)
        except AttnvizError as error:
            yield Refused(line, str(error))
        else:
            groups[tuple(token.special for token in tokens)].append(_Read(line, text, tokens))
    for special in sorted(groups, key=len):
        waiting = groups.pop(special)
        room = _room(entry, len(special)) if _reads_batches(model) else 1
        for start in range(0, len(waiting), room):
            yield from _tried(model, entry.kinds[0], waiting[start : start + room])


class _Read(NamedTuple):
    """A line and its tokens."""

    line: int
    text: str
    tokens: tuple[Token, ...]


def _room(entry: Entry, length: int) -> int:
    """How many sentences of this length a batch has room for."""
    each = 4 * entry.layers_of(entry.kinds[0]) * entry.heads * length**2  # bytes
    return max(1, min(MAX_TOKENS // length, MAX_BYTES // each))


def _tried(model: Model, kind: Kind, read: Sequence[_Read]) -> Iterator[Batch | Refused]:
    """These sentences as one batch; one by one where the model refuses them together."""
    try:
        yield _batch(model, kind, read)
    except AttnvizError as error:
        if len(read) == 1:
            yield Refused(read[0].line, str(error))
        else:
            for one in read:
                yield from _tried(model, kind, [one])


def _reads_batches(model: Model) -> TypeGuard[ReadsBatches]:
    return isinstance(model, ReadsBatches) and model.weights_alone is None


def _batch(model: Model, kind: Kind, read: Sequence[_Read]) -> Batch:
    lines, texts, tokens = zip(*read, strict=True)
    if _reads_batches(model):
        weights, masks = model.batch_weights(tokens, kind)
    else:
        blocks = model.trace(texts[0]).of_kind(kind)
        weights = tuple(block.weights[None] for block in blocks)
        masks = tuple(block.mask for block in blocks)
    return Batch(lines, texts, tokens, weights, masks)
