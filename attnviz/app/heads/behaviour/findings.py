"""What is known of all heads, on the visitor's sentence or on a text of many."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from attnviz.analysis.clusters import Scaled, groups, scaled
from attnviz.analysis.divergence import Divergences, divergences
from attnviz.analysis.rules import Special
from attnviz.analysis.shapes import ShapeSums, shapes
from attnviz.analysis.tally import Figures, Tally, tally
from attnviz.app import traces
from attnviz.app.examples import examples_of
from attnviz.app.models import lookup
from attnviz.app.server.cache import cached, named
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.experiments.behaviour import BehaviourFindings
from attnviz.text import head_name, plural
from attnviz.trace import Block

GROUPS = 5
"""Into how many groups heads are gathered at most: as there are marks that can be told apart in a picture."""

_EACH = 4  # heads for each group, at least: of a small model, groups would be single heads


@dataclass(frozen=True, eq=False)
class Alike:
    """Which heads do alike.

    Attributes:
        scaled: each head as a point of a plane, layer by layer.
        group: [head], the number of its group, 0 for the largest.
        bits: float64 [head, head], the mean Jensen–Shannon divergence.
        sentences: on how many sentences.
    """

    scaled: Scaled
    group: np.typing.NDArray[np.intp]
    bits: np.typing.NDArray[np.float64]
    sentences: int


@dataclass(frozen=True, eq=False)
class Findings:
    """What the sections of the page draw.

    Attributes:
        model: its name.
        where: what was read, as it stands in a sentence: "In this sentence", "In 400 sentences".
        special: the tokens that the model adds to each sentence.
        tally: of every rule and head.
        shapes: of every head.
        alike: which heads do alike.
        text: the sentence, where it is about a single one.
    """

    model: str
    where: str
    special: Special
    tally: Tally
    shapes: ShapeSums
    alike: Alike
    text: str | None = None

    @property
    def many(self) -> bool:
        """Whether it is about several sentences."""
        return int(self.tally.sentences) > 1

    @property
    def names(self) -> list[str]:
        """What the heads are called, layer by layer: "1-1", "1-2", and so on."""
        return [head_name(layer, head) for layer, head in np.ndindex(self.tally.shape)]


@dataclass(frozen=True)
class JobSnapshot:
    """What a job has found in so many sentences, 1 or more; a key of the caches, as the job's is in it."""

    key: tuple[str, ...]
    sentences: int
    found: BehaviourFindings = field(compare=False)


@cached(named)
def of_many(model: str, so_far: JobSnapshot) -> Findings:
    """What the heads have done in the sentences that were read so far."""
    special = Special.of(loading.tokens(model, examples_of(model, together=False)[0].text))
    where, sums = f"In {plural(so_far.sentences, 'sentence')}", so_far.found.sums
    return Findings(model, where, special, so_far.found.tally, sums["shapes"], _alike(sums["divergences"]))


@cached(named)
def of_sentence(model: str, text: str) -> Findings:
    """What the heads do in one sentence.

    Raises:
        AttnvizError: the model cannot read it.
    """
    blocks = _blocks(model, ModelInput(text))
    weights, masks = [block.weights[None] for block in blocks], [block.mask for block in blocks]
    tokens = blocks[0].query_tokens
    return Findings(
        model,
        "In this sentence",
        Special.of(tokens),
        tally([text], [tokens], weights, masks),
        shapes(weights, masks, [token.sentence for token in tokens]),
        _alike(divergences(weights)),
        text,
    )


@cached(named)
def shapes_of_pair(model: str, text: str, second: str) -> ShapeSums:
    """The shapes of the heads in two sentences that are read in one go.

    Raises:
        AttnvizError: the model cannot read them.
    """
    blocks = _blocks(model, ModelInput(text, second))
    sentence_of = [token.sentence for token in blocks[0].query_tokens]
    return shapes([block.weights[None] for block in blocks], [block.mask for block in blocks], sentence_of)


def _blocks(model: str, given: ModelInput) -> tuple[Block, ...]:
    """The attention that is looked at: an encoder's, where there is one."""
    return traces.trace(model, given).of_kind(lookup.entry(model).kinds[0])


def _alike(sums: Divergences) -> Alike:
    bits = sums.mean
    return Alike(
        scaled(bits), groups(bits, min(GROUPS, max(2, len(bits) // _EACH), len(bits))), bits, sums.sentences
    )


def written(figures: Figures, layer: int, head: int) -> str:
    """What a head scores, of a share both: "17 % of its attention, 64 % of what goes to words"."""
    return figures.rule.amount(float(figures.mean[layer, head]), float(figures.raw[layer, head]))


def evenly(figures: Figures, layer: int) -> str:
    """What a head with even attention scores in a layer, written alike."""
    return figures.rule.amount(float(figures.baseline[layer]), float(figures.raw_baseline[layer]))


def spread(figures: Figures, layer: int, head: int) -> str:
    """How much its sentences differ: "± 8"."""
    deviation = float(figures.deviation[layer, head])
    if figures.count[layer] < 2:
        return ""
    return f" ± {deviation:.1f}" if figures.rule.unit == "tokens" else f" ± {100 * deviation:.0f}"
