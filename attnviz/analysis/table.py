"""Tables as CSV text; the table of one head includes its metadata."""

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

# Programs that expect ";" between columns, as in much of Europe, may split a cell that contains ";".
_FORMULA = re.compile(r"""(^|[;\t])([\s"]*)(?=[=+\-@＝＋－＠])""")


def csv_text(header: Cells, rows: Iterable[Cells]) -> str:
    """Return a table as CSV text, safe against formula injection with any column separator.

    An apostrophe is inserted before the first character of a formula: "a;=1+1" becomes "a;'=1+1". None
    becomes an empty cell.
    """
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(
        [_FORMULA.sub(r"\1\2'", cell) if isinstance(cell, str) else cell for cell in row]
        for row in (header, *rows)
    )
    return file.getvalue()


def csv_with_metadata(metadata: Mapping[str, Cell], header: Cells, rows: Iterable[Cells]) -> str:
    """Return a table as CSV text in which every row begins with the metadata.

    The header is the first line, as every program expects; a byte order mark marks the text as UTF-8 for
    spreadsheets.
    """
    return "\ufeff" + csv_text((*metadata, *header), ((*metadata.values(), *row) for row in rows))


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
    generated: str | None = None,
    sampling: str | None = None,
    shown_share: Floats | None = None,
    hidden: str = "",
) -> str:
    """Return the table of one head as CSV text: a header, then one row per query (`csv_with_metadata`).

    Tokens are labelled with their position, "12:it", to distinguish equal tokens. Numbers have 9 significant
    digits, enough to restore every float32 exactly. Masked cells (−inf) are empty.

    Args:
        values: [query, key], as displayed.
        queries, keys: Rows and columns.
        text, model: The input text and the name of the model.
        layer, head: from 0; in the file, from 1.
        stage: Stage of the values: "weights", "scaled", …
        explanation: What is hidden, merged or rescaled (`DisplayTokens.explanation`).
        compared_with: The sentence with which `text` is compared, if the values are differences.
        second: The second sentence of a pair with `text`.
        target: The target text of an encoder–decoder.
        attention: "encoder", "decoder" or "cross", if the model has several kinds.
        generated: The part of the text that the model generated.
        sampling: Sampling settings of the generated text: temperature, top k, top p, seed.
        shown_share: [query], fraction of each row's weight on displayed tokens, if rows are rescaled. The
            last column then has the hidden fraction; for a difference, the larger one of the two sentences.
        hidden: Names of the hidden tokens.
    """
    texts = (
        ("text", text),
        ("generated text", generated),
        ("second sentence", second),
        ("target text", target),
        ("compared with text", compared_with),
    )
    metadata: dict[str, Cell] = {
        **{name: visible_text(typed) for name, typed in texts if typed is not None},
        **({"sampling": sampling} if sampling else {}),
        "model": visible_text(model),
        **({"attention": attention} if attention else {}),
        "layer": layer + 1,
        "head": head + 1,
        "stage": stage,
        "tokens": explanation,
    }
    hidden_share = [] if shown_share is None else [1 - shown_share]
    hidden_name = [f"hidden: {visible_text(hidden)}"] if hidden_share else []
    header = ["query", *map(numbered_label, keys), *hidden_name]
    rows = (
        [numbered_label(group), *(float(f"{x:.9g}") if np.isfinite(x) else None for x in row)]
        for group, row in zip(queries, np.column_stack([values, *hidden_share]), strict=True)
    )
    return csv_with_metadata(metadata, header, rows)


def numbered_label(group: DisplayToken) -> str:
    """Return the label of a row or column in a table, position and token: "12:it"."""
    return f"{group.number}:{visible_text(group.label)}"
