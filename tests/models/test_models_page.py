"""Check docs/models.md against measurements of the tiny models."""

import pytest

from tests.capture.tiny import FolderOf
from tests.models.models_page import FILE, page, row

REMEDY = "run: python -m tests.models.models_page"


def test_page_has_a_row_for_every_family(folder_of: FolderOf) -> None:
    """Measure only a few families again."""
    text = FILE.read_text("utf-8")
    rows = {line.split("`")[1]: line for line in text.split("\n") if line.startswith("|") and "`" in line}
    assert text == page(lambda family: rows.get(family, "")), REMEDY
    for family in ("bert", "lfm2", "trocr", "openai-gpt", "mamba"):
        assert rows[family] == row(folder_of(family)), REMEDY


@pytest.mark.everything
def test_page_equals_the_measurements(folder_of: FolderOf) -> None:
    assert FILE.read_text("utf-8") == page(lambda family: row(folder_of(family))), REMEDY
