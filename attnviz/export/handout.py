"""A handout as one file: questions, tables with blanks, and their key. It is printed from any browser."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_BLANKS, _MORE, _LEAST = 4, 2, 3  # numbers to fill in: altogether, beside those asked for, and at the least
_DASH = "–"
_MARKS = re.compile(
    r"(?P<fence>`+) ?(?P<code>.+?) ?(?P=fence)(?!`)|\\(?P<sign>.)|\*\*(?P<b>.+?)\*\*|\*(?P<em>.+?)\*"
    r"|:\w+\[(?P<span>[^\]]*)\]|\$(?P<i>[^$]+)\$",
    re.DOTALL,
)

_STYLE = """
@page { margin: 14mm; }
body { max-width: 180mm; margin: 2rem auto; padding: 0 1rem; color: #1c1c28; background: #fff;
  font: 11pt/1.4 system-ui, sans-serif; print-color-adjust: exact; overflow-wrap: anywhere; }
h1, h2 { line-height: 1.2; break-after: avoid; }
h1 { margin: 0; font-size: 18pt; }
h2 { margin: 0 0 .4rem; font-size: 13pt; }
section { margin-block: 1rem 1.6rem; break-inside: avoid; }
.pages { width: 100%; border: 0; }
.pages > * > tr > td { padding: 0; border: 0; text-align: left; }
.name { display: flex; gap: 1rem; padding-bottom: .6rem; }
.name span { flex: 1; border-bottom: 1px solid; }
.options { display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; margin: .3rem 0 .6rem; padding: 0; }
.options li { list-style: none; }
.options li::before { content: "☐ "; }
table { border-collapse: collapse; overflow-wrap: break-word; font-variant-numeric: tabular-nums; }
caption { padding-bottom: .3rem; font-weight: 600; text-align: left; }
th, td { padding: .1rem .9rem .1rem 0; border-bottom: 1px solid #ccc; text-align: right; }
th:first-child { min-width: 32mm; text-align: left; font-weight: 400; }
thead th { vertical-align: bottom; font-size: 9.5pt; }
.bar { width: 30mm; text-align: left; }
.bar span { display: block; height: .7rem; background: #6d28d9; }
.blank { border: 1px solid #555; color: #555; text-align: left; padding-left: .3rem; min-width: 18mm; }
.small { font-size: 9.5pt; color: #5b5d6b; }
.line { height: 1.9rem; border-bottom: 1px solid #777; }
code { font: inherit; font-weight: 600; }
code::before { content: "“"; }
code::after { content: "”"; }
#key, .next { break-before: page; }
@media screen { section { overflow-x: auto; } }
@media print { body { max-width: none; margin: 0; padding: 0; } }
"""


_NAME = '<div class="name">Name <span></span> Date <span></span> Version {}</div>'


@dataclass(frozen=True)
class Column:
    """One number, or one word, for each row of a sheet.

    Attributes:
        title: what they are.
        values: [row], as they were computed; of words the places, by which they are put in order.
        written: [row], as they are printed.
        bars: whether each also has a bar; the values are then shares, 0 to 1.
    """

    title: str
    values: Sequence[float]
    written: Sequence[str]
    bars: bool = False


@dataclass(frozen=True)
class Sheet:
    """One lesson.

    Attributes:
        title: what it is called, with its number.
        question, because: what is asked, and why the answer is right, in Markdown; "" for neither.
        options, right: what can be ticked, and which of it is right.
        picture: what the table shows.
        rows: what its rows are called.
        columns: its numbers, some of which are left out.
        about: the sentence, the model and the head; what is left out of the rows.
        asked: (row, column) of what the question asks for: always to be filled in.
        hidden: (row, column) of what would answer it too: a dash on the sheet.
    """

    title: str
    question: str
    options: Sequence[str]
    right: str
    because: str
    picture: str
    rows: Sequence[str]
    columns: Sequence[Column]
    about: str
    asked: Sequence[tuple[int, int]] = ()
    hidden: Sequence[tuple[int, int]] = ()


def blanks(sheet: Sheet, seed: int) -> list[tuple[int, int]]:
    """Which numbers are to be filled in, as (row, column) in reading order.

    What the question asks for is, and some more: at most one of a row, and none twice if there are others.
    """
    columns, rows = len(sheet.columns), len(sheet.rows)
    places = [
        (int(row), (nth + seed) % columns)
        for nth, row in enumerate(np.random.default_rng(seed).permutation(rows))
    ]
    chosen = {(row, column): sheet.columns[column].written[row] for row, column in sheet.asked}
    full = {row for row, _ in sheet.asked}
    most = min(max(_BLANKS, len(chosen) + _MORE), rows - 1)
    for others, enough in ((True, most), (False, min(_LEAST, rows))):
        for row, column in places:
            text = sheet.columns[column].written[row]
            free = row not in full and (row, column) not in sheet.hidden
            if len(chosen) < enough and free and not (others and text in chosen.values()):
                chosen[row, column] = text
                full.add(row)
    return sorted(chosen)


def handout(sheets: Sequence[Sheet], seed: int) -> str:
    """The page. It asks nobody for anything and runs no script.

    The questions have pages of their own, before the tables, in which one could look the answers up; so has
    the key, after them.

    Args:
        seed: the version: which numbers are left out.
    """
    left_out = [blanks(sheet, seed + at) for at, sheet in enumerate(sheets)]
    questions = [_question(sheet) for sheet in sheets if sheet.question]
    tables = [_table(sheet, out) for sheet, out in zip(sheets, left_out, strict=True)]
    key = [_key(sheet, out) for sheet, out in zip(sheets, left_out, strict=True)]
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "<title>Attention: handout</title>",
            f"<style>{_STYLE}</style>",
            # A browser prints the head of a table on each of its pages.
            f'<table class="pages" role="presentation"><thead><tr><td>{_NAME.format(seed)}</td></tr></thead>',
            "<tbody>",
            *(["<tr><td><h1>Attention: guess first</h1>", *questions, "</td></tr>"] if questions else []),
            f"<tr{' class=next' if questions else ''}><td><h1>Attention: the numbers</h1>",
            *tables,
            "</td></tr></tbody></table>",
            f'<div id="key"><h1>Key: for the teacher</h1><p class="small">Version {seed}</p>',
            *key,
            "</div></html>",
            "",
        ]
    )


def _question(sheet: Sheet) -> str:
    options = "".join(f"<li>{html.escape(option)}</li>" for option in sheet.options)
    return (
        f"<section><h2>{html.escape(sheet.title)}</h2><p>{rich(sheet.question)}</p>"
        f'<ul class="options">{options}</ul>'
        '<div>Why?<div class="line"></div><div class="line"></div></div></section>'
    )


def _table(sheet: Sheet, out: Sequence[tuple[int, int]]) -> str:
    left_out: dict[tuple[int, int], str] = dict.fromkeys(sheet.hidden, _DASH)
    left_out |= {cell: f"({nth})" for nth, cell in enumerate(out, start=1)}
    head = "".join(_heads(column) for column in sheet.columns)
    rows = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th>'
        + "".join(_cells(column, row, left_out.get((row, at))) for at, column in enumerate(sheet.columns))
        + "</tr>"
        for row, name in enumerate(sheet.rows)
    )
    bank = sorted(out, key=lambda cell: sheet.columns[cell[1]].values[cell[0]])
    words = " · ".join(html.escape(sheet.columns[column].written[row]) for row, column in bank)
    given = set(sheet.hidden).difference(out)
    legend = f'<p class="small">{_DASH} is no number: it would give the answer away.</p>' if given else ""
    return (
        f"<section><h2>{html.escape(sheet.title)}</h2>"
        f"<table><caption>{html.escape(sheet.picture)}</caption><thead><tr><td></td>{head}</tr></thead>"
        f'<tbody>{rows}</tbody></table><p class="small">{html.escape(sheet.about)}</p>{legend}'
        f"<p>Put these where they belong: <b>{words}</b></p></section>"
    )


def _key(sheet: Sheet, out: Sequence[tuple[int, int]]) -> str:
    numbers = "; ".join(
        f"({nth}) {html.escape(sheet.rows[row])}, {html.escape(sheet.columns[column].title)}: "
        f"<b>{html.escape(sheet.columns[column].written[row])}</b>"
        for nth, (row, column) in enumerate(out, start=1)
    )
    answer = f"<p><b>{html.escape(sheet.right)}</b>. {rich(sheet.because)}</p>" if sheet.right else ""
    return f"<section><h2>{html.escape(sheet.title)}</h2>{answer}<p>{numbers}</p></section>"


def _heads(column: Column) -> str:
    return f'<th scope="col">{html.escape(column.title)}</th>{"<td></td>" if column.bars else ""}'


def _cells(column: Column, row: int, blank: str | None) -> str:
    bar = f'<td class="bar"><span style="width: {100 * column.values[row]:.1f}%"></span></td>'
    if blank is not None:  # a bar would tell the number
        look = "" if blank == _DASH else ' class="blank"'
        return f"<td{look}>{blank}</td>{'<td></td>' if column.bars else ''}"
    return f"<td>{html.escape(column.written[row])}</td>{bar if column.bars else ''}"


def rich(markdown: str) -> str:
    """Our pages' Markdown as HTML: code, bold, slanted, coloured and escaped signs; all else is text."""

    def marked(found: re.Match[str]) -> str:
        tag = next(name for name in ("code", "sign", "b", "em", "span", "i") if found[name] is not None)
        inner = html.escape(found[tag]) if tag in ("code", "sign", "i") else rich(found[tag])
        return inner if tag == "sign" else f"<{tag}>{inner}</{tag}>"

    parts, at = [], 0
    for found in _MARKS.finditer(markdown):
        parts += [html.escape(markdown[at : found.start()]), marked(found)]
        at = found.end()
    return "".join([*parts, html.escape(markdown[at:])])
