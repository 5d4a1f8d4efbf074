"""A trace's weights as pandas tables, to sort, group and join.

In the tables, layers, heads and tokens are numbered from 1, as on screen; a label such as "2:dog" begins with
the token's position. Function arguments are indices from 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from attnviz.analysis.display_tokens import queries_and_keys
from attnviz.analysis.table import numbered_label
from attnviz.errors import InvalidTrace
from attnviz.importing import need_extra
from attnviz.trace import Block, Kind, Trace, checked_head, checked_trace

if TYPE_CHECKING:
    import pandas as pd

MAX_LINKS = 10**8
"""Maximum number of rows of a table; a table of this size takes up to 1.7 GB."""


def weights_table(trace: Trace, kind: Kind, layer: int, head: int) -> pd.DataFrame:
    """Return one head's weights: a row for each query, a column for each key.

    Args:
        kind: "encoder", "decoder" or "cross".
        layer, head: Indices from 0.

    Raises:
        InvalidTrace: the trace has no such kind, layer or head.
        AttnvizError: pandas is not installed.
        TypeError: `trace` is not a trace, or a number is not an integer.
    """
    need_extra("notebook")
    import pandas as pd

    block = checked_head(checked_trace(trace), kind, layer, head)
    queries, keys = _labels_of(trace, block)
    return pd.DataFrame(
        block.weights[head], index=pd.Index(queries, name="query"), columns=pd.Index(keys, name="key")
    )


def links_table(trace: Trace, kind: Kind | None = None) -> pd.DataFrame:
    """Return every weight of every head, one per row, in the order of computation.

    With `links = links_table(trace)`, `links.nlargest(10, "weight")` are the ten largest weights, and
    `links.query("layer == 4 and head == 2")` is head 4-2.

    Args:
        kind: "encoder", "decoder" or "cross"; None for all.

    Returns:
        A table with the columns kind, layer, head, query, key and weight.

    Raises:
        InvalidTrace: the trace has no such kind of attention, or more than `MAX_LINKS` weights.
        AttnvizError: pandas is not installed.
        TypeError: `trace` is not a trace.
    """
    need_extra("notebook")
    import pandas as pd

    checked_trace(trace)
    blocks = trace.of_kind(kind) if kind else trace.blocks
    sizes = [math.prod(block.shape) for block in blocks]
    if sum(sizes) > MAX_LINKS:
        raise InvalidTrace(
            f"All heads together have {sum(sizes):,} weights; a table can have at most {MAX_LINKS:,} rows. "
            "Choose one kind, or use weights_table for one head."
        )
    first_of_kind = {block.kind: block for block in blocks}.values()
    labels = {label for block in first_of_kind for side in _labels_of(trace, block) for label in side}
    label_type = pd.CategoricalDtype(sorted(labels, key=lambda label: int(label.partition(":")[0])))
    kind_type = pd.CategoricalDtype(list(dict.fromkeys(block.kind for block in blocks)))
    return pd.concat([_links(trace, block, kind_type, label_type) for block in blocks], ignore_index=True)


def _links(
    trace: Trace, block: Block, kind_type: pd.CategoricalDtype, label_type: pd.CategoricalDtype
) -> pd.DataFrame:
    """Return the `links_table` of one block."""
    import pandas as pd

    weights = block.weights
    head, query, key = np.indices(weights.shape, dtype=np.int32).reshape(3, -1)
    queries, keys = map(label_type.categories.get_indexer, _labels_of(trace, block))
    kind = np.full(weights.size, kind_type.categories.get_loc(block.kind))
    return pd.DataFrame(
        {
            "kind": pd.Categorical.from_codes(kind, dtype=kind_type),
            "layer": np.full(weights.size, block.layer + 1, np.int32),
            "head": head + 1,
            "query": pd.Categorical.from_codes(queries[query], dtype=label_type),
            "key": pd.Categorical.from_codes(keys[key], dtype=label_type),
            "weight": weights.ravel(),
        }
    )


def _labels_of(trace: Trace, block: Block) -> tuple[list[str], list[str]]:
    """Return the numbered labels of a block's queries and keys, as in the app's CSV files."""
    shown = queries_and_keys(trace, block.kind)
    queries, keys = ([numbered_label(group) for group in side.groups] for side in (shown[0], shown[-1]))
    return queries, keys
