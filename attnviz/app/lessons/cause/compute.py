"""Is the picture the cause? One head's weights are changed, and the sentence is translated again.

What reads a sentence raises EmptyText, TextTooLong or UnknownWords where that cannot be done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch

from attnviz.app.lessons.translate.values import PRONOUNS, attention_of, il_and_elle
from attnviz.capture import loading
from attnviz.capture.arrays import owned
from attnviz.capture.model import GRADES
from attnviz.errors import InvalidEdit
from attnviz.interventions.edit import Edit, HeadOutput
from attnviz.trace import Floats, Kind, Mask
from attnviz.trained.translator import reading
from attnviz.trained.translator.translator import Translator
from attnviz.trained.translator.vocabulary import FRENCH
from attnviz.trained.vocabulary import START


@dataclass(frozen=True)
class Gender:
    """Where a translation chooses between *il* and *elle*, and how.

    Attributes:
        step: how many French words stand before the pronoun.
        written: the pronoun that the unchanged model writes.
        before, now: (il, elle), the probabilities of the two as the next word, unchanged and changed; both
            times after the words that the unchanged model wrote.
    """

    step: int
    written: str
    before: tuple[float, float]
    now: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Experiment:
    """One sentence, translated as the model learned it and with changes.

    Attributes:
        queries, keys: the tokens of the row's own text and of the one it looks at.
        open_to: [key], where the row may look.
        row_before, row_now: [key], its weights.
        words_before, words_now: the French words.
        gender: None where the unchanged translation has no *il* or *elle*.
    """

    queries: tuple[str, ...]
    keys: tuple[str, ...]
    open_to: Mask
    row_before: Floats
    row_now: Floats
    words_before: tuple[str, ...]
    words_now: tuple[str, ...]
    gender: Gender | None


@dataclass(frozen=True, eq=False)
class Effects:
    """What happens to the pronoun if something is ablated: one run of the model for every number.

    Attributes:
        written: the pronoun that the unchanged model writes.
        probability: of that pronoun, unchanged.
        words: the tokens that the encoder reads.
        weights: [layer, head, query, key], the encoder's, unchanged.
        rows: [layer, head, query], by how much the probability changes if one row of the encoder is ablated.
        encoder, decoder, cross: [layer, head], the same for whole heads.
        read: [layer, head, key], the weights of cross-attention where the pronoun is chosen, unchanged.
    """

    written: str
    probability: float
    words: tuple[str, ...]
    weights: Floats
    rows: Floats
    encoder: Floats
    decoder: Floats
    cross: Floats
    read: Floats


def readers(model: str, text: str, kind: Kind) -> tuple[str, ...]:
    """The tokens that look: the English sentence's, or what the decoder reads while it translates."""
    if kind == "encoder":
        return _source(text)
    translating = loading.load_translator(model).translator
    return (START, *_translate(translating, _source(text)[:-1]))


def pronoun_step(words: Sequence[str]) -> int | None:
    """How many words stand before the first *il* or *elle*; None if there is none."""
    return next((step for step, word in enumerate(words) if word in PRONOUNS), None)


def experiment(
    model: str, text: str, kind: Kind, layer: int, head: int, query: int, edits: Sequence[str] = ()
) -> Experiment:
    """Translate a sentence twice, unchanged and changed; and look at one row of one head.

    Args:
        model: a translator's name in the catalogue.
        text: the English sentence.
        kind, layer, head, query: whose row, from 0.
        edits: what is changed, as `Edit` writes it, one change after the other.

    Raises:
        InvalidEdit: an edit cannot be read, or the model or the sentence has no such place.
    """
    changes = tuple(Edit.parse(edit) for edit in edits)
    translating = loading.load_translator(model).translator
    source = _source(text)
    words_before = _translate(translating, source[:-1])
    words_now = _translate(translating, source[:-1], changes)
    # The decoder reads the same French words both times: only then does nothing differ but the change.
    before = translating.steps(source[:-1], words_before)
    now = translating.steps(source[:-1], words_before, changes) if changes else before
    step = pronoun_step(words_before)
    gender = None
    if step is not None:
        gender = Gender(
            step, words_before[step], *(il_and_elle(passed.probabilities[step]) for passed in (before, now))
        )
    target = (START, *words_before)
    steps = attention_of(before, kind, layer)
    if head >= steps.query.shape[-3]:
        raise InvalidEdit(f"The model has no head {head + 1} in its layer {layer + 1}.")
    row = steps.attention.masked[head, query]
    return Experiment(
        queries=source if kind == "encoder" else target,
        keys=target if kind == "decoder" else source,
        open_to=owned(row.isfinite()),
        row_before=owned(steps.attention.weights[head, query]),
        row_now=owned(attention_of(now, kind, layer).attention.weights[head, query]),
        words_before=words_before,
        words_now=words_now,
        gender=gender,
    )


@dataclass(frozen=True, eq=False)
class Shared:
    """One weight, shared between two words, from all on the first to all on the second.

    Attributes:
        shares: [step], of the weight, that the second word has.
        rows: [step, key], the weights of the row.
        il, elle: [step], how probable each is where the unchanged model writes one of them.
        french: for each step, the words that the model then writes.
    """

    shares: Floats
    rows: Floats
    il: Floats
    elle: Floats
    french: tuple[tuple[str, ...], ...]


def shared(
    model: str, text: str, layer: int, head: int, query: int, source: int, target: int
) -> Shared | None:
    """Share what a word of an encoder head's row gives to one word with another; None without a pronoun.

    What the head puts out for the row is weights · values, so a row between two rows puts out what lies
    between their outputs. Each step is a forward pass with that in its place.

    Args:
        model: a translator's name in the catalogue.
        layer, head, query: whose row, from 0.
        source, target: the words, places of the English sentence, from 0.

    Raises:
        InvalidEdit: the model or the sentence has no such place.
    """
    translating = loading.load_translator(model).translator
    words = _source(text)[:-1]
    french = _translate(translating, words)
    step = pronoun_step(french)
    if step is None:
        return None
    moved = Edit("encoder", layer, head, query, source, target)
    ends = [
        attention_of(translating.steps(words, french, edits), "encoder", layer).attention
        for edits in ((), (moved,))
    ]
    shares = torch.linspace(0, 1, GRADES)
    rows, outputs = (
        torch.lerp(one[head, query], other[head, query], shares[:, None])
        for one, other in zip(*[(end.weights, end.output) for end in ends], strict=True)
    )
    mixed = [(HeadOutput("encoder", layer, head, owned(each[None]), query),) for each in outputs]
    passed = translating.steps_all([words] * GRADES, [french] * GRADES, mixed)
    il, elle = (owned(passed.probabilities[:, step, number]) for number in FRENCH.ids(PRONOUNS))
    return Shared(
        owned(shares), owned(rows), il, elle, tuple(translating.translate_all([words] * GRADES, mixed))
    )


def effects(model: str, text: str) -> Effects | None:
    """Ablate every row of the encoder and every head of the model, one at a time; None without a pronoun.

    Args:
        model: a translator's name in the catalogue.
        text: the English sentence.
    """
    translating = loading.load_translator(model).translator
    source = _source(text)
    words = _translate(translating, source[:-1])
    step = pronoun_step(words)
    if step is None:
        return None
    unchanged = translating.steps(source[:-1], words)
    pronoun = FRENCH.ids([words[step]])[0]
    probability = unchanged.probabilities[step, pronoun]
    sizes = translating.sizes
    heads = range(sizes.n_heads)
    rows = [
        Edit("encoder", layer, head, query)
        for layer in range(sizes.encoder_layers)
        for head in heads
        for query in range(len(source))
    ]
    whole = {
        kind: [Edit(kind, layer, head) for layer in range(layers) for head in heads]
        for kind, layers in _layers(translating).items()
    }
    tried = rows + [edit for edits in whole.values() for edit in edits]
    # All of them side by side, as if they were many sentences.
    steps = translating.steps_all(
        [source[:-1]] * len(tried), [words] * len(tried), [(edit,) for edit in tried]
    )
    changes = steps.probabilities[:, step, pronoun] - probability
    of_rows, *of_heads = torch.split(changes, [len(rows), *(len(edits) for edits in whole.values())])
    encoder, decoder, cross = (owned(found.reshape(-1, sizes.n_heads)) for found in of_heads)
    weights = torch.stack([layer.attention.attention.weights for layer in unchanged.encoder.layers])
    crossing = [layer.cross_attention.attention.weights[:, step] for layer in unchanged.decoder.layers]
    return Effects(
        written=words[step],
        probability=float(probability),
        words=source,
        weights=owned(weights),
        rows=owned(of_rows.reshape(sizes.encoder_layers, sizes.n_heads, len(source))),
        encoder=encoder,
        decoder=decoder,
        cross=cross,
        read=owned(torch.stack(crossing)),
    )


# To translate takes a pass for each word, and a visitor looks at many rows of one sentence.
@lru_cache(maxsize=64)
def _translate(
    translating: Translator, source: tuple[str, ...], edits: tuple[Edit, ...] = ()
) -> tuple[str, ...]:
    return translating.translate(source, edits)


def _layers(translating: Translator) -> dict[Kind, int]:
    sizes = translating.sizes
    return {"encoder": sizes.encoder_layers, "decoder": sizes.decoder_layers, "cross": sizes.decoder_layers}


def _source(text: str) -> tuple[str, ...]:
    return tuple(token.text for token in reading.tokens(text))
