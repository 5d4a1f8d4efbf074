"""A link from page to page shows what it names, whatever stood in the widgets of the page before."""

from urllib.parse import parse_qs, urlencode

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.controls import ONE_CHANGED
from attnviz.app.examples import OPENING
from attnviz.experiments import pairs
from tests.app.shown import FOLDED, clean, visit, warnings

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


def test_a_pair_that_a_link_names_is_on_explore() -> None:
    app = follow(visit("compare", FOLDED), "explore", text=GOAT, other=OTHER, layer="5", head="7")
    assert boxes(app) == [GOAT, OTHER]
    assert [app.number_input(key=key).value for key in ("layer", "head")] == [5, 7]


def test_what_came_by_link_goes_on_by_link() -> None:
    app = follow(visit("beyond_weights", FOLDED, text=BIRDS), "intervene", text=BIRDS, edits="encoder 3-1")
    assert app.text_input(key="text").value == BIRDS
    assert app.session_state["edits"] == ["encoder 3-1"]
    assert boxes(follow(app, "explore", text=BIRDS)) == [BIRDS, ""]


@pytest.mark.parametrize(("text", "other"), [(BIRDS, ""), (OPENING.other, OPENING.text)])
@pytest.mark.parametrize("page", ["compare", "explore"])
def test_one_sentence_is_not_compared_with_itself(page: str, text: str, other: str) -> None:
    app = follow(visit("beyond_weights", FOLDED, text=text), page, text=text)
    if page == "compare":
        assert boxes(app) == [text, other]
        assert app.text_input(key="other").placeholder == ONE_CHANGED
    else:
        assert boxes(app) == [text, ""]


# What a link may ask of a page and not get; together, choices of every kind.
IN_VAIN = {
    "explore": {
        "layer": "99",
        "head": "abc",
        "view": "Nope",
        "model": "gpt9",
        "show": "zzz",
        "query": "77 xyz",
        "stage": "<b>",
        "filter": "![x](http://example.invalid)",
        "hide": "maybe",
    },
    "find": {"vector": "value", "count": "7", "layer": "inf", "head": "-1e999", "query": "77 xyz"},
    "score_heads": {"layer": "99", "test": "Poems", "source": "nowhere", "head": "x"},
    "positions": {
        "order": "-3",
        "encoding": "nonsense",
        "dimension_pair": "77",
        "shift": "-1",
        "slopes": "0",
    },
    "translate": {"french": "99 chat", "translator": "nobody"},
    "write": {"written_word": "99", "top_p": "0", "temperature": "cold", "write": "101", "seed": "-1"},
}


@pytest.mark.parametrize("page", IN_VAIN)
def test_a_page_says_what_its_link_asked_for_in_vain_and_the_address_forgets_it(page: str) -> None:
    """A number without end among it: `inf`."""
    app = visit(page, FOLDED | {"rubbish": "1"} | IN_VAIN[page])
    told = warnings(app)
    assert "`rubbish` is not valid on this page" in told
    assert "rubbish" not in app.query_params
    assert all(f"`{name}`" in told for name in IN_VAIN[page])


def test_the_notice_goes_when_the_visitor_goes_on() -> None:
    app = visit("explore", layer="99", text=BIRDS)
    assert app.warning
    assert "text" in app.query_params
    clean(app.number_input(key="layer").set_value(2).run())
    assert not app.warning
