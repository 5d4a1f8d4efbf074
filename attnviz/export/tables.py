"""A trace's tokens and weights as pandas tables, to sort, group and join.

What a table shows counts from 1, as everything that a person reads: layers, heads, words, sentences, and the
numbers before the tokens ("2:dog"), which keep equal tokens apart. The arguments of these functions count
from 0, as everything in Python.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from attnviz.analysis.display_tokens import DisplayTokens, queries_and_keys
from attnviz.analysis.table import numbered
from attnviz.errors import InvalidTrace
from attnviz.importing import need_extra
from attnviz.trace import Block, Kind, Trace, checked_head, checked_trace

if TYPE_CHECKING:
    import pandas as pd

Reader = Literal["encoder", "decoder"]

MAX_LINKS = 10**8
"""The most rows of one table; they take up to 1.7 GB."""


def tokens_table(trace: Trace) -> pd.DataFrame:
    """Every token, one in a row; of an encoder–decoder the encoder's first.

    Returns:
        The rows are labelled as in `weights_table`. The columns:
        read_by: "encoder" or "decoder".
        spelling: as the tokenizer writes it.
        id: its row in the vocabulary.
        typed: its characters; none for a token that the tokenizer added.
        start, end: their span in their text, `text[start:end]`.
        word: the number of its word; missing for a token that the tokenizer added.
        sentence: the first or, of a pair, the second.
        special: True if the tokenizer added it.
        written: True if a decoder wrote it on.

    Raises:
        AttnvizError: pandas is not installed.
        TypeError: it is no trace.
    """
    need_extra("notebook")
    import pandas as pd

    checked_trace(trace)
    rows = [
        {
            "token": label,
            "read_by": reader,
            "spelling": token.text,
            "id": token.id,
            "typed": _text(trace, reader, token.sentence)[token.start : token.end],
            "start": token.start,
            "end": token.end,
            "word": None if token.word is None else token.word + 1,
            "sentence": token.sentence + 1,
            "special": token.special,
            "written": left <= shown.written,
        }
        for reader, shown in _all_read(trace).items()
        for left, label, token in zip(range(len(shown), 0, -1), _labels(shown), shown.tokens, strict=True)
    ]
    return pd.DataFrame(rows).astype({"word": "Int64"}).set_index("token")


def weights_table(trace: Trace, kind: Kind, layer: int, head: int) -> pd.DataFrame:
    """One head's weights: a row for each query, a column for each key.

    Args:
        kind: "encoder", "decoder" or "cross".
        layer, head: from 0.

    Raises:
        InvalidTrace: the model has no such attention, layer or head.
        AttnvizError: pandas is not installed.
        TypeError: it is no trace, or a number is no whole one.
    """
    need_extra("notebook")
    import pandas as pd

    block = checked_head(checked_trace(trace), kind, layer, head)
    queries, keys = _labels_of(trace, block)
    return pd.DataFrame(
        block.weights[head], index=pd.Index(queries, name="query"), columns=pd.Index(keys, name="key")
    )


def links_table(trace: Trace, kind: Kind | None = None) -> pd.DataFrame:
    """Every weight of every head, one in a row, in the order that the model computed them.

    With `links = links_table(trace)`, `links.nlargest(10, "weight")` are the ten strongest links, and
    `links.query("layer == 4 and head == 2")` is head 4-2.

    Args:
        kind: "encoder", "decoder" or "cross"; None: all that there are.

    Returns:
        The columns are kind, layer, head, query, key and weight.

    Raises:
        InvalidTrace: the model has no such attention, or more than `MAX_LINKS` weights.
        AttnvizError: pandas is not installed.
        TypeError: it is no trace.
    """
    need_extra("notebook")
    import pandas as pd

    checked_trace(trace)
    blocks = trace.of_kind(kind) if kind else trace.blocks
    sizes = [math.prod(block.shape) for block in blocks]
    if sum(sizes) > MAX_LINKS:
        raise InvalidTrace(
            f"All heads together have {sum(sizes):,} weights; a table takes {MAX_LINKS:,}. "
            "Choose one kind, or for one head with weights_table."
        )
    labels = {label for shown in _all_read(trace).values() for label in _labels(shown)}
    named = pd.CategoricalDtype(sorted(labels, key=lambda label: int(label.partition(":")[0])))
    kinds = pd.CategoricalDtype(list(dict.fromkeys(block.kind for block in blocks)))
    return pd.concat([_links(trace, block, kinds, named) for block in blocks], ignore_index=True)


def _links(
    trace: Trace, block: Block, kinds: pd.CategoricalDtype, named: pd.CategoricalDtype
) -> pd.DataFrame:
    """`links_table` of one block."""
    import pandas as pd

    weights = block.weights
    head, query, key = np.indices(weights.shape, dtype=np.int32).reshape(3, -1)
    queries, keys = map(named.categories.get_indexer, _labels_of(trace, block))
    kind = np.full(weights.size, kinds.categories.get_loc(block.kind))
    return pd.DataFrame(
        {
            "kind": pd.Categorical.from_codes(kind, dtype=kinds),
            "layer": np.full(weights.size, block.layer + 1, np.int32),
            "head": head + 1,
            "query": pd.Categorical.from_codes(queries[query], dtype=named),
            "key": pd.Categorical.from_codes(keys[key], dtype=named),
            "weight": weights.ravel(),
        }
    )


def _all_read(trace: Trace) -> dict[Reader, DisplayTokens]:
    """What is read, the encoder's first."""
    read: dict[Reader, DisplayTokens] = {}
    for kind in {block.kind for block in trace.blocks}:
        shown = queries_and_keys(trace, kind)
        read["encoder" if kind == "encoder" else "decoder"] = shown[0]
        if kind == "cross":
            read["encoder"] = shown[-1]
    return {reader: read[reader] for reader in get_args(Reader) if reader in read}


def _labels_of(trace: Trace, block: Block) -> tuple[list[str], list[str]]:
    """What a block's queries and keys are called."""
    shown = queries_and_keys(trace, block.kind)
    return _labels(shown[0]), _labels(shown[-1])


def _labels(shown: DisplayTokens) -> list[str]:
    """Each token with its number before it, as in the CSV files of the app."""
    return [numbered(group) for group in shown.groups]


def _text(trace: Trace, reader: Reader, sentence: int) -> str:
    """What the encoder or the decoder reads; of a pair, one of the sentences."""
    if sentence and trace.second is not None:
        return trace.second
    return trace.target if reader == "decoder" and trace.target is not None else trace.text
