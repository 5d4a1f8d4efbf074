"""The table of choices: unique names, existing pages, and access to the session state from only one file."""

import re
from collections import Counter
from pathlib import Path

from attnviz.app.state.choices import TABLE

ROOT = Path(__file__).parents[2]
PAGES = {path.stem for path in (ROOT / "pages").glob("*.py")}
SOURCES = [*(ROOT / "attnviz" / "app").rglob("*.py"), *(ROOT / "pages").glob("*.py"), ROOT / "app.py"]
STATE = ROOT / "attnviz" / "app" / "state"


def test_choices_have_unique_names_and_existing_pages() -> None:
    assert [name for name, count in Counter(choice.name for choice in TABLE).items() if count > 1] == []
    assert {page for choice in TABLE for page in choice.pages} <= PAGES


def test_only_one_file_accesses_the_session_state() -> None:
    # safe_session_state is a different object of Streamlit.
    files = [path for path in SOURCES if re.search(r"(?<!safe_)session_state", path.read_text("utf-8"))]
    assert files == [STATE / "memory.py"]
