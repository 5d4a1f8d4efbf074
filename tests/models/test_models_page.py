"""The page about models says what they do."""

import pytest

from tests.capture.tiny import FolderOf
from tests.models.models_page import FILE, page, row

AGAIN = "run: python -m tests.models.models_page"


def test_the_page_about_models_has_a_row_for_every_family(folder_of: FolderOf) -> None:
    """Of what is measured with each family, that of a few."""
    text = FILE.read_text("utf-8")
    rows = {line.split("`")[1]: line for line in text.split("\n") if line.startswith("|") and "`" in line}
    assert text == page(lambda family: rows.get(family, "")), AGAIN
    for family in ("bert", "lfm2", "trocr", "openai-gpt", "mamba"):
        assert rows[family] == row(folder_of(family)), AGAIN


@pytest.mark.everything
def test_the_page_about_models_says_what_they_do(folder_of: FolderOf) -> None:
    assert FILE.read_text("utf-8") == page(lambda family: row(folder_of(family))), AGAIN
