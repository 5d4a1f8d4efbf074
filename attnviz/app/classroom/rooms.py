"""A live room: the actions of its teacher and students, and the state that each of them sees.

A room is independent of sockets and stores: it is parsed from text, changed, and serialized again.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections import Counter
from collections.abc import Container, Set
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from attnviz.app.home import PAGES
from attnviz.app.question import MAX_LENGTH, checked
from attnviz.app.state.choices import TABLE
from attnviz.errors import AttnvizError, InvalidQuestion

HOURS = 8
"""Maximum lifetime of a room."""

LEFT_SECONDS = 900.0
"""Lifetime of a room after its teacher has left."""

AWAY_SECONDS = 30.0
"""Time without presence updates after which a student counts as gone: their server may have stopped."""

MAX_STUDENTS = 500
"""Maximum number of students in a room."""

INVALID_MESSAGE = "The server cannot read this page's message. Reload the page."

_CODE_CHARACTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # without 0 and O, 1, I and L, which look alike
_CODE = re.compile(f"[{_CODE_CHARACTERS}]{{6}}")
_TOKEN = re.compile(r"[\w-]{16,64}", re.ASCII)
_MAX_QUERY = 3_000  # characters; also in room.js
_MAX_POINT = 500  # characters
_PICTURE = re.compile(r"[\w-]{1,60}", re.ASCII)  # the name of a part of a page
_PLACE = re.compile(r"[\d. -]{1,200}", re.ASCII)  # numbers for an element of the part and a position in it


class Refused(AttnvizError):
    """An invalid action in a room, with a message for the user."""


class NoEntry(Refused):
    """The room does not exist, or the key is wrong; retrying does not help."""


class Person(NamedTuple):
    """A student.

    Attributes:
        seen: Time of the last presence update with this student, in seconds since 1970.
        following: True if the student's page follows the teacher's page.
    """

    seen: float
    following: bool = True


@dataclass
class Poll:
    """A poll.

    Attributes:
        round: Number of this round of voting in the room. A vote includes its round, so that a late vote
            does not count in the next round.
        question, options: The teacher's texts; options are numbered from 0.
        sentence: The sentence that the question is about; "" for none.
        right: The correct option, if any.
        before: Counts of the first vote, if this is the second vote on the same question.
        open: True while voting is possible.
        shown: True if students see the counts and the correct option.
        votes: Latest choice of each voter, by a keyed hash of the voter's token. In an open poll, the votes
            of absent students are kept, and count again when these students return.
    """

    round: int
    question: str
    options: list[str]
    sentence: str = ""
    right: int | None = None
    before: list[int] | None = None
    open: bool = True
    shown: bool = False
    votes: dict[str, int] = field(default_factory=dict)

    def counts(self, here: Container[str]) -> list[int]:
        """Return the number of votes for each option.

        Args:
            here: Voters in the room. In an open poll only their votes count, so that a student who leaves and
                joins again is not counted twice.
        """
        counted = Counter(option for voter, option in self.votes.items() if not self.open or voter in here)
        return [counted[option] for option in range(len(self.options))]

    def vote(self, voter: str, option: int, here: Container[str]) -> None:
        """Record a vote, which replaces the voter's previous one."""
        self.votes[voter] = option
        if len(self.votes) > 2 * MAX_STUDENTS:
            self.votes = self._votes_of(here)

    def close(self, here: Container[str]) -> None:
        """End the vote, and keep only the votes of students who are in the room."""
        if self.open:
            self.votes, self.open = self._votes_of(here), False

    def _votes_of(self, voters: Container[str]) -> dict[str, int]:
        return {voter: option for voter, option in self.votes.items() if voter in voters}

    def visible_to(self, voter: str | None, here: Container[str]) -> dict[str, Any]:
        """Return the state visible to a student, or to the teacher (None)."""
        visible = self.shown or voter is None
        counts = self.counts(here)
        return {
            "round": self.round,
            "question": self.question,
            "sentence": self.sentence,
            "options": self.options,
            "open": self.open,
            "shown": self.shown,
            "votes": sum(counts),
            "mine": self.votes.get(voter or ""),
            "counts": counts if visible else None,
            "before": self.before if visible else None,
            "right": self.right if visible else None,
        }


@dataclass
class Room:
    """A room. It stores only hashes of the teacher's key and of the voters' tokens.

    Attributes:
        ends: Time at which the room ends at the latest, in seconds since 1970.
        key: Hash of the teacher's key.
        salt: Salt of the voters' hashes, which therefore differ between rooms.
        view: The teacher's view: page, URL query, and revealed lessons.
        point: Element that the teacher points at: its part of the page, text and position; see `room.js`.
        rounds: Number of rounds of voting so far.
        people: Students in the room, by the hashes of their tokens.
        last_led: Last recorded time with an open window of the teacher, in seconds since 1970.
    """

    ends: float
    key: str
    salt: str
    view: dict[str, Any] | None = None
    point: dict[str, str] | None = None
    rounds: int = 0
    poll: Poll | None = None
    people: dict[str, Person] = field(default_factory=dict)
    last_led: float = 0.0

    @property
    def until(self) -> float:
        """Time at which the room ends if its teacher does not return, in seconds since 1970."""
        return min(self.ends, self.last_led + LEFT_SECONDS)

    @classmethod
    def parse(cls, text: str) -> Room:
        """Parse a serialized room."""
        fields = json.loads(text)
        fields["people"] = {voter: Person(*person) for voter, person in fields["people"].items()}
        fields["poll"] = fields["poll"] and Poll(**fields["poll"])
        return cls(**fields)

    def serialize(self) -> str:
        """Return the room as text."""
        return json.dumps(asdict(self))

    def visible_to(self, voter: str | None) -> dict[str, Any]:
        """Return the state visible to a student, or to the teacher (None)."""
        here = {
            "here": len(self.people),
            "following": sum(person.following for person in self.people.values()),
        }
        return {
            "view": self.view,
            "point": self.point,
            "poll": self.poll and self.poll.visible_to(voter, self.people),
            "people": here if voter is None else None,
        }

    def teach(self, key: object, now: float) -> None:
        """Admit a window of the teacher.

        Raises:
            NoEntry: the key is not the teacher's.
        """
        if not hmac.compare_digest(_hash(token(key)), self.key):
            raise NoEntry("This room has another teacher.")
        self.last_led = now

    def voter(self, value: object) -> str:
        """Return the id of the student with this browser token.

        Raises:
            NoEntry: the value is not a token.
        """
        return hmac.new(bytes.fromhex(self.salt), token(value).encode(), hashlib.sha256).hexdigest()[:32]

    def join(self, voter: str, now: float) -> None:
        """Admit a new or returning student.

        Raises:
            Refused: the room is full.
        """
        self.update_presence({voter} & set(self.people), set(), now)
        if voter not in self.people and len(self.people) >= MAX_STUDENTS:
            raise Refused(f"This room is full: the limit is {MAX_STUDENTS} students.")
        self.people.setdefault(voter, Person(now))

    def update_presence(self, here: Set[str], left: Set[str], now: float) -> None:
        """Record who is here and who has left; remove students after a timeout."""
        for voter in here:
            following = self.people[voter].following if voter in self.people else True
            self.people[voter] = Person(now, following)
        for voter, person in list(self.people.items()):
            if voter in left or person.seen < now - AWAY_SECONDS:
                del self.people[voter]

    def answer(self, voter: str, message: dict[str, Any]) -> None:
        """Handle a student's message.

        Raises:
            Refused: the action is invalid.
        """
        match message:
            case {"do": "follow", "on": bool(on)}:
                person = self.people.get(voter)
                if person:
                    self.people[voter] = person._replace(following=on)
            case {"do": "vote", "round": int(number), "option": int(option)}:
                poll = self.poll
                if poll is None or poll.round != number or not poll.open:
                    raise Refused("This vote is closed; your answer was not counted.")
                if not 0 <= option < len(poll.options):
                    raise Refused("Invalid answer. Choose one of the options on the page.")
                poll.vote(voter, int(option), self.people)
            case _:
                raise Refused(INVALID_MESSAGE)

    def lead(self, message: dict[str, Any]) -> None:
        """Handle a message from the teacher.

        Raises:
            Refused: the action is invalid.
        """
        match message:
            case {"do": "view", "view": view}:
                before, self.view = self.view, _checked_view(view)
                if before and (before["path"], before["query"]) != (self.view["path"], self.view["query"]):
                    self.point = None  # the element was on the previous page
            case {"do": "point", "point": point}:
                self.point = _checked_point(point)
            case {"do": "poll", "question": str(question), "options": list(options)} if all(
                isinstance(option, str) for option in options
            ):
                self._ask(question, options, message.get("right"), message.get("sentence", ""))
            case {"do": "clear"}:
                self.poll = None
            case {"do": "again" | "close" | "show" as action}:
                self._advance(action)
            case _:
                raise Refused(INVALID_MESSAGE)

    def _ask(self, question: str, options: list[str], right: object, sentence: object) -> None:
        try:
            question, options = checked(question, options)
        except InvalidQuestion as error:
            raise Refused(str(error)) from None
        if right is not None and (not isinstance(right, int) or not 0 <= right < len(options)):
            raise Refused(INVALID_MESSAGE)
        if not isinstance(sentence, str) or len(sentence) > MAX_LENGTH:
            raise Refused(INVALID_MESSAGE)
        self.rounds += 1
        self.poll = Poll(self.rounds, question, options, sentence, None if right is None else int(right))

    def _advance(self, action: str) -> None:
        """Start a second vote, close the vote, or show the counts."""
        if self.poll is None:
            raise Refused("There is no question. Start a poll first.")
        counts = self.poll.counts(self.people)
        if action != "again":
            self.poll.close(self.people)
            self.poll.shown |= action == "show"
        elif self.poll.shown:
            raise Refused("The answer is already shown. A second vote must start before the answer is shown.")
        elif any(counts):  # without votes, the button was just pressed twice
            self.rounds += 1
            self.poll = replace(self.poll, round=self.rounds, before=counts, open=True, votes={})


def new_room(now: float) -> tuple[Room, str]:
    """Return a new room, and the teacher's key, which the room does not store."""
    key = secrets.token_urlsafe(16)
    return Room(now + HOURS * 3600, _hash(key), secrets.token_hex(16), last_led=now), key


def new_code() -> str:
    """Return a random code, one of 31⁶ (about 900 million)."""
    return "".join(secrets.choice(_CODE_CHARACTERS) for _ in range(6))


def code(typed: object) -> str:
    """Normalize a typed code: upper case, no spaces.

    Raises:
        NoEntry: the text is not a code.
    """
    normalized = "".join(typed.upper().split()) if isinstance(typed, str) else ""
    if not _CODE.fullmatch(normalized):
        raise NoEntry(
            "Invalid code. A code has six characters: letters and digits, but never 0, O, 1, I or L."
        )
    return normalized


def no_room(room: str) -> NoEntry:
    """Return the error for a room that does not exist, or has ended."""
    return NoEntry(
        f"There is no room {room}. Compare the code with the teacher's. A room ends when its teacher ends "
        f"it, {LEFT_SECONDS / 60:.0f} minutes after the teacher leaves, or {HOURS} hours after it opens."
    )


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def token(value: object) -> str:
    """Validate a browser's token and return it.

    Raises:
        NoEntry: the value is not a token.
    """
    if not isinstance(value, str) or not _TOKEN.fullmatch(value):
        raise NoEntry(INVALID_MESSAGE)
    return value


def _checked_view(view: object) -> dict[str, Any]:
    match view:
        case {"path": str(path), "query": str(query), "reveal": list(reveal)} if path in PAGES:
            known = {choice.name for choice in TABLE if path in choice.pages and choice.copied}
            names = {name for name, _ in parse_qsl(query, keep_blank_values=True)}
            if names <= known and len(query) <= _MAX_QUERY and PAGES.issuperset(map(str, reveal)):
                return {"path": path, "query": query, "reveal": reveal}
    raise Refused("This view cannot be shown to others: its link is too long or invalid.")


def _checked_point(point: object) -> dict[str, str] | None:
    match point:
        case None:
            return None
        case {"words": str(words), "picture": str(picture), "place": str(place)}:
            if len(words) <= _MAX_POINT and _PICTURE.fullmatch(picture) and _PLACE.fullmatch(place):
                return {"words": words, "picture": picture, "place": place}
    raise Refused("You cannot point at this. Choose another part of a picture.")
