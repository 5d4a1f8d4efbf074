"""Tables of weights in pandas: each weight is in the row and column of its tokens."""

import numpy as np
import pytest

import attnviz
from attnviz.errors import InvalidTrace
from attnviz.export import tables
from attnviz.trace import Kind, Trace
from tests.export.report.small_traces import HEADS, LAYERS, translator

ENCODER = ["1:[CLS]", "2:the", "3:dog", "4:saw", "5:the", "6:cat", "7:[SEP]"]
DECODER = ["1:[START]", "2:le", "3:chien", "4:vit"]
WEIGHTS_OF = {
    "encoder": HEADS * 7 * 7,
    "decoder": HEADS * 4 * 4,
    "cross": HEADS * 4 * 7,
}  # the number of weights of each kind in a layer


@pytest.fixture(scope="module")
def trace() -> Trace:
    """A trace of an encoder–decoder; its text contains "the" twice."""
    return translator()


@pytest.mark.parametrize(
    ("kind", "layer", "rows", "columns"),
    [("encoder", 1, ENCODER, ENCODER), ("decoder", 0, DECODER, DECODER), ("cross", 0, DECODER, ENCODER)],
)
def test_the_weights_of_a_head_are_labelled_with_their_tokens(
    trace: Trace, kind: Kind, layer: int, rows: list[str], columns: list[str]
) -> None:
    table = attnviz.weights_table(trace, kind, layer, head=1)
    assert (table.index.name, table.columns.name) == ("query", "key")
    assert (list(table.index), list(table.columns)) == (rows, columns)
    assert np.array_equal(table.to_numpy(), trace.block(kind, layer).weights[1])
    assert table.loc[rows[2], columns[0]] == trace.block(kind, layer).weights[1, 2, 0]


def test_links_contain_every_weight_of_every_head(trace: Trace) -> None:
    links = attnviz.links_table(trace)
    assert list(links.columns) == ["kind", "layer", "head", "query", "key", "weight"]
    assert len(links) == LAYERS * sum(WEIGHTS_OF.values())
    assert links["weight"].dtype == np.float32
    for block in trace.blocks:
        for head in range(HEADS):
            rows = links.query(
                f"kind == '{block.kind}' and layer == {block.layer + 1} and head == {head + 1}"
            )
            pivoted = rows.pivot_table(index="query", columns="key", values="weight", observed=True)
            expected = attnviz.weights_table(trace, block.kind, block.layer, head)
            assert list(pivoted.index) == list(expected.index)
            assert list(pivoted.columns) == list(expected.columns)
            assert np.array_equal(pivoted.to_numpy(np.float32), expected.to_numpy())


def test_links_take_little_memory(trace: Trace) -> None:
    links = attnviz.links_table(trace, "encoder")
    assert links.memory_usage(index=False).sum() <= 15 * len(links) + 2000


def test_a_table_with_too_many_weights_is_refused(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_LINKS", 200)
    assert len(attnviz.links_table(trace, "cross")) <= 200
    with pytest.raises(InvalidTrace, match="558 weights; a table can have at most 200"):
        attnviz.links_table(trace)
