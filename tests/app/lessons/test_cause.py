"""The page on causes without a browser: what is changed, what is said, and what links may ask."""

import re
from dataclasses import replace

from streamlit.testing.v1 import AppTest

from attnviz.app.lessons.cause import compute, sections
from attnviz.app.lessons.measured import held_out
from attnviz.models import catalogue
from attnviz.text import percent
from tests.app.shown import FOLDED, buttons, clean, press, sent, visit, words

SENTENCE = "The dog did not cross the road as it was too tired."
MOVED = "encoder 2-1 9 2>7"
DECORATIVE = "translator-decorative"


def change(app: AppTest, edit: str) -> AppTest:
    return clean(app.multiselect(key="edits").set_value(list(filter(None, edit.split(", ")))).run())


def strongest(app: AppTest) -> str:
    """The word that the arrow now points at."""
    data = sent(app, "arrow")
    return str(data["words"][max(range(len(data["now"])), key=data["now"].__getitem__)])


def test_the_opening_picture_and_the_table_of_all_translators() -> None:
    app = visit("cause")
    data, told = sent(app, "arrow"), words(app)
    assert data["reader"] == data["words"][data["query"]] == "it"
    assert data["interference"]["change"] == "none"
    assert strongest(app) == "dog"
    assert [choice["word"] for choice in data["choices"]] == ["il", "elle"]
    assert "car il était trop fatigué" in told
    # Of each translator, the one that ships stands first.
    (table,) = [html for each in app.get("html") if "held-out" in (html := each.proto.body)]
    rows = re.findall(r'<th scope="row">([^<]*?)( <small>|</th>)', table)
    assert [after != "</th>" for _, after in rows] == [
        place > 0 and title == rows[place - 1][0] for place, (title, _) in enumerate(rows)
    ]
    assert len(rows) == len(held_out())
    # A good picture that nobody built.
    (unguided,) = [run for run in held_out() if run.shipped and run.variant == "unguided"]
    assert f"nobody built this one:** *{unguided.title}*" in told
    told = told.split("nobody built this one:", 1)[1]
    assert all(percent(share) in told for share in (unguided.found, unguided.ablated, unguided.moved))
    assert "**not needed**" in told
    clean(press(app, "Drag the arrow of its head"))
    assert app.selectbox(key="translator").value == catalogue.entry("translator-unguided").title
    assert app.selectbox(key="cause_head").value == f"encoder {unguided.head}"
    assert strongest(app) == "dog"


def test_a_link_with_a_change_which_another_sentence_undoes() -> None:
    app = visit("cause", edits=MOVED)
    data = sent(app, "arrow")
    assert data["interference"] == {"change": "move", "source": 1, "target": 6}
    found = compute.experiment("translator", SENTENCE, "encoder", 1, 0, 8, [MOVED])
    assert data["before"] == found.row_before.tolist()
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
    clean(app.text_input(key="english").set_value(SENTENCE.replace("tired", "narrow")).run())
    assert app.multiselect(key="edits").value == []
    assert "car elle était trop étroite" in words(app)
    for english in ("The dog crossed the road.", "it"):
        clean(app.text_input(key="english").set_value(english).run())
        assert sent(app, "arrow")["choices"] == []
        assert "nothing to try" in words(app)


def test_without_a_pronoun_it_is_asked_what_a_silent_head_does_and_an_empty_translation_is_explained() -> (
    None
):
    app = visit("cause", english="The dog did not cross the road.")
    assert "hands over nothing to any word, what will" in words(app)
    assert "[END], the sign for the end" in words(visit("cause", english="dog"))


def test_each_change_is_shown_at_its_own_arrow() -> None:
    app = visit("cause", FOLDED, edits="encoder 1-3 12 12>1")
    assert app.selectbox(key="cause_head").value == "encoder 1-3"
    assert app.selectbox(key="cause_word").value == "12 tired"
    for edit, kind in (("encoder 2-1 9", "row"), ("encoder 2-1", "head")):
        change(app, edit)
        assert app.selectbox(key="cause_head").value == "encoder 2-1"
        assert app.selectbox(key="cause_word").value == "9 it"
        data = sent(app, "arrow")
        assert data["interference"]["change"] == kind
        assert not any(data["now"])
        assert "`it` now reads nothing" in words(app)
        gender = compute.experiment("translator", SENTENCE, "encoder", 1, 0, 8, [edit]).gender
        assert gender
        preferred = "same" if gender.now[0] > gender.now[1] else "other"  # unchanged, it is "il"
        assert f"the {preferred} one is more probable now" in words(app)


def test_a_link_may_show_another_arrow_than_it_changes_and_what_is_not_changed_is_said() -> None:
    app = visit("cause", FOLDED, edits=MOVED, cause_head="encoder 2-1", cause_word="12 tired")
    data = sent(app, "arrow")
    assert (data["reader"], data["interference"]["change"], data["others"]) == ("tired", "none", 1)
    told = words(app)
    assert "Changed elsewhere: the arrow of `it` in this head, from `dog` to `road`. " in told
    assert "Nothing else is touched: no other row of any head, " in told
    app.selectbox(key="cause_word").set_value("9 it").run()
    for edit, said in {
        MOVED: "The row still sums to 100 %. Nothing else is touched: none of the other 12 rows",
        "encoder 2-1": "Nothing else is touched: none of the other 15 heads, and no number",
        f"encoder 2-1 12, cross 1-2, {MOVED}": (
            "the row of `tired` in this head, ablated; the whole cross-attention head 1-2, ablated."
        ),
        f"decoder 1-2 10 10>2, encoder 2-1 12 2>7, encoder 2-1, {MOVED}, encoder 2-1 9": (
            "to any word. Also changed: the arrow of `car` in decoder head 1-2, from `car` to `le`. Nothing"
        ),
    }.items():
        assert said in words(change(app, edit))


def test_the_adjective_has_an_arrow_of_its_own() -> None:
    app = visit("cause", FOLDED, edits=MOVED)
    press(app, "The arrow of `tired`")
    assert app.selectbox(key="cause_word").value == "12 tired"
    assert "**Drag this one, too.**" in words(app)
    assert "The arrow of `tired`" not in buttons(app)
    change(app, f"{MOVED}, encoder 2-1 12 1>3")
    assert "though a weight of its own row in this head was moved as well" in words(app)
    change(app, f"{MOVED}, encoder 2-1 12 2>7")
    assert "*il* became *elle*, *fatigué* became *fatiguée*. All other words stayed" in words(app)
    assert "nothing was touched but 2 arrows: they decide the gender" in words(app)


def test_an_adjective_is_late_only_where_gender_is_all_that_changed() -> None:
    found = compute.experiment("translator", SENTENCE, "encoder", 1, 0, 8, [MOVED])
    assert sections._later_adjective(found) == found.queries.index("tired")
    at = found.words_now.index("elle")
    other = (*found.words_now[:at], "la", "route", *found.words_now[at + 1 :])
    assert sections._later_adjective(replace(found, words_now=other)) is None


def test_rubbish_in_the_link_is_named_and_the_page_works() -> None:
    app = visit("cause", FOLDED, edits="rubbish <b>")
    for edit, said in (
        ("rubbish <b>", "is no edit"),
        ("encoder 9-1", "layer 9"),
        ("encoder 2-1 99", "row 99"),
    ):
        change(app, edit)
        assert said in app.warning[0].value
        assert "Nothing is changed" in app.warning[0].value
        assert "car il était trop fatigué" in words(app)
    change(app, MOVED)
    assert not app.warning
    assert "car elle était trop fatigué" in words(app)
    for head in ("decoder 1-2", "cross 1-1"):  # any head of the model
        clean(app.selectbox(key="cause_head").set_value(head).run())
        data = sent(app, "arrow")
        assert data["reader"] == "car"
        assert (data["query"] is None) == head.startswith("cross")


def test_where_the_picture_is_as_good_and_not_the_cause() -> None:
    app = visit("cause", edits=MOVED)
    clean(press(app, "What decides here?"))
    assert app.selectbox(key="translator").value == catalogue.entry(DECORATIVE).title
    data = sent(app, "arrow")
    assert data["interference"]["change"] == "none"
    assert data["now"][1] > 0.95
    change(app, MOVED)
    assert "**No word changed**: here, what was moved does not decide" in words(app)
    assert re.search(r"At least 90 % on the left and less than 1 % on the right: .*`it` in 2-1", words(app))
    assert "**not the cause**" in words(app)
