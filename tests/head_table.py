"""Read the CSV table of a head's weights."""

import csv
import io


def read_head_table(table: str) -> tuple[dict[str, str], list[list[str]]]:
    """Return the values of the columns before "query", equal in all rows; and the other columns."""
    header, *rows = csv.reader(io.StringIO(table.removeprefix("\ufeff")))
    at = header.index("query")
    assert {len(row) for row in rows} == {len(header)}
    [facts] = {tuple(row[:at]) for row in rows}
    return dict(zip(header, facts, strict=False)), [line[at:] for line in (header, *rows)]
