"""Six steps from a token's vector to what one head reads for it, with the products behind every number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict

from attnviz.app.components.component import widget
from attnviz.widgets.tokens import ShownToken


class Spoken(TypedDict):
    """Words in the colour of a role: "query", "key", "value" or "weights"."""

    text: str
    role: str


class Step(TypedDict):
    """A step's name, and what happens in it, in words and numbers."""

    title: str
    sentence: Sequence[str | Spoken]


class Across(TypedDict):
    """The token that looks, if it stands in another text, and where its vector comes from, one sentence."""

    token: ShownToken
    origin: str


class Rest(TypedDict):
    """The tokens of a long text that have no row: how many, and what their weights add up to."""

    count: int
    weight: float


@widget
def walk(
    key: str,
    /,
    *,
    source: str,
    step: int,
    steps: Sequence[Step],
    tokens: Sequence[ShownToken],
    query: int | None,
    across: Across | None,
    forbidden: Sequence[bool],
    total: int,
    rest: Rest | None,
    origin: str,
    on_step: Callable[[int], None],
) -> None:
    """Draws the six steps, up to the current one; the visitor goes on and back, and points at cells.

    A step is shown in the browser at once; Python is told, so that the step's own control and the link
    agree.

    Args:
        source: what `store.publish` returned for these arrays, all float32, of the tokens that have a row:

            vector                                  [d_model], of the token that looks
            vectors                                 [row, d_model]
            query_matrix, key_matrix, value_matrix  [d_model, d_head]
            query_bias, key_bias, value_bias        [d_head]
            query                                   [d_head]
            keys, values                            [row, d_head]
            dot_products, scores, weights           [row]
            output                                  [d_head]
            rest                                    [d_head], the weighted sum of the values without a row

            and the facts `largest` (the largest score) and `sum` (of e^(score − largest)), over all tokens
            that it may look at.
        step: from 1 to 6.
        steps: what is said about each.
        tokens: the rows.
        query: the row of the token that looks; None if it stands in another text.
        across: the token that looks at another text; None if it is a row.
        forbidden: for each row, whether the mask forbids to look at it.
        total: how many tokens the text has.
        rest: what has no row; None if every token has one.
        origin: where the tokens' vectors come from, one sentence.
        on_step: called with the step that the visitor went to.
    """
