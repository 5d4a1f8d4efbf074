"""The handout: which numbers are left out, that the key has them, and that no text is markup."""

import html
import re
from dataclasses import replace

import pytest

from attnviz.export.handout import Column, Sheet, blanks, handout, rich

WEIGHTS = [0.5, 0.25, 0.125, 0.0625, 0.0625]
SHEET = Sheet(
    "3 · Query",
    "Which `<b>`?",
    ("dog", "<i>it</i>"),
    "dog",
    "**It** is 50 %.",
    "What it looks at",
    ("[CLS]", "dog", "<i>it</i>", "was", "."),
    (
        Column("score", [4, 3, 2, 1, 0], ["4.00", "3.00", "2.00", "1.00", "0.00"]),
        Column("weight", WEIGHTS, [f"{100 * weight} %" for weight in WEIGHTS], bars=True),
    ),
    "“dog” · head 4-2",
    asked=[(1, 1)],
    hidden=[(1, 0)],
)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_left_out_of_the_sheet_stands_in_its_key(seed: int) -> None:
    out = blanks(SHEET, seed)
    texts = [SHEET.columns[column].written[row] for row, column in out]
    assert len({row for row, _ in out}) == len(set(texts)) == len(out) == 4
    assert (1, 1) in out, "what is asked for would stand on the sheet"
    sheet, key = handout([SHEET], seed).split('<div id="key">')
    rows = re.findall(r"<tr><th scope.*?</tr>", sheet)
    assert ">3.00<" not in sheet, "what would answer the question, too"
    for number, (row, column) in enumerate(out, start=1):
        cells = re.findall(r"<td(?! class=\"bar).*?>(.*?)</td>", rows[row])
        assert cells[column] == f"({number})"
        title, text = SHEET.columns[column].title, SHEET.columns[column].written[row]
        assert f"({number}) {html.escape(SHEET.rows[row])}, {title}: <b>{text}</b>" in key
    [bank] = re.findall(r"belong: <b>(.*?)</b>", sheet)
    assert sorted(bank.split(" · ")) == sorted(texts)
    assert "<b>dog</b>. <b>It</b> is 50 %." in key


def test_a_number_is_left_out_twice_only_where_there_are_no_others() -> None:
    row = Column("weight", [0, 0, 1, 0], ["< 0.1 %", "< 0.1 %", "> 99.9 %", "< 0.1 %"])
    few = replace(SHEET, rows=("a", "b", "c", "d"), columns=[row], asked=[], hidden=[])
    assert [len(blanks(few, seed)) for seed in range(9)] == [3] * 9
    assert len(blanks(replace(few, rows=("a", "b", "c")), 1)) == 3
    assert blanks(replace(few, rows=("a",)), 1) == [(0, 0)]


def test_a_blank_has_no_bar_and_other_seeds_leave_out_other_numbers() -> None:
    assert handout([SHEET], 1).count('class="bar"') == 5 - sum(column for _, column in blanks(SHEET, 1))
    assert len({tuple(blanks(SHEET, seed)) for seed in range(20)}) > 5


def test_the_questions_come_before_all_numbers_and_have_a_part_only_where_there_are_some() -> None:
    asked, numbers = handout([SHEET, SHEET], 7).split("Attention: the numbers")
    assert asked.count("Which <code>") == 2
    assert "4.00" not in asked
    assert "Which <code>" not in numbers.split('<div id="key">')[0]
    assert handout([SHEET], 7).count("Version 7") == 2
    assert "guess first" not in handout([replace(SHEET, question="", options=())], 7)


def test_no_text_is_markup_and_nothing_runs() -> None:
    page = handout([replace(SHEET, title="<script>alert(1)</script>")], 1)
    assert "<script" not in page
    assert "<i>it" not in page
    assert "Which <code>&lt;b&gt;</code>?" in page
    assert "default-src 'none'" in page


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("**a** *b* `c*`", "<b>a</b> <em>b</em> <code>c*</code>"),
        (":blue[$q$] · :red[**k**]", "<span><i>q</i></span> · <span><b>k</b></span>"),
        (r"\*a\* <img>", "*a* &lt;img&gt;"),
        ("`` `<u>` ``", "<code>`&lt;u&gt;`</code>"),
    ],
)
def test_our_markdown_becomes_html(markdown: str, expected: str) -> None:
    assert rich(markdown) == expected
