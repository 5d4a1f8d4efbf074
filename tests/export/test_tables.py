"""Weights as pandas tables: every number where its labels say."""

import numpy as np
import pytest

import attnviz
from attnviz.errors import InvalidTrace
from attnviz.export import tables
from attnviz.trace import Kind, Trace
from tests.export.report.made import HEADS, LAYERS, translator

ENCODER = ["1:[CLS]", "2:the", "3:dog", "4:saw", "5:the", "6:cat", "7:[SEP]"]
DECODER = ["1:[START]", "2:le", "3:chien", "4:vit"]
WEIGHTS_OF = {"encoder": HEADS * 7 * 7, "decoder": HEADS * 4 * 4, "cross": HEADS * 4 * 7}  # in each layer


@pytest.fixture(scope="module")
def both() -> Trace:
    """An encoder–decoder's; "the" stands in its text twice."""
    return translator()


@pytest.mark.parametrize(
    ("kind", "layer", "rows", "columns"),
    [("encoder", 1, ENCODER, ENCODER), ("decoder", 0, DECODER, DECODER), ("cross", 0, DECODER, ENCODER)],
)
def test_a_heads_weights_stand_under_their_tokens(
    both: Trace, kind: Kind, layer: int, rows: list[str], columns: list[str]
) -> None:
    table = attnviz.weights_table(both, kind, layer, head=1)
    assert (table.index.name, table.columns.name) == ("query", "key")
    assert (list(table.index), list(table.columns)) == (rows, columns)
    assert np.array_equal(table.to_numpy(), both.block(kind, layer).weights[1])
    assert table.loc[rows[2], columns[0]] == both.block(kind, layer).weights[1, 2, 0]


def test_links_are_every_weight_of_every_head(both: Trace) -> None:
    links = attnviz.links_table(both)
    assert list(links.columns) == ["kind", "layer", "head", "query", "key", "weight"]
    assert len(links) == LAYERS * sum(WEIGHTS_OF.values())
    assert links["weight"].dtype == np.float32
    for one in both.blocks:
        for head in range(HEADS):
            rows = links.query(f"kind == '{one.kind}' and layer == {one.layer + 1} and head == {head + 1}")
            again = rows.pivot_table(index="query", columns="key", values="weight", observed=True)
            expected = attnviz.weights_table(both, one.kind, one.layer, head)
            assert list(again.index) == list(expected.index)
            assert list(again.columns) == list(expected.columns)
            assert np.array_equal(again.to_numpy(np.float32), expected.to_numpy())


def test_links_take_little_memory(both: Trace) -> None:
    links = attnviz.links_table(both, "encoder")
    assert links.memory_usage(index=False).sum() <= 15 * len(links) + 2000


def test_a_table_that_would_fill_all_memory_is_refused(both: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_LINKS", 200)
    assert len(attnviz.links_table(both, "cross")) <= 200
    with pytest.raises(InvalidTrace, match="558 weights; the maximum of a table is 200"):
        attnviz.links_table(both)
