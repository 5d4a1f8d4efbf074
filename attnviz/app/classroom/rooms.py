"""A live room: what its teacher and its students may do, and what each of them sees.

A room knows no socket and no store: it is read from a text, changed, and written as a text again.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections import Counter
from collections.abc import Set
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from attnviz.app.home import PAGES
from attnviz.app.question import LONGEST, checked
from attnviz.app.state.choices import TABLE
from attnviz.errors import AttnvizError, InvalidQuestion

HOURS = 8
"""A room is deleted so long after it was opened."""

AWAY_SECONDS = 30.0
"""Who was not seen for so long has left: the server that saw them last may have ended."""

LEFT_SECONDS = 3600.0
"""A room that its teacher left so long ago makes way for a new one."""

MOST_RESULTS = 20
"""Of so many questions a room keeps the results."""

UNCLEAR = "This page and the server do not understand each other. Reload the page."

_SIGNS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # without 0 and O, 1, I and L, which look alike
_CODE = re.compile(f"[{_SIGNS}]{{6}}")
_TOKEN = re.compile(r"[\w-]{16,64}", re.ASCII)
_MOST_OF_A_QUERY = 3_000  # characters
_MOST_OF_A_POINT = 500  # characters
_PICTURE = re.compile(r"[\w-]{1,60}", re.ASCII)  # the key of a part of a page
_PLACE = re.compile(r"[\d. -]{1,200}", re.ASCII)  # an element of it, and where in that


class Refused(AttnvizError):
    """What a room does not do, in a sentence for whoever asked for it."""


class NoEntry(Refused):
    """A room that one cannot enter, however often one tries."""


class Person(NamedTuple):
    """A student.

    Attributes:
        seen: when they were here last, in seconds since 1970.
        following: whether their page goes where the teacher's goes.
    """

    seen: float
    following: bool = True


@dataclass
class Poll:
    """A question to all.

    Attributes:
        round: how many votes were begun in this room; a vote names it, so that none counts for a later one.
        question, options: as the teacher wrote them; options are counted from 0.
        sentence: what the question is about; "" for none.
        right: the right option, if there is one.
        before: the counts of the first vote, if this is the second on the same question.
        open: whether votes are taken.
        shown: whether the students see the counts.
        votes: the option that each voter, known by a keyed hash, chose last.
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

    def counts(self) -> list[int]:
        """How many voters chose each option."""
        counted = Counter(self.votes.values())
        return [counted[option] for option in range(len(self.options))]

    def result(self) -> dict[str, Any]:
        """What is kept of it, once it is over."""
        return {
            "question": self.question,
            "options": self.options,
            "right": self.right,
            "before": self.before,
            "counts": self.counts(),
        }

    def seen_by(self, voter: str | None) -> dict[str, Any]:
        """What a student sees of it; None: the teacher."""
        told = self.shown or voter is None
        return {
            "round": self.round,
            "question": self.question,
            "sentence": self.sentence,
            "options": self.options,
            "open": self.open,
            "shown": self.shown,
            "votes": len(self.votes),
            "mine": self.votes.get(voter or ""),
            "counts": self.counts() if told else None,
            "before": self.before if told else None,
            "right": self.right if told else None,
        }


@dataclass
class Room:
    """A room. Of the teacher's key and of the voters' tokens it keeps hashes alone.

    Attributes:
        until: when it is deleted, in seconds since 1970.
        key: the hash of the teacher's key.
        salt: with which the voters' tokens are hashed, so that no hash is found again in another room.
        leader: the window from which the teacher leads: the one that opened it, until another asks for it.
        view: where the teacher is: page, query of the address, and which lessons are revealed.
        point: what the teacher points at: in words, the part of the page, and the place there: see `room.js`.
        rounds: how many votes were begun.
        results: of the questions before this one, the oldest first.
        people: the students who are here, by the hashes of their tokens.
        taught: when a window of the teacher's was here last, in seconds since 1970.
        calls: how often the teacher called all back who look around on their own.
    """

    until: float
    key: str
    salt: str
    leader: str
    view: dict[str, Any] | None = None
    point: dict[str, str] | None = None
    rounds: int = 0
    poll: Poll | None = None
    results: list[dict[str, Any]] = field(default_factory=list)
    people: dict[str, Person] = field(default_factory=dict)
    taught: float = 0.0
    calls: int = 0

    @classmethod
    def read(cls, text: str) -> Room:
        """The room that was written so."""
        fields = json.loads(text)
        fields["people"] = {voter: Person(*person) for voter, person in fields["people"].items()}
        fields["poll"] = fields["poll"] and Poll(**fields["poll"])
        return cls(**fields)

    def written(self) -> str:
        """All of it as a text."""
        return json.dumps(asdict(self))

    def seen_by(self, voter: str | None, window: str = "") -> dict[str, Any]:
        """What a student sees of it; None: the teacher, in this window."""
        here = {
            "here": len(self.people),
            "following": sum(person.following for person in self.people.values()),
        }
        return {
            "view": self.view,
            "point": self.point,
            "poll": self.poll and self.poll.seen_by(voter),
            "people": here if voter is None else None,
            "results": self.all_results() if voter is None else None,
            "leads": voter is None and window == self.leader,
            "calls": self.calls,
        }

    def teach(self, key: object) -> None:
        """Let a window of the teacher's in.

        Raises:
            NoEntry: this is not the teacher's key.
        """
        if not hmac.compare_digest(_hash(token(key)), self.key):
            raise NoEntry("This room is led by somebody else.")

    def voter(self, given: object) -> str:
        """Under which name the room knows the student whose browser has this token.

        Raises:
            NoEntry: this is no token.
        """
        return hmac.new(bytes.fromhex(self.salt), token(given).encode(), hashlib.sha256).hexdigest()[:32]

    def join(self, voter: str, now: float, size: int) -> None:
        """Let a student in, or back in.

        Raises:
            Refused: `size` students are here.
        """
        self.meet({voter} & set(self.people), set(), now)
        if voter not in self.people and len(self.people) >= size:
            raise Refused(
                f"This room is full: {size:,} are here, and the server's operator allows no more. "
                "Look on with somebody who is in it."
            )
        self.people.setdefault(voter, Person(now))

    def meet(self, here: Set[str], left: Set[str], now: float) -> None:
        """Note who is here and who has left; forget who was not seen for long."""
        for voter in here:
            following = self.people[voter].following if voter in self.people else True
            self.people[voter] = Person(now, following)
        for voter, person in list(self.people.items()):
            if voter in left or person.seen < now - AWAY_SECONDS:
                del self.people[voter]

    def answer(self, voter: str, message: dict[str, Any]) -> None:
        """Do what a student's message says.

        Raises:
            Refused: it cannot be done.
        """
        match message:
            case {"do": "follow", "on": bool(on)}:
                person = self.people.get(voter)
                if person:
                    self.people[voter] = person._replace(following=on)
            case {"do": "vote", "round": int(number), "option": int(option)}:
                poll = self.poll
                if poll is None or poll.round != number or not poll.open:
                    raise Refused("This vote is closed, so that your answer was not counted.")
                if not 0 <= option < len(poll.options):
                    raise Refused("There is no such answer. Choose one of those on the page.")
                poll.votes[voter] = int(option)
            case _:
                raise Refused(UNCLEAR)

    def lead(self, window: str, message: dict[str, Any]) -> None:
        """Do what a message from a teacher's window says.

        Raises:
            Refused: it cannot be done, or another window leads.
        """
        if message == {"do": "lead"}:
            self.leader = window
            return
        if window != self.leader:
            raise Refused("This room is led from another window.")
        match message:
            case {"do": "view", "view": view}:
                before, self.view = self.view, _checked_view(view)
                if before and (before["path"], before["query"]) != (self.view["path"], self.view["query"]):
                    self.point = None  # what it means stays behind
            case {"do": "point", "point": point}:
                self.point = _checked_point(point)
            case {"do": "ask", "question": str(question), "options": list(options)} if all(
                isinstance(option, str) for option in options
            ):
                self._ask(question, options, message.get("right"), message.get("sentence", ""))
            case {"do": "call"}:
                self.calls += 1
            case {"do": "clear"}:
                self.results, self.poll = self.all_results(), None
            case {"do": "again" | "close" | "show" as what}:
                self._go_on(what)
            case _:
                raise Refused(UNCLEAR)

    def _ask(self, question: str, options: list[str], right: object, sentence: object) -> None:
        try:
            question, options = checked(question, options)
        except InvalidQuestion as error:
            raise Refused(str(error)) from None
        if right is not None and (not isinstance(right, int) or not 0 <= right < len(options)):
            raise Refused(UNCLEAR)
        if not isinstance(sentence, str) or len(sentence) > LONGEST:
            raise Refused(UNCLEAR)
        self.results = self.all_results()
        self.rounds += 1
        self.poll = Poll(self.rounds, question, options, sentence, None if right is None else int(right))

    def _go_on(self, what: str) -> None:
        """Let all vote again, close the vote, or show what came out."""
        if self.poll is None:
            raise Refused("There is no question. Ask one first.")
        if what != "again":
            self.poll.open = False
            self.poll.shown |= what == "show"
        elif self.poll.shown:
            raise Refused("The answer was shown: a second vote comes before that.")
        elif self.poll.votes:  # else it was pressed twice, and this vote has just begun
            self.rounds += 1
            counts = self.poll.counts()
            self.poll = replace(self.poll, round=self.rounds, before=counts, open=True, votes={})

    def all_results(self) -> list[dict[str, Any]]:
        """What was voted so far, with the question that stands; without one that nobody answered."""
        last = [self.poll.result()] if self.poll and (self.poll.votes or self.poll.before) else []
        return [*self.results, *last][-MOST_RESULTS:]


def opened(leader: str, now: float) -> tuple[Room, str]:
    """A new room that is led from this window, and the teacher's key, which is kept nowhere."""
    key = secrets.token_urlsafe(16)
    return Room(now + HOURS * 3600, _hash(key), secrets.token_hex(16), leader, taught=now), key


def new_code() -> str:
    """Six signs that can be read aloud: 31⁶, some nine hundred million."""
    return "".join(secrets.choice(_SIGNS) for _ in range(6))


def code(typed: object) -> str:
    """The code that somebody means: in any case, and with spaces.

    Raises:
        NoEntry: it is no code.
    """
    meant = "".join(typed.upper().split()) if isinstance(typed, str) else ""
    if not _CODE.fullmatch(meant):
        raise NoEntry("This is no room's code: it has six letters and digits, without 0, O, 1, I and L.")
    return meant


def no_room(meant: str) -> NoEntry:
    """Why one cannot enter a room that is not there (any more)."""
    return NoEntry(
        f"There is no room {meant}. Compare the code with the teacher's; a room closes when its teacher ends "
        f"it, {HOURS} hours after it was opened, and if the server keeps it in memory and starts anew."
    )


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def token(given: object) -> str:
    """By what a browser is known, or one of its windows.

    Raises:
        NoEntry: this is no such thing.
    """
    if not isinstance(given, str) or not _TOKEN.fullmatch(given):
        raise NoEntry(UNCLEAR)
    return given


def _checked_view(view: object) -> dict[str, Any]:
    match view:
        case {"path": str(path), "query": str(query), "reveal": list(reveal)} if path in PAGES:
            known = {choice.name for choice in TABLE if path in choice.pages and choice.copied}
            names = {name for name, _ in parse_qsl(query, keep_blank_values=True)}
            if names <= known and len(query) <= _MOST_OF_A_QUERY and PAGES.issuperset(map(str, reveal)):
                return {"path": path, "query": query, "reveal": reveal}
    raise Refused("This view cannot be shown to the others, as its address is too long or no page's.")


def _checked_point(point: object) -> dict[str, str] | None:
    match point:
        case None:
            return None
        case {"words": str(words), "picture": str(picture), "place": str(place)}:
            if len(words) <= _MOST_OF_A_POINT and _PICTURE.fullmatch(picture) and _PLACE.fullmatch(place):
                return {"words": words, "picture": picture, "place": place}
    raise Refused("This cannot be pointed at. Choose something else in a picture.")
