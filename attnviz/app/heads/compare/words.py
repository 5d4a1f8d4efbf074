"""The word whose row is told, among the words that both sides have."""

from __future__ import annotations

from attnviz.app.examples import example_of
from attnviz.app.heads.compare.compared import Aligned, Compared
from attnviz.app.state.choice import option
from attnviz.app.state.choices import QUERY


def choose_word(compared: Compared, grid: Aligned) -> int:
    """Draw the choice; return which of the shared rows it is. A word that occurs twice has two entries."""
    groups = grid.shared_queries
    options = [option(group) for group in groups]
    first, second = compared.first, compared.second
    example = example_of(first.model, first.given.text, second.given.text)
    wanted = example.query if example else "it"
    labels = [group.label.split(" → ")[0].strip() for group in groups]
    words = [at for at, group in enumerate(groups) if not group.special and labels[at].isalnum()]
    begin = labels.index(wanted) if wanted in labels else words[-1] if words else 0
    of = (first.model, first.given, first.kind, second.model, second.given)
    return options.index(QUERY.draw("Word (looks)", options, options[begin], of))
