"""One sentence, longer and longer: what three networks keep of it, and what each makes of that in French."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from typing import Literal

import torch

from attnviz.app.learn.translate.compute import il_and_elle
from attnviz.capture.arrays import owned
from attnviz.errors import AttnvizError
from attnviz.text import head_name
from attnviz.trace import Floats
from attnviz.trained.translator import contest, distance, grammar, reading
from attnviz.trained.translator.lengthening import MOST, Elastic, clauses
from attnviz.trained.translator.translator import Translator

Mark = Literal["right", "wrong", "missing"]


class NotStretchable(AttnvizError):
    """The sentence has no place for further clauses between a noun and "it"."""


@dataclass(frozen=True)
class MarkedWord:
    """A word of a translation compared with the right one, or a word that the translation lacks."""

    text: str
    mark: Mark


@dataclass(frozen=True, eq=False)
class Attempt:
    """One network's translation.

    Attributes:
        words: the French words that it writes.
        marked: the same, compared with the right translation.
        il, elle: how probable each is at the pronoun's place, after all that is right before it.
        kept: [row, number], all that it keeps of the sentence and writes from.
    """

    words: tuple[str, ...]
    marked: tuple[MarkedWord, ...]
    il: float
    elle: float
    kept: Floats

    @property
    def right(self) -> int:
        """How many words of the right translation are there, in order."""
        return sum(word.mark == "right" for word in self.marked)


@dataclass(frozen=True, eq=False)
class Stretched:
    """One sentence of some length.

    Attributes:
        source: the English words.
        source_clauses: for each of them, which inserted clause it is in, from 1; 0: none.
        referent, pronoun: the places of the noun that is meant and of "it", from 0.
        words_apart: how many words "it" stands after that noun.
        target: the right French words.
        target_clauses: the same for these.
        named: where the noun stands in French, from its article on.
        choice: where the pronoun stands in French.
        back_head: of the heads that look back at the French so far, the one that here gives the noun most:
            "2-1", counted from 1.
        back: [French word before the pronoun], its weights there; what [START] gets is left out.
        across_head: the head of cross-attention that most reads the end of the sentence, over many of them.
        across: [English word], its weights there; [END] comes last.
        lstm, lstm_attention, transformer: what the networks do.
    """

    source: tuple[str, ...]
    source_clauses: tuple[int, ...]
    referent: int
    pronoun: int
    words_apart: int
    target: tuple[str, ...]
    target_clauses: tuple[int, ...]
    named: range
    choice: int
    back_head: str
    back: Floats
    across_head: str
    across: Floats
    lstm: Attempt
    lstm_attention: Attempt
    transformer: Attempt


def stretch(text: str, inserted: int, seed: int) -> Stretched:
    """Put clauses into a sentence, and let the networks translate it.

    Args:
        text: English.
        inserted: how many clauses; one more is added after those that were there before.
        seed: chooses them.

    Raises:
        EmptyText, TextTooLong, UnreadableText, UnknownWords: the text cannot be read as it is.
        NotStretchable: there is no place for a clause.
        ModelFilesDamaged: a network's weights are not there.
    """
    short = elastic(text)
    put_in = clauses(random.Random(seed), MOST)[:inserted]  # noqa: S311 - no secret
    sentence = short.stretched(put_in)
    pair, it = sentence.pair, sentence.it
    trained = networks()
    measured = distance.read().looks
    back, across = contest.pronoun_rows(trained.transformer, sentence)
    # [START] comes before the first French word.
    at_noun = back[..., sentence.named.start + 1 : sentence.named.stop + 1].sum(dim=-1)
    layer, head = divmod(int(at_noun.argmax()), at_noun.shape[-1])
    return Stretched(
        source=pair.source,
        source_clauses=_numbered(
            short.room[0], [clause.english(short.tense) for clause in put_in], pair.source
        ),
        referent=it.referent,
        pronoun=it.source,
        words_apart=sentence.words_apart,
        target=pair.target,
        target_clauses=_numbered(
            short.room[1], [clause.french(short.tense) for clause in put_in], pair.target
        ),
        named=sentence.named,
        choice=it.target,
        back_head=head_name(layer, head),
        back=owned(back[layer, head, 1 : it.target + 1]),
        across_head=measured.across.name,
        across=owned(across[measured.across.layer, measured.across.head]),
        lstm=attempt(trained.lstm, sentence),
        lstm_attention=attempt(trained.lstm_attention, sentence),
        transformer=attempt(trained.transformer, sentence),
    )


def elastic(text: str) -> Elastic:
    """The sentence with its translation, and what its "it" means.

    Raises:
        EmptyText, TextTooLong, UnreadableText, UnknownWords: the text cannot be read as it is.
        NotStretchable: the grammar has no such sentence, or it has no place for a clause.
    """
    words = [token.text for token in reading.tokens(text) if not token.special]
    for sentence in map(Elastic.of, grammar.understood(words)):
        if sentence:
            return sentence
    why = reading.outside(words) or "This sentence cannot be stretched here."
    raise NotStretchable(
        f"{why} To put clauses in, take two animals or things, and then “as it …”, “because it …” or “since "
        "it …” with a reason that fits only one of them: The dog did not cross the road as it was tired."
    )


@cache
def networks() -> contest.Networks:
    """The trained networks.

    Raises:
        ModelFilesDamaged: a file is missing or damaged.
    """
    return contest.load()


def attempt(network: contest.Trained, sentence: Elastic) -> Attempt:
    """What a network makes of a sentence."""
    pair = sentence.pair
    if isinstance(network, Translator):
        steps = network.steps(pair.source, pair.target)
        kept, probabilities = steps.encoder.output, steps.probabilities
    else:
        recurrent = network.steps(pair.source, pair.target)
        memory, probabilities = recurrent.memory, recurrent.probabilities[0]
        outputs = memory.hidden if recurrent.attention is None else recurrent.outputs[0]
        kept = torch.cat((outputs, memory.cell))
    words = network.translate(pair.source)
    return Attempt(
        words, tuple(marked(words, pair.target)), *il_and_elle(probabilities[sentence.it.target]), owned(kept)
    )


def marked(words: Sequence[str], right: Sequence[str]) -> Iterator[MarkedWord]:
    """The words of a translation, and those that it lacks, found by the longest runs that both have."""
    for what, start, end, first, last in SequenceMatcher(None, right, words, autojunk=False).get_opcodes():
        for word in words[first:last]:
            yield MarkedWord(word, "right" if what == "equal" else "wrong")
        for word in right[start + last - first : end]:
            yield MarkedWord(word, "missing")


def _numbered(start: int, clauses_words: Sequence[Sequence[str]], words: Sequence[str]) -> tuple[int, ...]:
    """Which clause each word is in, from 1, if the clauses begin at a place; 0: none."""
    inside = [number for number, clause in enumerate(clauses_words, start=1) for _ in clause]
    return (*[0] * start, *inside, *[0] * (len(words) - start - len(inside)))
