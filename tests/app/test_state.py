"""The table of choices: one name each, old names still open what they did, one file has the state."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from attnviz.app.heads.contents import TOOLS
from attnviz.app.state.choices import TABLE, of_page
from tests.app.shown import visit

ROOT = Path(__file__).parents[2]
PAGES = {path.stem for path in (ROOT / "pages").glob("*.py")}
SOURCES = [*(ROOT / "attnviz" / "app").rglob("*.py"), *(ROOT / "pages").glob("*.py"), ROOT / "app.py"]
STATE = ROOT / "attnviz" / "app" / "state"

# Names in links made earlier: the page, the old name and a value, and the choice that it means now.
FORMER = [
    ("assignment", "english", "It slept.", "own_sentence", "It slept."),
    ("assignment", "prompt", "It slept.", "own_sentence", "It slept."),
    ("assignment", "text", "It slept.", "own_sentence", "It slept."),
    ("assignment", "unfinished", "It slept.", "own_sentence", "It slept."),
    ("behaviour", "pair", "It slept.", "read_with", "It slept."),
    ("explore", "find", "itself", "filter", "itself"),
    ("positions", "pair", "7", "dimension_pair", 7),
    ("pronouns", "first", "8 road", "first_meant", "8 road"),
    ("pronouns", "second", "3 dog", "second_meant", "3 dog"),
    ("query_key_value", "step", "4", "step_of_six", "4"),
    ("scale", "seed", "9", "vectors_seed", 9),
    ("watch_it_learn", "step", "0", "training_step", 0),
    ("weighted_average", "temperature", "0.1", "softmax_temperature", "0.1"),
]


def test_every_choice_has_a_name_of_its_own_and_pages_that_there_are() -> None:
    assert [name for name, count in Counter(choice.name for choice in TABLE).items() if count > 1] == []
    assert {page for choice in TABLE for page in choice.pages} <= PAGES


def test_the_old_names_here_are_those_of_the_table() -> None:
    known = {(former, choice.name) for choice in TABLE for former in choice.former}
    assert {(former, now) for _, former, _, now, _ in FORMER} == known
    for page, former, *_ in FORMER:
        assert former not in of_page(page)


@pytest.mark.parametrize(("page", "former", "asked", "name", "value"), FORMER)
def test_a_link_made_earlier_opens_the_same_view(
    page: str, former: str, asked: str, name: str, value: object
) -> None:
    app = visit(page, {former: asked})
    assert app.session_state[name] == value
    assert former not in app.query_params
    assert not app.warning


def test_a_link_to_a_part_that_has_become_a_page_opens_that() -> None:
    app = visit("pronouns", part="Grammar", layer="3", head="9", text="A cat sat.")
    assert app.title[0].value == next(tool.question for tool in TOOLS if tool.name == "grammar")
    assert [app.session_state[name] for name in ("layer", "head", "text")] == [3, 9, "A cat sat."]
    assert "part" not in app.query_params
    assert not app.warning


def test_a_link_to_a_handout_opens_it_where_it_stands_now() -> None:
    lessons = ["9 · Translate", "5 · Masks"]
    app = visit("learn", handout=lessons, sentence="The xylophone sang.")
    assert app.title[0].value == "Classroom"
    found = app.session_state["handout"], app.session_state["sentence"]
    assert found == (lessons, "The xylophone sang.")


def test_a_wrong_value_under_an_old_name_is_told() -> None:
    app = visit("positions", pair="many")
    assert app.warning[0].value == "`dimension_pair` cannot be `many` here, so it is `5` now."


def test_only_one_file_touches_the_session_state() -> None:
    # One part of Streamlit has a name that ends so, which is another thing.
    touching = [path for path in SOURCES if re.search(r"(?<!safe_)session_state", path.read_text("utf-8"))]
    assert touching == [STATE / "memory.py"]


def bound(path: Path) -> list[str]:
    """Where a file binds a widget to the address by itself."""
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    return [f"{path}:{call.lineno}" for call in calls if any(word.arg == "bind" for word in call.keywords)]


def test_only_the_kinds_of_choices_bind_widgets_to_the_address() -> None:
    assert [found for path in SOURCES if path.parent != STATE for found in bound(path)] == []


def test_no_page_writes_the_name_of_a_choice_into_a_link() -> None:
    """Elsewhere "layer" is a word for a browser widget, or on an axis; no parameter of a link."""
    linking = [path for path in SOURCES if "query_params" in path.read_text("utf-8") and path.parent != STATE]
    assert [path for path in linking if '"layer"' in path.read_text("utf-8")] == []
