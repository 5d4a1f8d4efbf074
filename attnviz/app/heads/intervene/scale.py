"""Whether a turn is much: what else turns the same output, and how far."""

from __future__ import annotations

import numpy as np

from attnviz.app import markdown
from attnviz.app.heads.intervene import computed, ranking
from attnviz.app.heads.intervene.choices import Intervention, word
from attnviz.app.heads.intervene.written import angle

_ROUNDING = 1e-6  # 1 − cosine of an output that no other word reaches is not quite 0


def compared(chosen: Intervention, place: int | None) -> str:
    """How far it turns without the word that matters most to it, and without the median head, in Markdown.

    Args:
        chosen: the output of its token is meant.
        place: where the model is asked what it expects; the heads' ranking is known by it.
    """
    told = "; ".join(filter(None, (_without_a_word(chosen), _median_head(chosen, place))))
    return f"To compare: {told}." if told else ""


def _without_a_word(chosen: Intervention) -> str:
    found = computed.words_left_out(chosen)
    if found is None:
        return ""
    words = [at for at, group in enumerate(chosen.queries) if not group.special and at != chosen.query]
    most = max(words, key=lambda at: float(found.turned[at]), default=chosen.query)
    if most == chosen.query or found.turned[most] < _ROUNDING:
        return ""
    by = "the mean of all word vectors" if found.replaced_by is None else markdown.code(found.replaced_by)
    return (
        f"without {word(chosen.queries, most)}, the word that matters most to that output (replaced by "
        f"{by}), it turns by **{angle(float(found.turned[most]))}**"
    )


def _median_head(chosen: Intervention, place: int | None) -> str:
    alone = ranking.job(chosen, place).latest
    if alone is None or not alone.finished:
        return ""
    _, size = ranking.each_alone(chosen, alone.found, ranking.TOKEN)
    return f"the median of {len(size)} heads, each silenced alone, turns it by **{angle(np.median(size))}**"
