"""The room bar: the messages that pages send to it, and what a follower sees on the page Classroom."""

import re
from typing import Any
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.classroom import bar
from attnviz.app.classroom.rooms import Poll, new_room
from attnviz.app.lessons.contents import LESSONS
from attnviz.app.question import MAX_LENGTH
from tests.app.shown import clean, message_to, press, visit


def bar_message(app: AppTest) -> dict[str, Any]:
    return message_to(app, "room_bar")


def test_bar_gets_the_complete_link_without_private_parameters() -> None:
    message = bar_message(visit("masks", teacher="true"))
    link = parse_qs(message["query"])
    assert message["page"] == "masks"
    assert (link["layer"], link["head"], link["query"]) == (["4"], ["2"], ["10 it"])
    assert "teacher" not in link


@pytest.mark.parametrize("name", [lesson.name for lesson in LESSONS])
def test_question_of_each_lesson_can_be_polled_in_a_room(name: str) -> None:
    app = visit(name)
    question = bar_message(app)["question"]
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
def test_question_is_converted_to_plain_text(markdown: str, plain: str) -> None:
    assert bar._shortened(bar._plain(markdown), MAX_LENGTH) == plain


def test_link_of_the_view_omits_the_teachers_question() -> None:
    message = bar_message(visit("masks", quiz="Who?", options="the lawyer; the witness", right="the witness"))
    assert not {"quiz", "options", "right"} & parse_qs(message["query"]).keys()
    assert message["question"] == {
        "question": "Who?",
        "sentence": "The dog did not cross the road as it was too tired.",
        "options": ["the lawyer", "the witness"],
        "right": 1,
        "own": True,
    }


def test_buttons_request_opening_or_joining_a_room() -> None:
    app = visit("classroom")
    assert bar_message(app)["request"] is None
    # A phone may not have sent the code yet; the room refuses an empty code.
    assert request(press(app, "Join"))[1:] == ("join", "")
    opening = request(press(app, "Open a room"))
    assert opening[1:] == ("open", "")
    joining = request(clean(app.text_input(key="room").set_value("abc 234").run()))
    assert joining[1:] == ("join", "abc 234")
    assert joining[0] != opening[0]
    assert request(clean(app.run())) == joining  # a rerun repeats no request
    assert request(press(app, "Join"))[0] != joining[0]
    assert bar_message(visit("classroom", room="XYZ789"))["request"][1:] == ["join", "XYZ789"]
    link = "http://192.168.178.20:8501/some/path/classroom?theme=dark&room=ABC%20234#top"
    app.text_input(key="room").set_value(f" {link} ").run()
    assert request(clean(app))[1:] == ("join", "ABC 234")


@pytest.mark.parametrize(
    ("seat", "visible"), [(("", False), True), (("ABC234", True), True), (("ABC234", False), False)]
)
def test_followers_do_not_see_sections_for_teachers(seat: tuple[str, bool], visible: bool) -> None:
    app = visit("classroom")
    app.session_state["the seat in a live room"] = bar.Seat(*seat)
    assert ("For teachers" in [each.value for each in clean(app.run()).header]) == visible


def request(app: AppTest) -> tuple[str, str, str]:
    """Return the page's request to the bar: its id, the action, and the room's code."""
    found: tuple[str, str, str] = app.session_state["the action requested from the browser"]
    return found
