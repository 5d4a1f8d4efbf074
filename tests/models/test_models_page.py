import pytest

from tests.capture.tiny import FolderOf
from tests.models.models_page import FILE, page


@pytest.mark.everything
def test_the_page_about_models_says_what_they_do(folder_of: FolderOf) -> None:
    assert FILE.read_text("utf-8") == page(folder_of), "run: python -m tests.models.models_page"
