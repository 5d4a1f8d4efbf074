"""The rules of a room: the permissions, the counts, and the data shown to students."""

import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from attnviz.app.classroom import rooms
from attnviz.app.classroom.rooms import (
    AWAY_SECONDS,
    LEFT_SECONDS,
    MAX_STUDENTS,
    NoEntry,
    Person,
    Refused,
    Room,
)

NOW = 1_800_000_000.0
TOKENS = [f"{name:-<20}" for name in "abcde"]
OPTIONS = ["dog", "road", "it"]
SENTENCE = "The dog ran over the road as it was free."
POLL = {"do": "poll", "question": "What does it mean?", "sentence": SENTENCE, "options": OPTIONS, "right": 0}
POINT = {"words": "it", "picture": "slide-head", "place": "0.2.11"}
VIEW = {"path": "masks", "query": "layer=4&text=The+dog", "reveal": ["masks"]}


def open_room() -> Room:
    return rooms.new_room(NOW)[0]


def join_room(room: Room, token: str) -> str:
    voter = room.voter(token)
    room.join(voter, NOW)
    return voter


class Lesson(RuleBasedStateMachine):
    """Random actions in a room, with the expected votes of present (`votes`) and `absent` students."""

    @initialize()
    def open(self) -> None:
        self.room = open_room()
        self.votes: dict[str, int] = {}
        self.absent: dict[str, int] = {}
        self.before: list[int] | None = None
        self.has_poll, self.is_open, self.is_shown, self.round = False, False, False, 0
        self.joined: list[str] = []

    def counts(self) -> list[int]:
        return [Counter(self.votes.values())[option] for option in range(len(OPTIONS))]

    @rule(token=st.sampled_from(TOKENS))
    def join(self, token: str) -> None:
        voter = join_room(self.room, token)
        if voter not in self.joined:
            self.joined.append(voter)
        if voter in self.absent:
            self.votes[voter] = self.absent.pop(voter)

    @precondition(lambda self: self.joined)
    @rule(data=st.data(), times_out=st.booleans())
    def leave(self, data: st.DataObject, *, times_out: bool) -> None:
        voter = data.draw(st.sampled_from(self.joined))
        self.joined.remove(voter)
        if times_out:
            self.room.people[voter] = Person(NOW - AWAY_SECONDS - 1)
        self.room.update_presence(set(), set() if times_out else {voter}, NOW)
        if self.is_open and voter in self.votes:
            self.absent[voter] = self.votes.pop(voter)

    @rule()
    def start_poll(self) -> None:
        self.room.lead(POLL)
        self.has_poll, self.is_open, self.is_shown, self.before, self.votes = True, True, False, None, {}
        self.absent = {}
        self.round += 1

    @precondition(lambda self: self.has_poll)
    @rule()
    def vote_again(self) -> None:
        if self.is_shown:
            with pytest.raises(Refused, match="The answer is already shown"):
                self.room.lead({"do": "again"})
            return
        self.room.lead({"do": "again"})
        if not self.votes:  # a double click discards no votes
            return
        self.is_open, self.is_shown, self.before, self.votes = True, False, self.counts(), {}
        self.absent = {}
        self.round += 1

    @precondition(lambda self: self.has_poll)
    @rule(action=st.sampled_from(["close", "show"]))
    def end_poll(self, action: str) -> None:
        self.room.lead({"do": action})
        self.is_open, self.is_shown, self.absent = False, self.is_shown or action == "show", {}

    @precondition(lambda self: self.joined)
    @rule(data=st.data(), behind=st.integers(0, 1), option=st.integers(-1, len(OPTIONS)))
    def vote(self, data: st.DataObject, behind: int, option: int) -> None:
        voter = data.draw(st.sampled_from(self.joined))
        message = {"do": "vote", "round": self.round - behind, "option": option}
        if self.has_poll and self.is_open and not behind and option in range(len(OPTIONS)):
            self.room.answer(voter, message)
            self.votes[voter] = option
        else:
            with pytest.raises(Refused, match=r"closed|Invalid answer"):
                self.room.answer(voter, message)

    @invariant()
    def counts_are_correct(self) -> None:
        if not self.has_poll:
            return
        poll = self.room.visible_to(None)["poll"]
        assert (poll["counts"], poll["before"], poll["votes"]) == (
            self.counts(),
            self.before,
            len(self.votes),
        )
        assert sum(poll["counts"]) == len(self.votes)
        assert not self.is_open or len(self.votes) <= len(self.joined)

    @invariant()
    def students_see_results_only_when_shown(self) -> None:
        if not self.has_poll:
            return
        for voter in self.joined:
            poll = self.room.visible_to(voter)["poll"]
            assert poll["mine"] == self.votes.get(voter)
            results = (self.counts(), self.before, 0) if self.is_shown else (None, None, None)
            assert (poll["counts"], poll["before"], poll["right"]) == results

    @invariant()
    def serialized_room_is_parsed_unchanged(self) -> None:
        assert Room.parse(self.room.serialize()) == self.room


TestLesson = Lesson.TestCase
TestLesson.settings = settings(max_examples=40, stateful_step_count=25)


def test_students_who_left_or_timed_out_are_not_counted() -> None:
    room = open_room()
    remaining, leaving, _ = (join_room(room, token) for token in TOKENS[:3])
    room.answer(remaining, {"do": "follow", "on": False})
    room.update_presence({remaining}, {leaving}, NOW + AWAY_SECONDS / 2)
    assert len(room.people) == 2
    room.update_presence(set(), set(), NOW + AWAY_SECONDS + 1)
    assert room.visible_to(None)["people"] == {"here": 1, "following": 0}


def test_full_room_refuses_new_students_but_not_returning_ones() -> None:
    room = open_room()
    for number in range(MAX_STUDENTS):
        join_room(room, f"{number:0>20}")
    with pytest.raises(Refused, match="full: the limit is 500 students"):
        join_room(room, TOKENS[0])
    join_room(room, f"{0:0>20}")


def test_rejoining_under_another_token_counts_only_one_vote() -> None:
    room = open_room()
    room.lead(POLL)
    honest = join_room(room, TOKENS[0])
    room.answer(honest, {"do": "vote", "round": 1, "option": 0})
    for number in range(3 * MAX_STUDENTS):
        voter = join_room(room, f"{number:0>20}")
        room.answer(voter, {"do": "vote", "round": 1, "option": 1})
        assert room.visible_to(None)["poll"]["counts"] == [1, 1, 0]
        room.update_presence(set(), {voter}, NOW)
    assert len(room.poll.votes) <= 2 * MAX_STUDENTS  # type: ignore[union-attr]
    join_room(room, f"{3 * MAX_STUDENTS - 1:0>20}")
    assert room.visible_to(None)["poll"]["counts"] == [1, 1, 0]


def test_room_ends_15_minutes_after_the_teacher_left_or_8_hours_after_opening() -> None:
    room, key = rooms.new_room(NOW)
    assert room.until == NOW + LEFT_SECONDS == NOW + 15 * 60
    room.teach(key, NOW + 600)
    assert room.until == NOW + 25 * 60
    room.teach(key, NOW + 8 * 3600 - 1)
    assert room.until == NOW + 8 * 3600


def test_room_stores_no_key_or_token_and_salts_its_hashes() -> None:
    room, key = rooms.new_room(NOW)
    voter = join_room(room, TOKENS[0])
    assert len(key) == 22
    assert key not in room.serialize()
    assert TOKENS[0] not in room.serialize()
    assert open_room().voter(TOKENS[0]) != voter == room.voter(TOKENS[0])


@pytest.mark.parametrize("change", [{"path": "explore"}, {"query": "layer=5"}])
def test_pointing_ends_when_the_view_changes(change: dict[str, str]) -> None:
    room = open_room()
    room.lead({"do": "view", "view": VIEW})
    room.lead({"do": "point", "point": POINT})
    room.lead({"do": "view", "view": VIEW | {"reveal": []}})
    assert room.point
    room.lead({"do": "view", "view": VIEW | change})
    assert room.point is None


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (POLL | {"question": " "}, "The question is missing"),
        (POLL | {"question": 3}, "cannot read"),
        (POLL | {"options": ["dog", 3]}, "cannot read"),
        (POLL | {"right": 3}, "cannot read"),
        (POLL | {"sentence": 3}, "cannot read"),
        (POLL | {"sentence": "x" * 401}, "cannot read"),
        ({"do": "again"}, "Start a poll first"),
        ({"do": "vote", "round": 1, "option": 0}, "cannot read"),
        ({}, "cannot read"),
        *(
            ({"do": "view", "view": view}, "cannot be shown")
            for view in (
                None,
                "masks",
                VIEW | {"path": "//evil.example"},
                VIEW | {"path": "../masks"},
                VIEW | {"query": "layer=4&evil=1"},
                VIEW | {"query": "text=" + "x" * 3_000},
                VIEW | {"reveal": "masks"},
            )
        ),
        *(
            ({"do": "point", "point": point}, "You cannot point at this")
            for point in (
                4,
                {"words": "head"},
                POINT | {"words": 4},
                POINT | {"words": "x" * 501},
                POINT | {"picture": "a] b"},
                POINT | {"place": "0 <b>"},
            )
        ),
    ],
)
def test_invalid_message_of_a_teacher_changes_nothing(message: dict[str, Any], error: str) -> None:
    room = open_room()
    before = room.serialize()
    with pytest.raises(Refused, match=error):
        room.lead(message)
    assert room.serialize() == before


@pytest.mark.parametrize(
    "message",
    [{"do": "vote", "round": "1", "option": 0}, {"do": "follow"}, {"do": "clear"}, POLL, {"do": ["vote"]}],
)
def test_students_can_only_vote_and_follow(message: dict[str, Any]) -> None:
    room = open_room()
    room.lead(POLL)
    voter = join_room(room, TOKENS[0])
    before = room.serialize()
    with pytest.raises(Refused, match="cannot read"):
        room.answer(voter, message)
    assert room.serialize() == before


@pytest.mark.parametrize("token", ["", "x" * 15, "x" * 65, "ä" * 20, "\ud800" * 20, 17, None])
def test_invalid_token_is_refused(token: object) -> None:
    room = open_room()
    with pytest.raises(NoEntry, match="cannot read"):
        room.voter(token)
    with pytest.raises(NoEntry, match="cannot read"):
        room.teach(token, NOW)


def test_code_is_accepted_in_lower_case_and_with_spaces() -> None:
    code = rooms.new_code()
    assert re.fullmatch("[2-9A-HJKMNP-Z]{6}", code)
    assert rooms.code(f" {code[:3].lower()} {code[3:]}\n") == code


@pytest.mark.parametrize(
    "typed", ["ABCDE", "ABCDEFG", "ABCDE0", "ABCDE1", "äbcdef", "\ud800" * 6, 123456, None]
)
def test_invalid_code_is_refused(typed: object) -> None:
    with pytest.raises(NoEntry, match="six characters"):
        rooms.code(typed)
