"""What the bar of a room is told of each page, and what it tells Python."""

import re
from typing import Any
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.classroom import bar
from attnviz.app.classroom.rooms import Poll, new_room
from attnviz.app.lessons.contents import LESSONS
from attnviz.app.question import MAX_LENGTH
from tests.app.shown import clean, press, sent, visit


def told(app: AppTest) -> dict[str, Any]:
    return sent(app, "room_bar")


def test_the_bar_is_told_the_complete_link_without_what_is_never_copied() -> None:
    said = told(visit("masks", teacher="true"))
    link = parse_qs(said["query"])
    assert said["page"] == "masks"
    assert (link["layer"], link["head"], link["query"]) == (["4"], ["2"], ["10 it"])
    assert "teacher" not in link


@pytest.mark.parametrize("name", [lesson.name for lesson in LESSONS])
def test_each_lessons_question_can_be_asked_in_a_room(name: str) -> None:
    app = visit(name)
    question = told(app)["question"]
    room, _ = new_room(now=0)
    room.lead({"do": "poll", **question})
    assert isinstance(room.poll, Poll)
    assert not re.search(r"[*`$\\…]|:\w+\[", room.poll.question)


@pytest.mark.parametrize(
    ("markdown", "plain"),
    [
        ("The :blue[query] of `it`, *twice* **strong**: $q$?", "The query of “it”, “twice” strong: q?"),
        ("Is `` a`b `` a token?", "Is “a`b” a token?"),
        (r"Is \*it\* \$5 or :blue[\[a\]]?", "Is *it* $5 or [a]?"),
        ("y" * 401, "y" * 399 + "…"),
    ],
)
def test_a_question_as_plain_text(markdown: str, plain: str) -> None:
    assert bar._shortened(bar._plain(markdown), MAX_LENGTH) == plain


def test_a_view_does_not_take_along_what_the_teacher_asks() -> None:
    said = told(visit("masks", quiz="Who?", options="the lawyer; the witness", right="the witness"))
    assert not {"quiz", "options", "right"} & parse_qs(said["query"]).keys()
    assert said["question"] == {
        "question": "Who?",
        "sentence": "The dog did not cross the road as it was too tired.",
        "options": ["the lawyer", "the witness"],
        "right": 1,
        "own": True,
    }


def test_the_page_asks_the_browser_to_open_or_to_join() -> None:
    app = visit("classroom")
    assert told(app)["request"] is None
    assert request(press(app, "Join"))[1:] == (
        "join",
        "",
    )  # a phone has not sent the code yet; else the room says why
    opening = request(press(app, "Open a room"))
    assert opening[1:] == ("open", "")
    joining = request(clean(app.text_input(key="room").set_value("abc 234").run()))
    assert joining[1:] == ("join", "abc 234")
    assert joining[0] != opening[0]
    assert request(clean(app.run())) == joining  # once
    assert request(press(app, "Join"))[0] != joining[0]
    assert told(visit("classroom", room="XYZ789"))["request"][1:] == ["join", "XYZ789"]
    link = "http://192.168.178.20:8501/some/path/classroom?theme=dark&room=ABC%20234#top"
    app.text_input(key="room").set_value(f" {link} ").run()
    assert request(clean(app))[1:] == ("join", "ABC 234")


@pytest.mark.parametrize(
    ("seat", "seen"), [(("", False), True), (("ABC234", True), True), (("ABC234", False), False)]
)
def test_who_follows_sees_nothing_of_what_is_for_teachers(seat: tuple[str, bool], seen: bool) -> None:
    app = visit("classroom")
    app.session_state["the seat in a live room"] = bar.Seat(*seat)
    assert ("For teachers" in [each.value for each in clean(app.run()).header]) == seen


def request(app: AppTest) -> tuple[str, str, str]:
    """What the bar will be told to do; in a test without a browser, a second run draws the page alone."""
    found: tuple[str, str, str] = app.session_state["what the bar should do"]
    return found
