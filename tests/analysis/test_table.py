import csv
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.analysis.table import head_table
from attnviz.trace import Floats, Token
from tests.head_table import read_head_table as read

in_head_4_2 = partial(head_table, model="minilm", layer=3, head=1, stage="weights", explanation="every token")
any_float32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


def shown(*labels: str) -> DisplayTokens:
    tokens = tuple(Token(label, n, n, n + 1, n, False) for n, label in enumerate(labels))
    return DisplayTokens(tokens, "x" * len(labels))


def test_table_describes_itself() -> None:
    groups = shown("[CLS]", "=1+1").groups
    values = np.array([[0.25, 0.75], [1, -np.inf]], dtype=np.float32)
    table = in_head_4_2(
        values, groups, groups, text="the text", compared_with="the first text", target="le texte"
    )  # fmt: skip
    facts, rows = read(table)
    assert facts == {
        "text": "the text",
        "target text": "le texte",
        "compared with text": "the first text",
        "model": "minilm",
        "layer": "4",
        "head": "2",
        "stage": "weights",
        "tokens": "every token",
    }
    assert rows == [["query", "1:[CLS]", "2:=1+1"], ["1:[CLS]", "0.25", "0.75"], ["2:=1+1", "1.0", ""]]


def test_hidden_weight_is_the_last_column() -> None:
    groups = shown("the", "dog").groups
    values, left = np.array([[0.25, 0.75], [1, 0]], np.float32), np.array([0.5, 0.015625], np.float32)
    _, rows = read(in_head_4_2(values, groups, groups, text="the dog", shown_share=left, hidden="[CLS]"))
    assert rows == [
        ["query", "1:the", "2:dog", "hidden: [CLS]"],
        ["1:the", "0.25", "0.75", "0.5"],
        ["2:dog", "1.0", "0.0", "0.984375"],
    ]


@pytest.mark.parametrize(
    "text",
    ["a, b", 'say "hi", twice', "two\nlines\r\nand\u2028more", "=1+1", "# x", "\0", "<script>", "a;b\tc"],
)
def test_any_text_is_a_cell_of_one_line(text: str) -> None:
    groups = shown("#", 'a"b', "c,d", "e\nf").groups
    table = in_head_4_2(np.eye(4, dtype=np.float32), groups, groups, text=text)
    assert len(table.splitlines()) == table.count("\n") == 1 + 4
    _, rows = read(table)
    assert rows[0] == ["query", "1:#", '2:a"b', "3:c,d", "4:e␊f"]
    assert [len(row) for row in rows] == [5] * 5


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@given(text=st.text("a=+-@＝;,\t\n\"' "))
@example(text="a;=1+1")
@example(text='a; "=1+1"')
def test_no_cell_is_a_formula_with_any_separator(text: str, separator: str) -> None:
    groups = shown("a", text.strip() or "b").groups
    table = in_head_4_2(np.eye(2, dtype=np.float32), groups, groups, text=text, model=text)
    cells = [cell for row in csv.reader(table.splitlines(), delimiter=separator) for cell in row]
    assert [cell for cell in cells if cell.lstrip(' "').startswith(tuple("=+-@＝"))] == []


@given(values=arrays(np.float32, (3, 5), elements=any_float32))
@example(values=np.full((3, 5), 0.124283254, dtype=np.float32))  # 8 digits round to a neighbouring float32
def test_every_float32_is_written_exactly(values: Floats) -> None:
    queries, keys = shown("a", "b", "c").groups, shown("d", "e", "f", "g", "h").groups
    _, rows = read(in_head_4_2(values, queries, keys, text=""))
    assert [row[0] for row in rows[1:]] == ["1:a", "2:b", "3:c"]
    parsed = np.array([[float(cell) for cell in row[1:]] for row in rows[1:]]).astype(np.float32)
    assert np.array_equal(parsed, values)
