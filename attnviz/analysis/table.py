"""Tables as CSV text; that of one head describes itself."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from attnviz.analysis.display_tokens import DisplayToken, visible_text
from attnviz.trace import Floats

Cell = str | int | float | None
Cells = Sequence[Cell]

# Where ";" parts the columns, as in much of Europe, a cell can begin in the midst of what we wrote as one.
_FORMULA = re.compile(r"""(^|[;\t])([\s"]*)(?=[=+\-@＝＋－＠])""")


def csv_text(header: Cells, rows: Iterable[Cells]) -> str:
    """A table as CSV text, in which no spreadsheet finds a formula, whatever parts its columns.

    What would begin one gets an apostrophe before it: "a;=1+1" is written as "a;'=1+1". None is an empty
    cell.
    """
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(
        [_FORMULA.sub(r"\1\2'", cell) if isinstance(cell, str) else cell for cell in row]
        for row in (header, *rows)
    )
    return file.getvalue()


def facts_text(facts: Mapping[str, Cell], header: Cells, rows: Iterable[Cells]) -> str:
    """A table as CSV text of which each row begins with the facts, which are the same in all.

    Nothing precedes the header, so that every program reads it; spreadsheets recognize by the first character
    that it is UTF-8.
    """
    return "\ufeff" + csv_text((*facts, *header), ((*facts.values(), *row) for row in rows))


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
    """CSV: a header, then one row per query, each of which begins with what the table is (`facts_text`).

    Every token is labelled "12:it", its position first: two equal tokens stay apart. Numbers
    have 9 significant digits, enough to give every float32 back exactly. A cell that the mask forbids (−inf)
    is empty.

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
    texts = (
        ("text", text),
        ("its end as the model wrote it", written),
        ("read together with", second),
        ("second text", target),
        ("minus the same for the text", compared_with),
    )
    facts: dict[str, Cell] = {
        **{name: visible_text(typed) for name, typed in texts if typed is not None},
        **({"written with": drawn} if drawn else {}),
        "model": visible_text(model),
        **({"attention": attention} if attention else {}),
        "layer": layer + 1,
        "head": head + 1,
        "stage": stage,
        "tokens": explanation,
    }
    rest = [] if left is None else [1 - left]
    header = ["query", *map(numbered, keys), *([f"hidden: {visible_text(hidden)}"] if rest else [])]
    rows = (
        [numbered(group), *(float(f"{x:.9g}") if np.isfinite(x) else None for x in row)]
        for group, row in zip(queries, np.column_stack([values, *rest]), strict=True)
    )
    return facts_text(facts, header, rows)


def numbered(group: DisplayToken, base: int = 1) -> str:
    """A token with its position before it, "12:it", as the rows and columns of tables are called.

    `base`: the position of the first token.
    """
    return f"{group.number - 1 + base}:{visible_text(group.label)}"
