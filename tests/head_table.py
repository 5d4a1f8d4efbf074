"""Reads the file of a head's numbers."""

import csv
import io


def read_head_table(table: str) -> tuple[dict[str, str], list[list[str]]]:
    """What each row says of the head, and the table behind that, with its header."""
    header, *rows = csv.reader(io.StringIO(table.removeprefix("\ufeff")))
    at = header.index("query")
    assert {len(row) for row in rows} == {len(header)}
    [facts] = {tuple(row[:at]) for row in rows}
    return dict(zip(header, facts, strict=False)), [line[at:] for line in (header, *rows)]
