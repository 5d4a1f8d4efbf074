"""The table of choices: one name each, and one file has the state."""

import re
from collections import Counter
from pathlib import Path

from attnviz.app.state.choices import TABLE

ROOT = Path(__file__).parents[2]
PAGES = {path.stem for path in (ROOT / "pages").glob("*.py")}
SOURCES = [*(ROOT / "attnviz" / "app").rglob("*.py"), *(ROOT / "pages").glob("*.py"), ROOT / "app.py"]
STATE = ROOT / "attnviz" / "app" / "state"


def test_every_choice_has_a_name_of_its_own_and_pages_that_there_are() -> None:
    assert [name for name, count in Counter(choice.name for choice in TABLE).items() if count > 1] == []
    assert {page for choice in TABLE for page in choice.pages} <= PAGES


def test_only_one_file_touches_the_session_state() -> None:
    # One part of Streamlit has a name that ends so, which is another thing.
    touching = [path for path in SOURCES if re.search(r"(?<!safe_)session_state", path.read_text("utf-8"))]
    assert touching == [STATE / "memory.py"]
