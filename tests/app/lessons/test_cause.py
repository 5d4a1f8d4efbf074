"""The lesson "Cause" without a browser: the shown row, the changes in a link, and the further sections."""

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.lessons.cause import values
from attnviz.app.lessons.cause.page import COMPARED
from attnviz.app.lessons.cause.values import Row
from attnviz.app.lessons.measured import held_out
from attnviz.models import catalogue
from attnviz.text import percent, signed_percent
from tests.app.shown import FOLDED, all_sent, charts, clean, sent, visit, words

SENTENCE = "The dog did not cross the road as it was too tired."
MOVED = "encoder 2-1 9 2>7"
IT = Row("encoder", 1, 0, 8)


def change(app: AppTest, edits: str) -> AppTest:
    return clean(app.multiselect(key="edits").set_value(list(filter(None, edits.split(", ")))).run())


def french(app: AppTest) -> str:
    return "".join(piece["text"] for piece in sent(app, "arrow")["translation"])


def test_the_opening_picture_and_its_sections() -> None:
    app = visit("cause")
    data, shown = sent(app, "arrow"), words(app)
    found = values.experiment("translator", SENTENCE, IT)
    assert data["reader"] == data["words"][data["query"]] == "it"
    assert (data["interference"]["change"], data["before"], data["now"]) == (
        "none",
        found.row_before.tolist(),
        found.row_before.tolist(),
    )
    assert [choice["word"] for choice in data["choices"]] == ["il", "elle"]
    assert "car il était trop fatigué" in french(app)
    effects = values.effects("translator", SENTENCE)
    assert effects
    weights, effect = sent(app, "head_map")["values"], signed_percent(float(effects.rows[1, 0, 8]))
    assert max(weights) == float(f"{found.row_before[1]:.6g}")
    assert f"| `it` in encoder head 2-1 | {percent(float(found.row_before[1]), 1)} | {effect} |" in shown
    for run in held_out():
        shares = " | ".join(percent(each, 1) for each in (run.found, run.ablated, run.redirected))
        assert f"| {run.title} ({run.seed}) | `{run.head}` | {shares} |" in shown


def test_a_split_weight_at_each_step_and_at_the_chosen_one() -> None:
    app = visit("cause", moved_part="9")
    split = values.split("translator", SENTENCE, IT, 1, 6)
    assert split
    [chart] = charts(app).values()
    for line, numbers in zip(chart["lines"], (split.il, split.elle), strict=True):
        assert line["x"] == pytest.approx(split.shares.tolist())
        assert line["y"] == pytest.approx(numbers.tolist(), rel=1e-5)
    assert chart["marked"] == pytest.approx(0.45)
    shown = words(app)
    for name, number in (("weight on `road`", split.rows[9, 6]), ("probability of *il*", split.il[9])):
        assert f"| {name} | {percent(float(number), 1)} |".replace("\u00a0", " ") in shown
    assert "| 45 % moved |" in shown


def test_a_link_with_a_change_and_a_sentence_without() -> None:
    app = visit("cause", edits=MOVED)
    data = sent(app, "arrow")
    assert data["interference"] == {"change": "move", "source": 1, "target": 6}
    found = values.experiment("translator", SENTENCE, IT, [MOVED])
    assert found.gender
    assert data["now"] == found.row_now.tolist()
    assert [[each["before"], each["now"]] for each in data["choices"]] == [
        list(each) for each in zip(found.gender.before, found.gender.now, strict=True)
    ]
    assert french(app).startswith("Le chien n'a pas traversé la route car elle était trop fatigué")
    assert next(piece["text"] for piece in data["translation"] if piece["differs"]) == "elle "
    clean(app.text_input(key="english").set_value(SENTENCE.replace("tired", "narrow")).run())
    assert app.multiselect(key="edits").value == []
    assert "car elle était trop étroite" in french(app)
    for english in ("The dog crossed the road.", "it"):
        clean(app.text_input(key="english").set_value(english).run())
        assert sent(app, "arrow")["choices"] == []
        assert not charts(app)
        assert not all_sent(app, "head_map")
    clean(app.text_input(key="english").set_value("dog").run())  # translated as nothing
    assert french(app) == ""


def test_a_link_that_names_no_row_shows_the_first_that_it_changes() -> None:
    app = visit("cause", FOLDED, edits="encoder 1-3 12 12>1")
    assert app.selectbox(key="cause_head").value == "encoder 1-3"
    assert app.selectbox(key="cause_word").value == "12 tired"
    app = visit("cause", FOLDED, edits=MOVED, cause_head="encoder 2-1", cause_word="12 tired")
    data = sent(app, "arrow")
    assert (data["reader"], data["interference"]["change"], data["others"]) == ("tired", "none", 1)
    app.selectbox(key="cause_word").set_value("9 it").run()
    for edits, kind, elsewhere in (
        ("encoder 2-1 9", "row", 0),
        ("encoder 2-1", "head", 0),
        (f"encoder 2-1 12, cross 1-2, {MOVED}", "move", 2),
        (f"encoder 2-1, {MOVED}, encoder 2-1 9", "head", 0),
    ):
        data = sent(change(app, edits), "arrow")
        assert (data["interference"]["change"], data["others"]) == (kind, elsewhere)
        assert any(data["now"]) == (kind == "move")


def test_an_invalid_change_is_named_and_none_is_made() -> None:
    app = visit("cause", FOLDED, edits="rubbish <b>")
    for edit, problem in (
        ("rubbish <b>", "is no edit"),
        ("encoder 9-1", "layer 9"),
        ("encoder 2-1 99", "row 99"),
    ):
        change(app, edit)
        assert problem in app.warning[0].value
        assert "car il était trop fatigué" in french(app)
    change(app, MOVED)
    assert not app.warning
    assert "car elle était trop fatigué" in french(app)
    for head in ("decoder 1-2", "cross 1-1"):
        clean(app.selectbox(key="cause_head").set_value(head).run())
        data = sent(app, "arrow")
        assert data["reader"] == "car"
        assert (data["query"] is None) == head.startswith("cross")


def test_two_translators_have_the_same_change_and_each_opens_at_its_own_head() -> None:
    app = visit("cause", edits=MOVED)
    _, first, second = all_sent(app, "arrow")
    assert first["now"] == sent(app, "arrow")["now"]
    assert second["before"][1] > 0.95
    assert second["translation"] == second["translation_before"]
    unguided = "translator-unguided"
    clean(app.selectbox(key="translator").set_value(catalogue.entry(unguided).title).run())
    (head,) = [run.head for run in held_out() if run.shipped and run.variant == "unguided"]
    assert app.selectbox(key="cause_head").value == f"encoder {head}"
    assert unguided not in COMPARED
