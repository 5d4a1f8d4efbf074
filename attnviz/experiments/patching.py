"""Activation patching: the fraction of the difference between two sentences that is due to each head."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attnviz.capture import loading
from attnviz.capture.model import Model, ModelInput, Outcomes
from attnviz.errors import AttnvizError, InvalidEdit, quoted
from attnviz.experiments.ablation import Numbers, cosine_change, heads_of
from attnviz.experiments.progress import Progress
from attnviz.interventions.edit import Edit, Edits, HeadOutput
from attnviz.models import resolve
from attnviz.spelling import SPACES
from attnviz.text import plural
from attnviz.trace import Floats, Kind, Token, Trace, checked_place

MIN_SAME_TOKENS = 0.5
"""Minimum fraction of positions at which both sentences have the same token."""

_MIN_DIFFERENCE = 1e-5  # of a probability, or of 1 − cosine: smaller differences are rounding errors
_ROWS_PER_STEP = 12


@dataclass(frozen=True)
class ExpectedToken:
    """A token that one of the sentences makes more likely, and its probability after each sentence."""

    text: str
    id: int
    clean: float
    corrupted: float


@dataclass(frozen=True, eq=False)
class Patching:
    """Effects of patching each head's output from the clean run into the corrupted run.

    Attributes:
        patched: The patched head of each patch, and its row if only one row was patched, as the edit that
            would ablate it.
        shares: [patch], fraction of the difference that the patch removes: 0 if the outcome does not change,
            1 if the clean outcome is restored. It can be negative or above 1; because heads depend on each
            other, the fractions need not sum to 1.
        together: The fraction if all heads are patched together; None before the last step and for rows.
        difference: The difference between the two runs: in the log odds of the two expected tokens, in nats;
            without these, 1 − cosine between the token's outputs.
        expected: The token that is more probable after the clean sentence, and the token that is more
            probable after the corrupted sentence; None if the model has no prediction at the position.
    """

    patched: tuple[Edit, ...]
    shares: Numbers
    difference: float
    expected: tuple[ExpectedToken, ExpectedToken] | None
    together: float | None = None


def patch(
    model: str, clean: ModelInput, corrupted: str, place: int | str, rows_of: Edit | None = None
) -> Iterator[Progress[Patching]]:
    """Patch each head's output from the clean run into the corrupted run.

    This is also called causal mediation (Vig et al. 2020; Meng et al. 2022; Wang et al. 2023). Patching clean
    outputs into the corrupted run, as here, is denoising: it finds heads that are sufficient to restore the
    clean outcome. With the sentences swapped, it is noising, which finds heads that are necessary for it
    (Heimersheim & Nanda 2024).

    The outcome is the prediction at the position: the log odds between the token with the largest increase in
    probability, from the corrupted to the clean run, and the token with the largest decrease. For a model
    without a prediction there, it is the direction of the token's output.

    Patching all heads of every kind and layer restores the clean outcome at each token that is equal in both
    sentences: everything else in its residual stream is computed from the token itself. (Different tokens
    have different embeddings, which are not the output of a head.) This holds in float32; half precision
    rounds head outputs.

    Args:
        clean: Input of the clean run. For an encoder–decoder without a target, both runs use the output that
            the model generates for this input.
        corrupted: The changed sentence, with as many tokens as the clean one.
        place: Position of the token, from 0, or its text; in the decoder, if there is one.
        rows_of: A head, as the edit that ablates it; its rows are patched in turn, instead of all heads.

    Yields:
        The effects so far, after each layer or every few rows. Runs one forward pass per head or row.

    Raises:
        AttnvizError: the model or a sentence cannot be used, or patching is impossible at this position.
    """
    loaded = loading.load(model)
    clean = with_target(clean, loaded.trace(clean))
    other = replace(clean, text=corrupted)
    trace = loaded.trace(clean)
    place = checked_place(place, _texts(trace)[-1])
    refuse_unaligned(trace, loaded.trace(other), place)
    outputs = {(block.kind, block.layer): block.output for block in trace.blocks}
    heads = heads_of(model)
    if rows_of is None:
        patches, batch = heads, resolve.entry(model).heads
    elif rows_of not in heads:
        raise InvalidEdit(f"“{rows_of}” is not a head of this model. The last head is “{heads[-1]}”.")
    else:
        rows = len(trace.block(rows_of.kind, rows_of.layer).query_tokens)
        patches, batch = tuple(replace(rows_of, query=row) for row in range(rows)), _ROWS_PER_STEP
    del trace  # a job may keep local variables in memory for a long time
    position = place if place in loaded.prediction_positions(clean) else None
    corrupted_run, clean_run = (loaded.outcomes(given, [()], position) for given in (other, clean))
    measure, expected = _measure(loaded, clean_run, corrupted_run, place)
    start = measure(corrupted_run)
    difference = float(measure(clean_run)[0] - start[0])

    def share(variants: Sequence[Edits]) -> Numbers:
        return (measure(loading.load(model).outcomes(other, variants, position)) - start) / difference

    shares = np.zeros(0)
    for first in range(0, len(patches), batch):
        step = [_output(edit, outputs[edit.kind, edit.layer]) for edit in patches[first : first + batch]]
        shares = np.append(shares, share([[each] for each in step]))
        together = None
        if rows_of is None and len(shares) == len(patches):
            all_outputs = [_output(edit, outputs[edit.kind, edit.layer]) for edit in patches]
            together = share([all_outputs]).item()
        patched = patches[: len(shares)]
        yield Progress(len(shares), len(patches), Patching(patched, shares, difference, expected, together))


def _output(edit: Edit, outputs: Floats) -> HeadOutput:
    """Return one row or all rows of a head's output from the outputs of all heads, [head, query, d_head]."""
    rows = slice(None) if edit.query is None else slice(edit.query, edit.query + 1)
    return HeadOutput(edit.kind, edit.layer, edit.head, outputs[edit.head, rows], edit.query)


def _measure(
    loaded: Model, clean: Outcomes, corrupted: Outcomes, place: int
) -> tuple[Callable[[Outcomes], Numbers], tuple[ExpectedToken, ExpectedToken] | None]:
    """Return a measure of outcomes, [variant], larger for the clean sentence, and the tokens it compares.

    Raises:
        AttnvizError: the outcomes are almost equal.
    """
    no_difference = AttnvizError(
        "At this token, both sentences have almost the same outcome, so there is nothing to patch. "
        "Choose another token; with a causal mask, outcomes differ only after the changed word."
    )
    if clean.probabilities is None or corrupted.probabilities is None:
        direction = clean.states[0, [place]]
        if cosine_change(direction, corrupted.states[:, [place]]).item() < _MIN_DIFFERENCE:
            raise no_difference
        return lambda outcomes: -cosine_change(direction, outcomes.states[:, [place]])[:, 0], None
    p, q = clean.probabilities[0], corrupted.probabilities[0]
    rises, falls = int((p - q).argmax()), int((q - p).argmax())
    if p[rises] - q[rises] < _MIN_DIFFERENCE:
        raise no_difference
    expected = [
        ExpectedToken(text, number, float(p[number]), float(q[number]))
        for text, number in zip(loaded.words((rises, falls)), (rises, falls), strict=True)
    ]

    def odds(outcomes: Outcomes) -> Numbers:
        # The smallest positive float32 replaces a probability of 0.
        probabilities = np.asarray(outcomes.probabilities, dtype=np.float64)
        logs = np.log(np.maximum(probabilities, np.finfo(np.float32).tiny))
        difference: Numbers = logs[:, rises] - logs[:, falls]
        return difference

    return odds, (expected[0], expected[1])


def with_target(given: ModelInput, trace: Trace) -> ModelInput:
    """Return the input with the model's own output as target, or unchanged if there is no separate decoder.

    Raises:
        AttnvizError: the model's output is empty.
    """
    if trace.target == "":
        raise AttnvizError(
            "The model’s output for the first sentence is empty. Specify a target or change the sentence."
        )
    return replace(given, target=trace.target)


def refuse_unaligned(clean: Trace, corrupted: Trace, place: int) -> None:
    """Check that outputs can be patched between the two sentences at this token.

    Args:
        clean, corrupted: Traces of both sentences; for an encoder–decoder, with the same target.
        place: as in `patch`.

    Raises:
        AttnvizError: the tokens do not correspond, are all equal, or differ at this position.
    """
    one, other = (_texts(trace)[0] for trace in (clean, corrupted))
    if len(one) != len(other):
        raise AttnvizError(
            f"The first sentence has {plural(len(one), 'token')}, the second {len(other)}. Patching copies "
            "a head’s output to the same position, so both need the same number of tokens. Replace words "
            "only with words of the same number of tokens."
        )
    same = [first.id == second.id for first, second in zip(one, other, strict=True)]
    if all(same):
        raise AttnvizError("The two sentences have the same tokens. Change a word in one of them.")
    words = [equal for equal, token in zip(same, one, strict=True) if not token.special]
    if sum(words) < MIN_SAME_TOKENS * len(words):
        raise AttnvizError(
            f"Too few tokens are equal at the same position in both sentences: {sum(words)} of {len(words)}. "
            "As the second sentence, use the first one with one or a few words changed."
        )
    first, second = (_texts(trace)[-1] for trace in (clean, corrupted))
    checked_place(place, first)
    if first[place].id != second[place].id:
        names = [quoted(token.text.strip(SPACES)) for token in (first[place], second[place])]
        raise AttnvizError(
            f"Token {place + 1} is {names[0]} in the first sentence and {names[1]} in the "
            "second, so its own embedding differs. Choose a token that both sentences share."
        )


def _texts(trace: Trace) -> Sequence[tuple[Token, ...]]:
    """Return the tokens of the encoder and of the decoder; one item for a model with only one of them."""
    kinds = {block.kind for block in trace.blocks}
    order: tuple[Kind, ...] = ("encoder", "decoder")
    return [trace.of_kind(kind)[0].query_tokens for kind in order if kind in kinds]
