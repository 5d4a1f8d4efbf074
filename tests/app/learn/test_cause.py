"""The page on causes without a browser: what is changed, what is said, and what links may ask."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.learn.cause import compute
from attnviz.app.learn.english import VARIANTS
from attnviz.models import catalogue
from attnviz.text import percent
from attnviz.trained.translator.training import Settings
from tests.app.shown import clean, sent, visit, words

SENTENCE = "The dog did not cross the road as it was too tired."
MOVED = "encoder 2-1 9 2>7"
DECORATIVE = "translator-decorative"


def change(app: AppTest, edit: str) -> None:
    app.text_input(key="edit").set_value(edit).run()


def strongest(app: AppTest) -> str:
    """The word that the arrow now points at."""
    data = sent(app, "arrow")
    return str(data["words"][max(range(len(data["now"])), key=data["now"].__getitem__)])


def test_the_opening_picture() -> None:
    app = visit("cause")
    data, told = sent(app, "arrow"), words(app)
    assert data["reader"] == data["words"][data["query"]] == "it"
    assert data["interference"]["change"] == "none"
    assert strongest(app) == "dog"
    assert [choice["word"] for choice in data["choices"]] == ["il", "elle"]
    assert "car il était trop fatigué" in told
    share = Settings(variant="taught").label_smoothing
    assert f"{100 * share:g} % of the certainty was spread over all words" in told


def test_a_link_with_a_change() -> None:
    app = visit("cause", edit=MOVED)
    data = sent(app, "arrow")
    assert data["interference"] == {"change": "move", "source": 1, "target": 6}
    found = compute.experiment("translator", SENTENCE, "encoder", 1, 0, 8, [MOVED])
    assert found.gender
    told = words(app)
    assert "car elle était trop fatigué" in told
    il, elle = zip(found.gender.before, found.gender.now, strict=True)
    assert f"`il` {percent(il[0])} → **{percent(il[1])}**" in told
    assert f"`elle` {percent(elle[0])} → **{percent(elle[1])}**" in told
    differing = [piece["text"].strip(". ") for piece in data["translation"] if piece["differs"]]
    assert differing[0] == "elle"
    assert "".join(piece["text"] for piece in data["translation"]).startswith("Le chien n'a pas traversé")
    assert "**It turned:** *il* became *elle*" in told


def test_each_change_is_shown_at_its_own_arrow() -> None:
    app = visit("cause", edit="encoder 1-3 12 12>1")
    assert app.selectbox(key="cause_head").value == "encoder 1-3"
    assert app.selectbox(key="cause_word").value == "12 tired"
    for edit, kind in (("encoder 2-1 9", "row"), ("encoder 2-1", "head")):
        change(app, edit)
        clean(app)
        assert app.selectbox(key="cause_head").value == "encoder 2-1"
        assert app.selectbox(key="cause_word").value == "9 it"
        data = sent(app, "arrow")
        assert data["interference"]["change"] == kind
        assert not any(data["now"])
        assert "`it` now reads nothing" in words(app)


def test_a_link_may_show_another_arrow_than_it_changes() -> None:
    app = visit("cause", edit=MOVED, cause_head="encoder 2-1", cause_word="12 tired")
    data = sent(app, "arrow")
    assert data["reader"] == "tired"
    assert data["interference"]["change"] == "none"
    assert data["others"] == 1
    told = words(app)
    assert "Changed elsewhere: the arrow of `it` in this head, from `dog` to `road`. " in told
    assert "Nothing else is touched: no other row of any head, " in told


def test_what_is_changed_and_what_is_not() -> None:
    app = visit("cause", edit=MOVED, cause_head="encoder 2-1", cause_word="9 it")
    assert "The row still sums to 100 %. Nothing else is touched: none of the other 12 rows" in words(app)
    for edit, said in {
        "encoder 2-1": "Nothing else is touched: none of the other 15 heads, and no number",
        f"encoder 2-1 12, cross 1-2, {MOVED}": (
            "the row of `tired` in this head, silenced; the whole cross-attention head 1-2, silenced."
        ),
        f"decoder 1-2 10 10>2, encoder 2-1 12 2>7, encoder 2-1, {MOVED}, encoder 2-1 9": (
            "to any word. Also changed: the arrow of `car` in decoder head 1-2, from `car` to `le`. Nothing"
        ),
    }.items():
        change(app, edit)
        clean(app)
        assert said in words(app)


def test_the_adjective_has_an_arrow_of_its_own() -> None:
    app = visit("cause", edit=MOVED)
    (lead,) = [button for button in app.button if button.label == "The arrow of `tired`"]
    lead.click().run()
    assert app.selectbox(key="cause_word").value == "12 tired"
    assert "**Drag this one, too.**" in words(app)
    assert not [button for button in app.button if button.label == "The arrow of `tired`"]
    change(app, f"{MOVED}, encoder 2-1 12 1>3")
    assert "though a weight of its own row in this head was moved as well" in words(app)
    change(app, f"{MOVED}, encoder 2-1 12 2>7")
    clean(app)
    assert "*il* became *elle*, *fatigué* became *fatiguée*. All other words stayed" in words(app)
    assert "nothing was touched but 2 arrows" in words(app)


def test_in_another_sentence_the_change_is_undone() -> None:
    app = visit("cause", edit=MOVED)
    clean(app.text_input(key="english").set_value(SENTENCE.replace("tired", "narrow")).run())
    assert app.text_input(key="edit").value == ""
    assert "car elle était trop étroite" in words(app)


def test_rubbish_in_the_link_is_named_and_the_page_works() -> None:
    for edit, said in (
        ("rubbish <b>", "is no edit"),
        ("encoder 9-1", "layer 9"),
        ("encoder 2-1 99", "row 99"),
    ):
        app = visit("cause", edit=edit)
        assert said in app.warning[0].value
        assert "Nothing is changed" in app.warning[0].value
        assert "car il était trop fatigué" in words(app)
    change(app, MOVED)
    assert not app.warning
    assert "car elle était trop fatigué" in words(app)


@pytest.mark.parametrize("head", ["decoder 1-2", "cross 1-1"])
def test_any_head_of_the_model(head: str) -> None:
    app = visit("cause", cause_head=head)
    data = sent(app, "arrow")
    assert data["reader"] == "car"
    assert (data["query"] is None) == head.startswith("cross")


@pytest.mark.parametrize("english", ["The dog crossed the road.", "it"])
def test_nothing_to_decide(english: str) -> None:
    app = visit("cause", english=english)
    assert sent(app, "arrow")["choices"] == []
    assert "nothing to try" in words(app)


def test_where_the_picture_is_as_good_and_not_the_cause() -> None:
    app = visit("cause", edit=MOVED)
    (lead,) = [button for button in app.button if button.label.startswith("What decides here?")]
    lead.click().run()
    clean(app)
    assert app.selectbox(key="translator").value == catalogue.entry(DECORATIVE).title
    data = sent(app, "arrow")
    assert data["interference"]["change"] == "none"
    assert data["now"][1] > 0.95
    title = catalogue.entry(DECORATIVE).title
    assert f"Which arrows matter in “{title}”? All of them, tried" in [header.value for header in app.header]
    change(app, MOVED)
    assert "**No word changed**, though the arrow points elsewhere" in words(app)
    assert re.search(r"As strong, and without an effect on the pronoun: .*`it` in 2-1", words(app))
    assert "**not the cause**" in words(app)


def test_of_each_translator_the_one_that_ships_stands_first() -> None:
    (table,) = [html for each in visit("cause").get("html") if "held-out" in (html := each.proto.body)]
    rows = re.findall(r'<th scope="row">([^<]*?)( <small>|</th>)', table)
    assert [after != "</th>" for _, after in rows] == [
        place > 0 and title == rows[place - 1][0] for place, (title, _) in enumerate(rows)
    ]
    assert len(rows) == len(compute.held_out())


def test_a_good_picture_that_nobody_built() -> None:
    app = visit("cause")
    (untold,) = [run for run in compute.held_out() if run.shipped and run.variant == "untold"]
    assert f"nobody built this one:** *{untold.title}*" in words(app)
    told = words(app).split("nobody built this one:", 1)[1]
    for share in (untold.found, untold.silenced, untold.moved):
        assert percent(share) in told
    assert "**not needed**" in told
    (lead,) = [button for button in app.button if button.label.startswith("Drag the arrow of its head")]
    lead.click().run()
    clean(app)
    assert app.selectbox(key="translator").value == catalogue.entry("translator-untold").title
    assert app.selectbox(key="cause_head").value == f"encoder {untold.head}"
    assert strongest(app) == "dog"


@pytest.mark.parametrize("name", VARIANTS)
def test_every_translator_has_its_picture(name: str) -> None:
    app = visit("cause", translator=catalogue.entry(name).title, edit=MOVED)
    found = compute.experiment(name, SENTENCE, "encoder", 1, 0, 8, [MOVED])
    assert sent(app, "arrow")["before"] == found.row_before.tolist()
