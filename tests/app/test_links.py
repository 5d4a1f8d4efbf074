"""A link from page to page shows what it names, whatever stood in the widgets of the page before."""

from urllib.parse import parse_qs, urlencode

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.controls import ONE_CHANGED
from attnviz.app.examples import OPENING
from attnviz.experiments import pairs
from tests.app.shown import clean, visit

BIRDS = "Birds sing in the morning."
GOAT, OTHER = (reading.text for reading in pairs.bundled()[5].readings)


def follow(app: AppTest, page: str, **asked: str) -> AppTest:
    """The page behind a link, as the browser asks for it: what stands in the address, then the link."""
    before = parse_qs(urlencode(dict(app.query_params), doseq=True))
    app.switch_page(f"pages/{page}.py")
    for name, value in asked.items():
        app.query_params[name] = [*before.get(name, []), value]
    app.run()
    clean(app)
    return app


def boxes(app: AppTest) -> list[str]:
    return [str(app.text_input(key=key).value) for key in ("text", "other")]


@pytest.mark.parametrize("before", ["compare", "plane"])
def test_a_pair_that_a_link_names_is_on_explore(before: str) -> None:
    app = follow(visit(before), "explore", text=GOAT, other=OTHER, layer="5", head="7")
    assert boxes(app) == [GOAT, OTHER]
    assert [app.number_input(key=key).value for key in ("layer", "head")] == [5, 7]


def test_what_came_by_link_goes_on_by_link() -> None:
    app = follow(visit("plane", text=BIRDS), "intervene", text=BIRDS, edits="encoder 3-1")
    assert app.text_input(key="text").value == BIRDS
    assert app.session_state["edits"] == ["encoder 3-1"]
    assert boxes(follow(app, "explore", text=BIRDS)) == [BIRDS, ""]


@pytest.mark.parametrize("number", ["x", "inf"])
def test_a_number_that_is_none_leaves_the_number_that_was(number: str) -> None:
    app = follow(visit("plane", layer="3"), "explore", layer=number)
    assert app.number_input(key="layer").value == 3


@pytest.mark.parametrize("page", ["explore", "masks", "plane"])
def test_a_number_without_end_is_told_and_left_out(page: str) -> None:
    app = visit(page, layer="inf", head="-1e999")
    told = "\n".join(warning.value for warning in app.warning)
    assert "`layer` cannot be `inf` here" in told
    assert "`head` cannot be `-1e999` here" in told


@pytest.mark.parametrize(("text", "other"), [(BIRDS, ""), (OPENING.other, OPENING.text)])
@pytest.mark.parametrize("page", ["compare", "explore"])
def test_one_sentence_is_not_compared_with_itself(page: str, text: str, other: str) -> None:
    app = follow(visit("plane", text=text), page, text=text)
    if page == "compare":
        assert boxes(app) == [text, other]
        assert app.text_input(key="other").placeholder == ONE_CHANGED
    else:
        assert boxes(app) == [text, ""]


def test_the_address_forgets_what_the_page_left_out() -> None:
    app = visit("plane", text=BIRDS, rubbish="1")
    assert "`rubbish` is not something a link can choose here" in app.warning[0].value
    assert "rubbish" not in app.query_params
    assert "text" in app.query_params
