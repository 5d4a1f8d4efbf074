"""Activation patching: how much of the difference between two sentences does each head carry?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attnviz.capture import loading
from attnviz.capture.model import Model, ModelInput, Outcomes
from attnviz.errors import AttnvizError, InvalidEdit, quoted
from attnviz.experiments.ablation import Numbers, heads_of, turned
from attnviz.experiments.progress import Progress
from attnviz.interventions.edit import Edit, Edits, HeadOutput
from attnviz.models import resolve
from attnviz.spelling import SPACES
from attnviz.text import plural
from attnviz.trace import Floats, Kind, Token, Trace, checked_place

MIN_SAME_TOKENS = 0.5
"""The smallest share of tokens at the same places in both sentences, for the sentences to correspond."""

_MIN_DIFFERENCE = 1e-5  # of a probability, or of 1 − cosine: a smaller difference would drown in rounding
_ROWS_AT_ONCE = 12  # that are tried between two steps


@dataclass(frozen=True)
class ExpectedToken:
    """A token that one of the sentences makes likelier, and how probable it is after either."""

    text: str
    id: int
    clean: float
    corrupted: float


@dataclass(frozen=True, eq=False)
class Patching:
    """What each patch did: one head's output, of the clean sentence, in the run over the corrupted one.

    Attributes:
        patched: for each patch, the head, and the row if it was one row alone; written as the edit that would
            ablate the same.
        shares: [patch], how much of the whole difference the patch takes away: 0 where the outcome stays as
            it was, 1 where it becomes the clean one. It can be negative, or above 1; since heads build on
            each other, the shares of all need not sum to 1.
        together: the share of all heads at once; None until all were tried, and where one row alone is.
        whole: that difference: in nats of log odds between the two expected tokens; without these, 1 − cosine
            between the token's outputs.
        expected: the token with the largest probability increase after the clean sentence, and the one after
            the corrupted sentence; None where the model expects nothing at this place.
    """

    patched: tuple[Edit, ...]
    shares: Numbers
    whole: float
    expected: tuple[ExpectedToken, ExpectedToken] | None
    together: float | None = None


def patch(
    model: str, clean: ModelInput, corrupted: str, place: int, rows_of: Edit | None = None
) -> Iterator[Progress[Patching]]:
    """Read a corrupted sentence with one head's output of the clean one, head by head.

    Called activation patching, or causal mediation (Vig et al. 2020; Meng et al. 2022; Wang et al. 2023).
    From clean to corrupted, as here, it is also called denoising: it finds what is enough to bring the clean
    outcome back. With the sentences swapped, it is noising, and finds what is needed for it (Heimersheim &
    Nanda 2024).

    The outcome is the prediction at the place, as the log odds between the token with a probability that
    rises most and the one that falls most; of a model that expects nothing there, the direction of the
    token's output.

    The outputs of all heads together, of every kind and layer, give the clean outcome at each token with
    word is the same in both sentences: all else in its residual stream comes from itself. (The other tokens
    have embeddings of their own, which no head carries.) So it is in float32; in half precision, what heads
    put out is rounded.

    Args:
        clean: what it reads. An encoder–decoder without a target reads, with both sentences, what it writes
            for this one.
        corrupted: the sentence that differs, with as many tokens.
        place: the token, from 0, of the decoder where there is one.
        rows_of: a head, as the edit that ablates it: then its rows are tried, one after the other, and not
            all heads.

    Yields:
        After each layer, or every few rows, what was found up to there. There are as many forward passes as
        heads or rows.

    Raises:
        AttnvizError: the model or a sentence cannot be used, or the two cannot be compared at this place.
    """
    loaded = loading.load(model)
    clean = with_target(clean, loaded.trace(clean))
    other = replace(clean, text=corrupted)
    trace = loaded.trace(clean)
    refuse_unaligned(trace, loaded.trace(other), place)
    outputs = {(block.kind, block.layer): block.output for block in trace.blocks}
    heads = heads_of(model)
    if rows_of is None:
        patches, at_once = heads, resolve.entry(model).heads
    elif rows_of not in heads:
        raise InvalidEdit(f"“{rows_of}” is no head of this model. The last one is “{heads[-1]}”.")
    else:
        rows = len(trace.block(rows_of.kind, rows_of.layer).query_tokens)
        patches, at_once = tuple(replace(rows_of, query=row) for row in range(rows)), _ROWS_AT_ONCE
    del trace  # a job may keep local variables for long
    asked = place if place in loaded.prediction_positions(clean) else None
    before, there = (loaded.outcomes(given, [()], asked) for given in (other, clean))
    measure, expected = _measure(loaded, there, before, place)
    whole = float(measure(there)[0] - measure(before)[0])

    def share(variants: Sequence[Edits]) -> Numbers:
        return (measure(loading.load(model).outcomes(other, variants, asked)) - measure(before)) / whole

    shares = np.zeros(0)
    for first in range(0, len(patches), at_once):
        some = [_output(edit, outputs[edit.kind, edit.layer]) for edit in patches[first : first + at_once]]
        shares = np.append(shares, share([[each] for each in some]))
        together = None
        if rows_of is None and len(shares) == len(patches):
            every = [_output(edit, outputs[edit.kind, edit.layer]) for edit in patches]
            together = share([every]).item()
        patched = patches[: len(shares)]
        yield Progress(len(shares), len(patches), Patching(patched, shares, whole, expected, together))


def _output(edit: Edit, outputs: Floats) -> HeadOutput:
    """What a head put out, [head, query, d_head] being that of all: of one row, or of all."""
    rows = slice(None) if edit.query is None else slice(edit.query, edit.query + 1)
    return HeadOutput(edit.kind, edit.layer, edit.head, outputs[edit.head, rows], edit.query)


def _measure(
    loaded: Model, clean: Outcomes, corrupted: Outcomes, place: int
) -> tuple[Callable[[Outcomes], Numbers], tuple[ExpectedToken, ExpectedToken] | None]:
    """What is read off outcomes, [variant], and between which tokens; it is larger for the clean sentence.

    Raises:
        AttnvizError: nothing differs.
    """
    nothing = AttnvizError(
        "At this token both sentences lead to almost the same outcome: there is no difference that a head "
        "could carry. Choose another token; a model that looks only backwards differs after the changed word."
    )
    if clean.probabilities is None or corrupted.probabilities is None:
        direction = clean.states[0, [place]]
        if turned(direction, corrupted.states[:, [place]]).item() < _MIN_DIFFERENCE:
            raise nothing
        return lambda outcomes: -turned(direction, outcomes.states[:, [place]])[:, 0], None
    p, q = clean.probabilities[0], corrupted.probabilities[0]
    rises, falls = int((p - q).argmax()), int((q - p).argmax())
    if p[rises] - q[rises] < _MIN_DIFFERENCE:
        raise nothing
    expected = [
        ExpectedToken(text, number, float(p[number]), float(q[number]))
        for text, number in zip(loaded.words((rises, falls)), (rises, falls), strict=True)
    ]

    def odds(outcomes: Outcomes) -> Numbers:
        # Float32's smallest number replaces a probability of 0.
        found = np.asarray(outcomes.probabilities, dtype=np.float64)
        logs = np.log(np.maximum(found, np.finfo(np.float32).tiny))
        difference: Numbers = logs[:, rises] - logs[:, falls]
        return difference

    return odds, (expected[0], expected[1])


def with_target(given: ModelInput, trace: Trace) -> ModelInput:
    """Return the input with the model's own output as target; unchanged without a separate decoder.

    Raises:
        AttnvizError: it wrote nothing.
    """
    if trace.target == "":
        raise AttnvizError("For the first sentence the model writes nothing. Give it a text (a target).")
    return replace(given, target=trace.target)


def refuse_unaligned(clean: Trace, corrupted: Trace, place: int) -> None:
    """Refuse two sentences between which nothing can be patched, or not for this token.

    Args:
        clean, corrupted: what a model made of them; of an encoder–decoder, with the same target.
        place: as in `patch`.

    Raises:
        AttnvizError: see the message.
    """
    one, other = (_texts(trace)[0] for trace in (clean, corrupted))
    if len(one) != len(other):
        raise AttnvizError(
            f"The first sentence has {plural(len(one), 'token')}, the second {len(other)}. What a head puts "
            "out at a token goes to the same place in the other sentence, so both need equally many. Change "
            "words into others of as many tokens."
        )
    same = [first.id == second.id for first, second in zip(one, other, strict=True)]
    if all(same):
        raise AttnvizError("The two sentences have the same tokens. Change a word in one of them.")
    words = [alike for alike, token in zip(same, one, strict=True) if not token.special]
    if sum(words) < MIN_SAME_TOKENS * len(words):
        raise AttnvizError(
            f"Too few tokens are the same at the same place in both sentences: {sum(words)} of {len(words)}. "
            "What a head puts out at one has no place in the other. Write the second sentence as the first, "
            "with a word or a few changed."
        )
    first, second = (_texts(trace)[-1] for trace in (clean, corrupted))
    checked_place(place, len(first))
    if first[place].id != second[place].id:
        there = [quoted(token.text.strip(SPACES)) for token in (first[place], second[place])]
        raise AttnvizError(
            f"Token {place + 1} is {there[0]} in the first sentence and {there[1]} in the "
            "second: it differs by itself, whatever heads carry. Choose a token that is the same in both."
        )


def _texts(trace: Trace) -> Sequence[tuple[Token, ...]]:
    """The tokens that differ, and those of the outcome; the same in a single stack."""
    kinds = {block.kind for block in trace.blocks}
    order: tuple[Kind, ...] = ("encoder", "decoder")
    return [trace.of_kind(kind)[0].query_tokens for kind in order if kind in kinds]
