"""The token that looks, how it looks, and what it reads: what the weighted average's sections share."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from attnviz.analysis.shown import Group
from attnviz.app import markdown
from attnviz.app.later import later
from attnviz.app.learn.computed import computed
from attnviz.app.state.choices import QUERY

if TYPE_CHECKING:
    from attnviz.app.learn.weighted_average import compute
    from attnviz.trace import Floats
else:
    compute = later("attnviz.app.learn.weighted_average.compute")

_average = computed(compute.average)
_difference_alone = computed(compute.difference_alone)
_trained = computed(compute.trained_weights)

DOT, ADDITIVE = "Dot product", "Additive"
FORMULAS = {
    DOT: r"\textcolor{blue}{q} \cdot \textcolor{red}{k}",
    "Scaled dot product": r"\frac{\textcolor{blue}{q} \cdot \textcolor{red}{k}}{\sqrt{d}}",
    "Cosine": r"\frac{\textcolor{blue}{q} \cdot \textcolor{red}{k}}"
    r"{\lVert \textcolor{blue}{q} \rVert \, \lVert \textcolor{red}{k} \rVert}",
    ADDITIVE: r"v^\top \tanh(W \textcolor{blue}{q} + U \textcolor{red}{k})",
}
"""How a query is compared with a key, by the names that `lessons.weighted_average` knows too."""


@dataclass(frozen=True)
class WeighedToken:
    """What the page shows.

    Attributes:
        text: the sentence.
        tokens: its own tokens, without [CLS] and [SEP].
        query: the token that looks, from 0.
        scoring: how it is compared with the others.
        temperature: as the slider says it.
        draw: which random matrices additive scoring has, from 1.
    """

    text: str
    tokens: tuple[Group, ...]
    query: int
    scoring: str = DOT
    temperature: str = "1"
    draw: int = 1

    @property
    def looker(self) -> str:
        """The token that looks, in Markdown."""
        return markdown.code(self.tokens[self.query].label)

    def name(self, place: int) -> str:
        """A token in Markdown, with its number where its label stands twice."""
        return "itself" if place == self.query else markdown.token(place, self.tokens)

    @property
    def number(self) -> float:
        """The temperature."""
        return inf if self.temperature == "∞" else float(self.temperature)

    @property
    def found(self) -> compute.Average:
        """Every token's weighted average."""
        return _average(self.text, self.scoring, self.number, self.draw)

    @property
    def latex_temperature(self) -> str:
        """The temperature in a formula."""
        return self.temperature.replace("∞", r"\infty")

    def like(self, scoring: str) -> compute.Average:
        """Every token's weighted average by another scoring."""
        return _average(self.text, scoring, self.number, self.draw)

    @property
    def difference_alone(self) -> float:
        """How far what the token reads differs at most if it is computed for it alone."""
        return _difference_alone(self.text, self.scoring, self.number, self.draw, self.query)

    def plain(self) -> compute.Average:
        """Every token's weighted average by the dot product and the plain softmax."""
        return _average(self.text, DOT, 1.0, 1)

    def trained(self) -> Floats:
        """What the token looks at in a trained head, [token]."""
        return _trained(self.text, self.query)

    def look(self, place: int) -> None:
        """Make another token the one that looks; called by pictures."""
        QUERY.pick(self.tokens[place])
