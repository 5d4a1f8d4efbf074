"""The lesson "Cause" without a browser: the row of weights, edits in a link, and the sections."""

import re

from streamlit.testing.v1 import AppTest

from attnviz.app.lessons.cause import values
from attnviz.app.lessons.cause.values import Row
from attnviz.app.lessons.measured import held_out_results
from attnviz.models import catalogue
from attnviz.text import percent
from tests.app.shown import FOLDED, button_row, clean, message_to, messages_to, page_text, press, visit

SENTENCE = "The dog did not cross the road as it was too tired."
MOVED = "encoder 2-1 9 2>7"
IT = Row("encoder", 1, 0, 8)


def change(app: AppTest, edits: str) -> AppTest:
    return clean(app.multiselect(key="edits").set_value(list(filter(None, edits.split(", ")))).run())


def french(app: AppTest) -> str:
    """Return the translation with the edits."""
    [shown] = re.findall(r"^\*\*(?:Now|Translation):\*\* (.*)$", page_text(app), re.MULTILINE)[:1]
    return str(shown).replace("\\", "")


def table(app: AppTest, key: str) -> dict[str, list[float]]:
    """Return the numbers in each row of a table, by label; `key` is "weights" or "pronouns"."""
    title = {"weights": "head", "pronouns": "Probability"}[key]
    found = next(each for each in messages_to(app, "share_table") if title in each["title"])
    return {f"{row['place']} {row['label']}".strip(): row["shares"] for row in found["rows"]}


def test_page_opens_with_an_edit_and_its_sections() -> None:
    app = visit("cause")
    shown = page_text(app)
    assert app.multiselect(key="edits").value == [MOVED]
    assert "car elle était trop fatigué" in french(app)
    clean(press(app, "Undo all changes"))
    found = values.experiment("translator", SENTENCE, IT)
    assert app.header[0].value == "`it` in encoder head 2-1"
    assert [weight for [weight] in table(app, "weights").values()] == found.row_before.tolist()
    assert list(table(app, "pronouns")) == ["il", "elle"]
    assert "car il était trop fatigué" in french(app)
    for run in held_out_results():
        shares = " | ".join(percent(each, 1) for each in (run.found, run.ablated, run.redirected))
        assert f"| {run.title} ({run.seed}) | `{run.head}` | {shares} |" in shown


def test_edit_in_a_link_is_dropped_with_its_sentence() -> None:
    app = visit("cause", edits=MOVED)
    assert move_target(app) == "7 road"
    found = values.experiment("translator", SENTENCE, IT, [MOVED])
    assert found.gender
    assert [now for _, now in table(app, "weights").values()] == found.row_now.tolist()
    assert list(table(app, "pronouns").values()) == [
        list(each) for each in zip(found.gender.before, found.gender.now, strict=True)
    ]
    assert french(app) == "Le chien n'a pas traversé la route car elle était trop fatigué."
    clean(app.text_input(key="english").set_value(SENTENCE.replace("tired", "narrow")).run())
    assert app.multiselect(key="edits").value == []
    assert "car elle était trop étroite" in french(app)
    for english in ("The dog crossed the road.", "it"):
        clean(app.text_input(key="english").set_value(english).run())
        assert "Probability" not in message_to(app, "share_table")["title"]
    clean(app.text_input(key="english").set_value("dog").run())  # the translation of "dog" is empty
    assert french(app) == "[END]"


def move_target(app: AppTest) -> str | None:
    """Return the token to which the weight is moved."""
    target: str | None = button_row(app, "move").value
    return target


def test_buttons_move_ablate_and_undo() -> None:
    app = visit("cause", FOLDED)
    clean(button_row(app, "move").set_value("7 road").run())
    assert app.multiselect(key="edits").value == [MOVED]
    for label, edits in (
        ("Ablate the row of “it”", ["encoder 2-1 9"]),
        ("Ablate encoder head 2-1", ["encoder 2-1"]),
        ("Undo all changes", []),
    ):
        clean(press(app, label))
        assert app.multiselect(key="edits").value == edits
        assert move_target(app) is None
    assert "car il était trop fatigué" in french(app)


def test_invalid_edit_is_reported_and_not_applied() -> None:
    app = visit("cause", FOLDED, edits="rubbish <b>")
    for edit, problem in (
        ("rubbish <b>", "is not a valid change"),
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
        assert "`car`" in app.header[0].value


def test_each_translator_opens_with_its_own_head() -> None:
    app = visit("cause", edits=MOVED)
    clean(app.selectbox(key="translator").set_value(catalogue.entry("translator-unguided").title).run())
    (head,) = [run.head for run in held_out_results() if run.shipped and run.variant == "unguided"]
    assert app.selectbox(key="cause_head").value == f"encoder {head}"
