"""A link between pages overrides the choices made with widgets on the previous page."""

from urllib.parse import parse_qs, urlencode

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.controls import ONE_CHANGED
from attnviz.app.examples import OPENING
from attnviz.experiments import pairs
from tests.app.shown import FOLDED, clean, visit, warnings

BIRDS = "Birds sing in the morning."
GOAT, OTHER = (reading.text for reading in pairs.bundled()[5].readings)


def follow(app: AppTest, page: str, **parameters: str) -> AppTest:
    """Follow a link as the browser does: the URL keeps its parameters, followed by the link's parameters."""
    before = parse_qs(urlencode(dict(app.query_params), doseq=True))
    app.switch_page(f"pages/{page}.py")
    for name, value in parameters.items():
        app.query_params[name] = [*before.get(name, []), value]
    app.run()
    clean(app)
    return app


def boxes(app: AppTest) -> list[str]:
    return [str(app.text_input(key=key).value) for key in ("text", "other")]


def test_link_opens_a_pair_on_explore() -> None:
    app = follow(visit("compare", FOLDED), "explore", text=GOAT, other=OTHER, layer="5", head="7")
    assert boxes(app) == [GOAT, OTHER]
    assert [app.number_input(key=key).value for key in ("layer", "head")] == [5, 7]


def test_links_pass_on_choices_from_page_to_page() -> None:
    app = follow(visit("beyond_weights", FOLDED, text=BIRDS), "intervene", text=BIRDS, edits="encoder 3-1")
    assert app.text_input(key="text").value == BIRDS
    assert app.session_state["edits"] == ["encoder 3-1"]
    assert boxes(follow(app, "explore", text=BIRDS)) == [BIRDS, ""]


@pytest.mark.parametrize(("text", "other"), [(BIRDS, ""), (OPENING.other, OPENING.text)])
@pytest.mark.parametrize("page", ["compare", "explore"])
def test_sentence_is_not_compared_with_itself(page: str, text: str, other: str) -> None:
    app = follow(visit("beyond_weights", FOLDED, text=text), page, text=text)
    if page == "compare":
        assert boxes(app) == [text, other]
        assert app.text_input(key="other").placeholder == ONE_CHANGED
    else:
        assert boxes(app) == [text, ""]


# Invalid parameters for each page, of every kind of choice, including infinite numbers.
INVALID = {
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


@pytest.mark.parametrize("page", INVALID)
def test_invalid_parameters_are_reported_and_removed_from_the_url(page: str) -> None:
    app = visit(page, FOLDED | {"rubbish": "1"} | INVALID[page])
    text = warnings(app)
    assert "`rubbish` is not valid on this page" in text
    assert "rubbish" not in app.query_params
    assert all(f"`{name}`" in text for name in INVALID[page])


def test_notice_disappears_after_the_next_choice() -> None:
    app = visit("explore", layer="99", text=BIRDS)
    assert app.warning
    assert "text" in app.query_params
    clean(app.number_input(key="layer").set_value(2).run())
    assert not app.warning
