"""What makes the storyteller write one of two words: in one text, and in many that it never learned from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from attnviz.analysis.decomposition import Contributions, contributions
from attnviz.capture import loading
from attnviz.capture.arrays import owned
from attnviz.capture.model import ModelInput
from attnviz.capture.scratch import output_projections
from attnviz.errors import AttnvizError, quoted
from attnviz.experiments.patching import Patching, patch
from attnviz.interventions.edit import Edit, Edits, refuse_misfits
from attnviz.models import catalogue
from attnviz.trace import Floats
from attnviz.trained.storyteller import grammar, reading
from attnviz.trained.storyteller.grammar import MEN, NOUNS, VOCABULARY, WOMEN
from attnviz.trained.storyteller.tasks import ITEMS, items
from attnviz.trained.vocabulary import START
from attnviz.transformer.decoder_only import DecoderOnlySteps

Task = Literal["gift", "pronoun", "agreement"]

_TASKS: Mapping[Task, str] = {
    "gift": "indirect object, lead-in",
    "pronoun": "pronoun",
    "agreement": "agreement",
}
_NUMBERS = {noun: grammar.plural(noun) for noun in NOUNS}
_NUMBERS |= {plural: noun for noun, plural in _NUMBERS.items()}
_PEOPLE = frozenset({*WOMEN, *MEN})


class Unfinished(NamedTuple):
    """A text that breaks off where one of two words comes.

    Attributes:
        task: what is asked.
        words: [START] and the words.
        choices: the two words; the first is the right one, if one is.
        cues: the places of the words that lead to the first and to the second; of who gives, where they give.
        gives: where the name of who gives stands, if something is given.
        third: whether somebody else gives: then no word is the right one.
    """

    task: Task
    words: tuple[str, ...]
    choices: tuple[str, str]
    cues: tuple[int, int]
    gives: int | None = None
    third: bool = False

    @property
    def ids(self) -> list[int]:
        """The words' numbers."""
        return VOCABULARY.ids(self.words)

    @property
    def exchanged(self) -> tuple[str, ...]:
        """The same words with the two names exchanged, or with the subject in the other number."""
        one, two = (self.words[place] for place in self.cues)
        if self.task == "agreement":
            return tuple(_NUMBERS[one] if at == self.cues[0] else word for at, word in enumerate(self.words))
        return tuple({one: two, two: one}.get(word, word) for word in self.words)


def read(text: str) -> Unfinished:
    """Find the two words between which a text makes the storyteller choose.

    Raises:
        EmptyText, UnreadableText, TextTooLong, UnknownWords: it cannot be read.
        AttnvizError: it does not break off at such a place, or the two words would be the same.
    """
    return _of(tuple(VOCABULARY.word(token.id) for token in reading.tokens(text)))


def _of(words: tuple[str, ...]) -> Unfinished:
    end = len(words) - 1
    if words[end] == "to":
        return _gift(words)
    if words[end] == "because" and end > 3 and {words[-4], words[-2]} <= _PEOPLE:
        return _pronoun(words)
    if end > 4 and words[-3] in grammar.BESIDE and words[-4] in _NUMBERS and words[end] in _NUMBERS:
        right, other = ("were", "was") if words[-4] not in NOUNS else ("was", "were")
        return Unfinished("agreement", words, (right, other), (end - 3, end))
    raise AttnvizError(
        "Let the text break off where one of two words comes: “… John gave a book to”, “… John called Mary "
        "because”, or “… the keys near the book”."
    )


def _gift(words: tuple[str, ...]) -> Unfinished:
    named = [place for place, word in enumerate(words) if word in _PEOPLE]
    people = {words[place]: place for place in reversed(named)}  # where each is named first
    first = sorted(people, key=people.__getitem__)
    if len(first) == 1 and len(named) > 1:
        raise AttnvizError(
            f"Both people are {quoted(first[0])}: nobody else is there. Give one another name."
        )
    if len(first) not in (2, 3):
        raise AttnvizError(
            "Name two people, then who gives: “When Mary and John went to the shop, John gave a book to”."
        )
    giver = words[named[-1]]
    if "gave" not in words[named[-1] :]:
        raise AttnvizError(f"Nobody gives here. Let {quoted(giver)} give: “… {giver} gave a book to”.")
    if len(first) == 3:
        if giver != first[2]:
            raise AttnvizError(
                f"Three people, and {quoted(giver)} gives: two others could be given something. Name two "
                "people, and let one of them, or a third who was not named before, give."
            )
        one, other, _ = first
        return Unfinished("gift", words, (one, other), (people[one], people[other]), named[-1], third=True)
    right = first[0] if giver == first[1] else first[1]
    return Unfinished("gift", words, (right, giver), (people[right], named[-1]), named[-1])


def _pronoun(words: tuple[str, ...]) -> Unfinished:
    end = len(words) - 1
    subject, other = words[-4], words[-2]
    right, wrong = grammar.pronoun(subject), grammar.pronoun(other)
    if right == wrong:
        raise AttnvizError(
            f"Both {quoted(subject)} and {quoted(other)} go with “{right}”. Take a woman and a man."
        )
    return Unfinished("pronoun", words, (right, wrong), (end - 3, end - 1))


@dataclass(frozen=True, eq=False)
class Experiment:
    """One text, read as the model learned it and with changes; and one head's row of the last word.

    Attributes:
        before, now: how probable the two words are.
        written, written_now: the likeliest word of all.
        row_before, row_now: [word], the head's weights.
    """

    before: tuple[float, float]
    now: tuple[float, float]
    written: str
    written_now: str
    row_before: Floats
    row_now: Floats


def experiment(
    text: str, layer: int, head: int, edits: Sequence[str] = (), *, model: str = catalogue.STORYTELLER
) -> Experiment:
    """Read a text twice, unchanged and with these edits.

    Raises:
        AttnvizError: as `read`; an edit cannot be read, or there is no such place.
    """
    unfinished, changes = read(text), tuple(map(Edit.parse, edits))
    refuse_misfits(changes, len(unfinished.words), len(unfinished.words))
    ids = torch.tensor(unfinished.ids)
    storyteller = loading.load_storyteller(model)
    runs = [storyteller.steps(ids, [each] if each else ()) for each in ((), changes)]
    pair = VOCABULARY.ids(unfinished.choices)
    last = [steps.logits[-1].softmax(dim=-1) for steps in runs]
    before, now = (tuple(found[pair].tolist()) for found in last)
    said = [VOCABULARY.word(int(found.argmax())) for found in last]
    rows = [owned(steps.layers[layer].attention.attention.weights[head, -1]) for steps in runs]
    return Experiment(before, now, said[0], said[1], rows[0], rows[1])


@dataclass(frozen=True, eq=False)
class Direct:
    """The first word's logit minus the second's, as the model has it, and what each part adds to that."""

    parts: Contributions
    difference: float

    @property
    def heads(self) -> Floats:
        """[layer, head], from all words together."""
        heads: Floats = self.parts.attention["decoder"].sum(axis=2)
        return heads


def direct(text: str, *, model: str = catalogue.STORYTELLER) -> Direct:
    """Take the difference of the two words' logits apart; errors as `read`."""
    unfinished = read(text)
    with loading.gate:  # our own models come without transformers
        from attnviz.capture.residual_stream import decomposition

    words = unfinished.words
    found = decomposition(loading.load(model), ModelInput(" ".join(words[1:])), len(words) - 1)
    (one, _), (other, _) = (found.logit(number) for number in VOCABULARY.ids(unfinished.choices))
    return Direct(contributions(found.parts, one - other), float(found.output @ (one - other)))


def patched(text: str, rows_of: str | None = None, *, model: str = catalogue.STORYTELLER) -> Patching:
    """What each head carries from the text into the exchanged one; or each row of one head, an edit.

    Raises:
        AttnvizError: as `read`, or both texts lead to the same.
    """
    unfinished = read(text)
    clean, other = (" ".join(words[1:]) for words in (unfinished.words, unfinished.exchanged))
    rows = None if rows_of is None else Edit.parse(rows_of)
    *_, last = patch(model, ModelInput(clean), other, len(unfinished.words) - 1, rows)
    return last.found


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What heads do in many texts with pairs that no story to learn from has; arrays are [layer, head].

    Attributes:
        texts: how many.
        right: in how many of them the right word is the likeliest of all.
        looks: the weight of the last word, on average, of a word by what that is.
        differences: [text], the right word's logit minus the other's, from the smallest on.
        direct: what the head adds to that difference, on average; `whole` is the average.
        carries: the share of that difference that its output brings into the exchanged text.
        last_row: the same of its output at the last word alone.
        turned: the share of texts in which the other word is written if the head exchanges its weights of
            the two words that lead there.
        pair, turned_together: the two heads that add most, and that share if both of them do.
        giver: of gifts alone.
    """

    texts: int
    right: int
    looks: Mapping[str, Floats]
    differences: Floats
    direct: Floats
    whole: float
    carries: Floats
    last_row: Floats
    turned: Floats
    pair: tuple[tuple[int, int], tuple[int, int]]
    turned_together: float
    giver: Giver | None


class Giver(NamedTuple):
    """How the model knows who gives; weights are means over the texts.

    Attributes:
        reader: the head in which the last word looks most at who gives.
        right: in how many texts the right word is the likeliest with that row silenced.
        looks: what the two heads that add most then look at, on average: who does not give, who gives.
        duplicate: the largest weight, of any head, of where the giver gives on where it is named first.
    """

    reader: tuple[int, int]
    right: int
    looks: tuple[float, float]
    duplicate: float


GIVES = "giver, giving"
LOOKS: Mapping[Task, tuple[str, str]] = {
    "gift": ("who does not give", GIVES),
    "pronoun": ("subject", "other name"),
    "agreement": ("subject", "nearer noun"),
}


@torch.inference_mode()
def held_out(task: Task, *, model: str = catalogue.STORYTELLER) -> HeldOut:
    """Measure all heads in as many texts as the storyteller's figures."""
    texts = [_of(tuple(item.words)) for item in items(_TASKS[task])]
    read = _Batch(texts, model)
    clean, exchanged = read.run(), read.run(exchanged=True)
    before, after = read.difference(clean), read.difference(exchanged)
    whole, directly = before.mean(), read.direct(clean)
    looks = {
        name: _mean(read.weights(clean, [text.cues[at] for text in texts]))
        for at, name in enumerate(LOOKS[task])
    }
    carries, last_row, turned = (torch.zeros(directly.shape) for _ in range(3))
    for layer, head in torch.cartesian_prod(*map(torch.arange, directly.shape)).tolist():
        put, others, turns = (
            steps.layers[layer].attention.attention.output.clone() for steps in (exchanged, exchanged, clean)
        )
        own = clean.layers[layer].attention
        put[:, head] = own.attention.output[:, head]
        others[read.every, head, read.ends] = put[read.every, head, read.ends]
        for share, outputs, at_the_end in ((carries, put, False), (last_row, others, True)):
            moved = read.apart(read.after(exchanged, layer, outputs, at_the_end=at_the_end)) - after
            share[layer, head] = moved.mean() / (whole - after.mean())
        row = own.attention.weights[read.every, head, read.ends]
        row = row.scatter(1, read.cues, row.gather(1, read.cues.flip(1)))
        turns[read.every, head, read.ends] = (row[:, None] @ own.value[:, head])[:, 0]
        turned[layer, head] = read.likeliest(read.after(clean, layer, turns, at_the_end=True), 1)
    order = directly.flatten().argsort(descending=True)[:2].tolist()
    one, other = (divmod(at, directly.shape[1]) for at in order)
    giver = None
    if task == "gift":
        gives, first = zip(
            *((text.cues[1], text.words.index(text.choices[1])) for text in texts), strict=True
        )
        looks["giver, named first"] = _mean(read.weights(clean, first))
        layer, head = divmod(int(looks[GIVES].argmax()), directly.shape[1])
        deaf = read.run([[Edit("decoder", layer, head, end)] for end in read.ends.tolist()])
        rows = tuple(zip(one, other, strict=True))  # what indexes both heads
        seen = [read.weights(deaf, [text.cues[at] for text in texts]).mean(dim=0) for at in range(2)]
        again = read.weights(clean, first, gives).mean(dim=0)
        giver = Giver(
            (layer, head),
            read.says(deaf, 0),
            (float(seen[0][rows].mean()), float(seen[1][rows].mean())),
            float(again.max()),
        )
    return HeldOut(
        len(texts),
        read.says(clean, 0),
        looks,
        owned(before.sort().values),
        owned(directly),
        float(whole),
        owned(carries),
        owned(last_row),
        owned(turned / len(texts)),
        (one, other),
        read.says(read.run(read.exchanges([one, other])), 1) / len(texts),
        giver,
    )


class ThirdGives(NamedTuple):
    """What is expected where somebody gives who was not named before; means over `texts`.

    Attributes:
        named: the probabilities of the two who were named, the first of them first.
        giver: that of the giver, who stands there once, as those two do.
    """

    texts: int
    named: tuple[float, float]
    giver: float


def third_gives(*, model: str = catalogue.STORYTELLER) -> ThirdGives:
    """Let a third person give in as many texts."""
    dice = Random(3)  # noqa: S311 - stories are no secret
    texts = []
    for _ in range(ITEMS):
        people = grammar.pair(dice, "names", held_out=True)
        giver = dice.choice(sorted(_PEOPLE - {*people}))
        words = (START, *grammar.lead_in(dice, people), *grammar.giving(dice, giver, dice.choice(NOUNS)))
        texts.append((_of(words), giver))
    batch = _Batch([text for text, _ in texts], model)
    last = batch.last(batch.run().logits).softmax(dim=-1)
    ids = torch.tensor([VOCABULARY.ids((*text.choices, giver)) for text, giver in texts])
    first, second, third = last.gather(1, ids).mean(dim=0).tolist()
    return ThirdGives(ITEMS, (first, second), third)


class Farther(NamedTuple):
    """What becomes of gifts if the giver stands farther back: shares of the texts, and mean weights.

    Attributes:
        right: how often the right word is the likeliest of all.
        looks: the last word's weight, in one head, of who gives.
    """

    right: float
    looks: float


def farther(adjectives: int, layer: int, head: int, *, model: str = catalogue.STORYTELLER) -> Farther:
    """Put so many adjectives before what is given; no story to learn from has one there."""
    more = grammar.QUALITIES[:adjectives]
    texts = [_of((*item.words[:-2], *more, *item.words[-2:])) for item in items(_TASKS["gift"])]
    batch = _Batch(texts, model)
    steps = batch.run()
    looks = batch.weights(steps, [text.gives or 0 for text in texts])
    return Farther(batch.says(steps, 0) / len(texts), float(looks[:, layer, head].mean()))


def _mean(weights: Tensor) -> Floats:
    return owned(weights.mean(dim=0))


class _Batch:
    """Many texts of one task, side by side; what fills them up behind their ends changes nothing before."""

    def __init__(self, texts: Sequence[Unfinished], model: str) -> None:
        self.texts = texts
        self.storyteller = loading.load_storyteller(model)
        self.ends = torch.tensor([len(text.words) - 1 for text in texts])
        self.every = torch.arange(len(texts))
        self.cues = torch.tensor([text.cues for text in texts])
        self.pairs = torch.tensor([VOCABULARY.ids(text.choices) for text in texts])
        self._ids = [_padded(words) for words in zip(*((t.words, t.exchanged) for t in texts), strict=True)]

    def run(self, edits: Sequence[Edits] = (), *, exchanged: bool = False) -> DecoderOnlySteps:
        return self.storyteller.steps(self._ids[exchanged], edits)

    def last(self, of_words: Tensor) -> Tensor:
        """[text, …], what stands at each text's last word."""
        return of_words[self.every, self.ends]

    def difference(self, steps: DecoderOnlySteps) -> Tensor:
        """[text], of the two words' logits."""
        return self.apart(self.last(steps.logits))

    def apart(self, logits: Tensor) -> Tensor:
        """[text], the same of the last words' logits."""
        pair = logits.gather(1, self.pairs)
        return pair[:, 0] - pair[:, 1]

    def says(self, steps: DecoderOnlySteps, which: int) -> int:
        """In how many texts the first or the second word is the likeliest of all."""
        return self.likeliest(self.last(steps.logits), which)

    def likeliest(self, logits: Tensor, which: int) -> int:
        """The same of the last words' logits."""
        return int((logits.argmax(dim=-1) == self.pairs[:, which]).sum())

    def after(self, steps: DecoderOnlySteps, layer: int, outputs: Tensor, *, at_the_end: bool) -> Tensor:
        """[text, word], the last words' logits if a layer's heads put out something else."""
        model = self.storyteller.model
        return model.last_logits_after(steps, layer, outputs, self.ends, at_the_end=at_the_end)

    def weights(
        self, steps: DecoderOnlySteps, keys: Sequence[int], queries: Sequence[int] | None = None
    ) -> Tensor:
        """[text, layer, head], the weight of one word in each text, of the last word's row or another."""
        rows = self.ends if queries is None else torch.tensor(queries)
        at = self.every, slice(None), rows, torch.tensor(keys)
        return torch.stack([layer.attention.attention.weights[at] for layer in steps.layers], dim=1)

    def direct(self, steps: DecoderOnlySteps) -> Tensor:
        """[layer, head], what each head adds to the difference, on average: through the norm as it was."""
        model = self.storyteller.model
        sums = self.last(steps.layers[-1].output)
        deviation = (sums.var(dim=-1, unbiased=False, keepdim=True) + model.norm.eps).sqrt()
        one, other = model.table.weight[self.pairs].unbind(dim=1)
        direction = model.norm.weight * (one - other)
        direction = (direction - direction.mean(dim=-1, keepdim=True)) / deviation
        found = []
        for projection, its in zip(output_projections(model).values(), steps.layers, strict=True):
            outputs = self.last(its.attention.attention.output.transpose(1, 2))
            added = torch.einsum("thd,hdm,tm->th", outputs, torch.tensor(projection), direction)
            found.append(added.mean(dim=0))
        return torch.stack(found)

    def exchanges(self, heads: Sequence[tuple[int, int]]) -> list[Edits]:
        """For each text: in these heads, the last word exchanges its weights of the two words."""
        return [
            [Edit("decoder", *head, end, *text.cues, exchange=True) for head in heads]
            for text, end in zip(self.texts, self.ends.tolist(), strict=True)
        ]


def _padded(texts: Sequence[tuple[str, ...]]) -> Tensor:
    return pad_sequence([torch.tensor(VOCABULARY.ids(words)) for words in texts], batch_first=True)
