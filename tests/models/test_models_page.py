"""The page about models says what they do."""

import pytest

from attnviz.capture.inspection import TOLERANCE
from tests.capture.tiny import FAMILIES, REFUSED, WEIGHTS_ALONE, FolderOf
from tests.models.models_page import FILE, PAGE, alone, page, refused, told

AGAIN = "run: python -m tests.models.models_page"


def test_the_page_about_models_names_every_family_and_says_why_others_are_refused(
    folder_of: FolderOf,
) -> None:
    """All but what is measured with each family; of that, one."""
    text = FILE.read_text("utf-8")
    measured = text.partition("|---|---|---|---|---|---|---|\n")[2].partition("\n\n")[0]
    reasons = "\n".join(refused(folder_of(family)) for family in REFUSED)
    weights = "\n".join(alone(folder_of(family)) for family in WEIGHTS_ALONE)
    assert text == PAGE.format(tolerance=TOLERANCE, shown=measured, alone=weights, refused=reasons), AGAIN
    rows = measured.split("\n")
    assert [row.split(" | ")[1] for row in rows] == [f"`{family}`" for family in FAMILIES], AGAIN
    assert told(folder_of("bert")) in rows, AGAIN


@pytest.mark.everything
def test_the_page_about_models_says_what_they_do(folder_of: FolderOf) -> None:
    assert FILE.read_text("utf-8") == page(folder_of), AGAIN
