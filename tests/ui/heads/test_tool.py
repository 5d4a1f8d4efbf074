"""What all pages about heads at work share: the model, the sentence, a link, and the way to each other."""

import pytest

from attnviz.ui.heads.contents import TOOLS
from tests.ui.conftest import VisitPage
from tests.ui.shown import clean

NAMES = [tool.name for tool in TOOLS]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_opens_with_its_question(visit_page: VisitPage, name: str) -> None:
    app = visit_page(name)
    clean(app)
    assert app.title[0].value == next(tool.question for tool in TOOLS if tool.name == name)


def test_the_menu_has_all_of_them(visit_page: VisitPage) -> None:
    app = visit_page("heads")
    clean(app)
    assert [subheader.value for subheader in app.subheader] == [tool.question for tool in TOOLS]


def test_the_sentence_and_the_head_go_along_to_the_other_tools(visit_page: VisitPage) -> None:
    app = visit_page("plane", text="A cat sat.", layer="3", head="5")
    clean(app)
    links = {link.proto.page: link.proto.query_string for link in app.get("page_link")}
    for name in NAMES:
        if name != "plane":
            assert links[name] == "model=minilm&text=A+cat+sat.&layer=3&head=5"


@pytest.mark.parametrize("text", ["", "   ", "one " * 2_500, "\u0000"])
def test_what_cannot_be_read_gets_a_kind_word_and_stays_in_the_box(visit_page: VisitPage, text: str) -> None:
    app = visit_page("plane", text="A cat sat.")
    app.text_input(key="text").set_value(text).run()
    assert not app.exception
    assert app.error[0].value
    assert app.text_input(key="text").value == text
    assert app.title[0].value
