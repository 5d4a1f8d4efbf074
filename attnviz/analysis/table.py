"""Tables as CSV text; that of one head says by itself what it is."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

import numpy as np

from attnviz.analysis.display_tokens import DisplayToken, visible_text
from attnviz.trace import Floats

Cells = Sequence[str | int | float]


def csv_text(header: Sequence[str], rows: Iterable[Cells]) -> str:
    """A table as CSV text."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return file.getvalue()


def head_table(
    values: Floats,
    queries: Sequence[DisplayToken],
    keys: Sequence[DisplayToken],
    *,
    text: str,
    model: str,
    layer: int,
    head: int,
    stage: str,
    explanation: str,
    compared_with: str | None = None,
    second: str | None = None,
    target: str | None = None,
    attention: str | None = None,
    written: str | None = None,
    drawn: str | None = None,
    left: Floats | None = None,
    hidden: str = "",
) -> str:
    """CSV: comment lines that begin with '#', a header, then one row per query.

    Every token is labelled "12:it", its position first: two equal tokens stay apart, and no spreadsheet
    takes a token such as "=1+1" for a formula. Numbers have 9 significant digits, enough to give every
    float32 back exactly. A cell that the mask forbids (−inf) is empty.

    Args:
        values: [query, key], as shown.
        queries, keys: what the rows and the columns are.
        text, model: what was typed, and what read it.
        layer, head: from 0; the file counts from 1.
        stage: what the numbers are: "weights", "scaled", …
        explanation: what was hidden, merged and rescaled (`DisplayTokens.explanation`).
        compared_with: the first sentence, where the values are a change from it to `text`.
        second: the sentence that was read together with `text`.
        target: the second text of an encoder–decoder.
        attention: "encoder", "decoder" or "cross", where the model has several kinds.
        written: the end of the text, which the model wrote.
        drawn: how it chose what it wrote: temperature, top k, top p, seed.
        left: [query], how much of each row is shown, where rows are rescaled: a last column has the rest,
            of a change the larger one of the two sentences.
        hidden: what the rest went to.
    """
    # The quotation marks keep a spreadsheet from reading a text such as "=1+1" as a formula.
    texts = (
        ("text", text),
        ("its end as the model wrote it", written),
        ("read together with", second),
        ("second text", target),
        ("minus the same for the text", compared_with),
    )
    facts = [
        *((name, f"“{visible_text(typed)}”") for name, typed in texts if typed is not None),
        *([("written with", drawn)] if drawn else []),
        ("model", visible_text(model)),
        *([("attention", attention)] if attention else []),
        ("layer (from 1)", str(layer + 1)),
        ("head (from 1)", str(head + 1)),
        ("stage", stage),
        ("tokens", explanation),
        ("rows", "queries (look)"),
        ("columns", "keys (are looked at)"),
        *([("last column", f"what of the row went to {visible_text(hidden)}")] if left is not None else []),
    ]  # fmt: skip
    file = io.StringIO()
    comments = csv.writer(file, lineterminator="\n")
    comments.writerows((f"# {name}", fact) for name, fact in facts)
    # Labels are quoted, numbers are not: "#" inside a label then does not start a comment.
    table = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    rest = [] if left is None else [1 - left]
    table.writerow(["query", *map(numbered, keys), *(["hidden"] if rest else [])])
    for group, row in zip(queries, np.column_stack([values, *rest]), strict=True):
        table.writerow([numbered(group), *(float(f"{x:.9g}") if np.isfinite(x) else None for x in row)])
    return file.getvalue()


def numbered(group: DisplayToken, base: int = 1) -> str:
    """A token with its position before it, "12:it", as the rows and columns of tables are called.

    `base`: the position of the first token.
    """
    return f"{group.number - 1 + base}:{visible_text(group.label)}"
