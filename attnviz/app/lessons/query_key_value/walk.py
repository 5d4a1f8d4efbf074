"""Six steps from a token's vector to what one head reads for it, with the products behind every number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict

from attnviz.app.components.steps import Coloured, Column, DrawnStep, Made, column, made
from attnviz.app.components.steps import steps as draw_steps
from attnviz.widgets.tokens import ShownToken


class Step(TypedDict):
    """A step's name, and what happens in it, in words and numbers."""

    title: str
    sentence: Sequence[str | Coloured]


class Rest(TypedDict):
    """The tokens of a long text that have no row: how many, and what their weights add up to."""

    count: int
    weight: float


_KEYS = column(top=["query"], rows=["keys"])
_NUMBERS = [column("numbers", rows=["dot_products"]), column("numbers", rows=["scores"])]
_WEIGHTS = column("bars", rows=["weights"])


def _columns() -> list[list[Column]]:
    """Return the columns of each step."""
    return [
        [column(rows=["vectors"])],
        [
            column(rows=["vectors"]),
            column(top=["query_matrix", "query_bias", "query"]),
            column(top=["key_matrix", "key_bias"], rows=["keys"]),
            column(top=["value_matrix", "value_bias"], rows=["values"]),
        ],
        [_KEYS, _NUMBERS[0]],
        [_KEYS, *_NUMBERS],
        [_KEYS, *_NUMBERS, _WEIGHTS],
        [_KEYS, *_NUMBERS, _WEIGHTS, column(rows=["values"], bottom=["output"])],
    ]


def _arrays() -> dict[str, Made]:
    """How each array is drawn and made."""
    learned = {
        f"{role}_{part}": made("learned", "", role, f"{letter}_{role[0].upper()}", f"the {role} {part}")
        for role in ("query", "key", "value")
        for part, letter in (("matrix", "W"), ("bias", "b"))
    }
    return {
        "vector": made("token", "", "plain", "x", "the vector of the query token"),
        "vectors": made("token", "", "plain", "X", "the tokens’ vectors"),
        **learned,
        "query": made("project", "vectors query_matrix query_bias", "query", "q", "the query"),
        "keys": made("project", "vectors key_matrix key_bias", "key", "K", "the keys"),
        "values": made("project", "vectors value_matrix value_bias", "value", "V", "the values"),
        "dot_products": made("dot", "query keys", "plain", "q·k", "the dot products", "numbers"),
        "scores": made("scale", "dot_products query", "plain", "score", "the scores", "numbers"),
        "weights": made("softmax", "scores", "weights", "weight", "the weights", "numbers"),
        "output": made("mix", "weights values", "value", "output", "the output"),
    }


def walk(
    key: str,
    /,
    *,
    source: str,
    step: int,
    steps: Sequence[Step],
    tokens: Sequence[ShownToken],
    query: int,
    total: int,
    rest: Rest | None,
    origin: str,
    on_step: Callable[[int], None],
) -> None:
    """Draw the six steps, of which one is open; the visitor goes on and back, and points at cells.

    A step is shown in the browser at once; `on_step` tells Python, so that the step's own control and the
    link agree.

    Args:
        source: what `store.publish` returned for these arrays, all float32, of the tokens that have a row:

            vector                                  [d_model], of the query token
            vectors                                 [row, d_model]
            query_matrix, key_matrix, value_matrix  [d_model, d_head]
            query_bias, key_bias, value_bias        [d_head]
            query                                   [d_head]
            keys, values                            [row, d_head]
            dot_products, scores, weights           [row]
            output                                  [d_head]
            rest                                    [d_head], the weighted sum of the values without a row

            and the facts `largest` (the largest score) and `sum` (of e^(score − largest)), over all tokens.
        step: from 1 to 6.
        steps: what is said about each.
        tokens: the rows.
        query: the row of the query token.
        total: how many tokens the text has.
        rest: what has no row; None if every token has one.
        origin: where the tokens' vectors come from, one sentence.
        on_step: called with the step that the visitor went to.
    """
    opened = zip(steps, _columns(), strict=True)
    draw_steps(
        key,
        source=source,
        step=step,
        steps=[_drawn(said, columns) for said, columns in opened],
        arrays=_arrays(),
        keep_open=False,
        tokens=tokens,
        on_step=on_step,
        query=query,
        total=total,
        rest=rest,
        origin=origin,
    )


def _drawn(said: Step, columns: Sequence[Column]) -> DrawnStep:
    return {
        "title": said["title"],
        "formula": "",
        "sentence": said["sentence"],
        "lane": "",
        "columns": columns,
    }
