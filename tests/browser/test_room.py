"""A live room: one teacher and three students, one of them on a phone, in one lesson."""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from tests.app.classroom import redis_server
from tests.browser.conftest import new_context
from tests.browser.server import Server, running
from tests.browser.visit import (
    DESKTOP,
    PHONE,
    Faults,
    axe,
    box_of,
    eventually,
    fits,
    menu,
    middle,
    open_room,
    reveal,
    wait_idle,
)

HOSTILE = "<b>Is 2 < 3</b> *or* $x$ :red[not]?"
TIRED = "The dog did not cross the road as it was too tired."
OPTIONS = ("<img src=x onerror=alert(1)>", "**bold** & [link](http://example.invalid)")


class Lesson:
    """The teacher's page and the students' pages in a lesson."""

    def __init__(self, browser: Browser, server: Server, students: Sequence[ViewportSize]) -> None:
        self.url = server.url
        self.faults = Faults(hosts={urlsplit(server.url).netloc})
        contexts = [new_context(browser, self.faults, size, "light") for size in (DESKTOP, *students)]
        self.teacher, *self.students = (context.new_page() for context in contexts)

    def assert_all_show(self, heading: str) -> None:
        for page in (self.teacher, *self.students):
            title = page.get_by_role("heading", name=heading, exact=True)
            expect(title).to_be_visible()

    def close(self) -> None:
        for page in (self.teacher, *self.students):
            page.context.close()


@pytest.fixture
def with_redis(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with redis_server.running() as url:
        monkeypatch.setenv("ATTNVIZ_ROOMS", url)
        yield


def assert_status(page: Page, text: str | re.Pattern[str]) -> None:
    """Check the status line of the room bar."""
    expect(page.get_by_role("region", name="Live room").get_by_role("status")).to_contain_text(text)


def press(page: Page, name: str) -> None:
    page.get_by_role("region", name="Live room").get_by_role("button", name=name, exact=True).click()


def assert_votes(page: Page, *expected: str) -> None:
    lines = page.get_by_role("region", name="Live room").locator(".votes")
    expect(lines).to_have_text([re.compile(rf"^\s*{each}\s*$") for each in expected])


def choose(page: Page, option: int) -> None:
    page.get_by_role("region", name="Live room").locator(".options button").nth(option).click()


@pytest.mark.usefixtures("with_redis")
def test_lesson_in_a_room(browser: Browser, tmp_path: Path) -> None:
    with ExitStack() as stack:
        servers = stack.enter_context(ExitStack())
        server = servers.enter_context(running(folder(tmp_path, "first")))
        lesson = Lesson(browser, server, [PHONE, DESKTOP, DESKTOP])
        stack.callback(lesson.close)
        join(lesson)
        follow(lesson)
        vote(lesson)
        point(lesson)
        leave(lesson)
        check_key_is_secret(lesson, server)
        assert lesson.faults.seen == []
        assert server.tracebacks() == []
        server.process.kill()
        server.process.wait()
        second_server = stack.enter_context(
            running(folder(tmp_path, "second"), port=urlsplit(server.url).port or 0)
        )
        reconnect(lesson)
        assert second_server.tracebacks() == []


def folder(parent: Path, name: str) -> Path:
    (parent / name).mkdir()
    return parent / name


def join(lesson: Lesson) -> None:
    teacher, url = lesson.teacher, f"{lesson.url}/classroom"
    code = open_room(teacher, lesson.url)
    assert re.fullmatch("[2-9A-Z]{6}", code)
    assert code not in teacher.url
    invited, lost, _ = lesson.students
    invited.goto(f"{url}?room={code}")
    for page in lesson.students[1:]:
        page.goto(url)
        box = page.get_by_role("textbox", name="Room code")
        if page == lost:
            box.fill("abc 222")
            box.press("Enter")
            expect(page.get_by_test_id("stAlert")).to_contain_text("There is no room ABC222.")
        box.fill(f"{url}?room={code}" if page == lost else f"{code[:3].lower()} {code[3:]}")
        page.get_by_role("button", name="Join", exact=True).click()
    for page in lesson.students:
        assert_status(page, "Your teacher has not opened a page yet.")
        expect(page.get_by_text(f"You are in room {code}.")).to_be_visible()
    assert_status(teacher, "3 in the room · 3 following.")


def follow(lesson: Lesson) -> None:
    teacher, students = lesson.teacher, lesson.students
    menu(teacher).filter(has_text="Learn").click()
    lesson.assert_all_show("Attention, one question per page")
    teacher.get_by_role("link", name="1 · Attention as a weighted average").click()
    lesson.assert_all_show("1 · Attention as a weighted average")
    reveal(teacher)
    for page in students:
        expect(page.get_by_role("button", name="Cover the answer")).to_be_visible()
    teacher.get_by_role("button", name="Cover the answer").click()
    for page in students:
        expect(page.get_by_text("Your teacher reveals the answer.")).to_be_visible()
    menu(teacher).filter(has_text="Explore").click()
    lesson.assert_all_show("Layer 4 · Head 2")


def vote(lesson: Lesson) -> None:
    teacher, students = lesson.teacher, lesson.students
    teacher.get_by_role("button", name="Write a quiz question").click()
    for label, text in {"Question": HOSTILE, "2 to 6 options": ";".join(OPTIONS)}.items():
        box = teacher.get_by_role("textbox", name=label)
        box.fill(text)
        box.press("Enter")
        wait_idle(teacher)
    expect(teacher.get_by_test_id("stToast")).to_have_count(0)  # axe reports violations in Streamlit's toasts
    assert axe(teacher) == []
    teacher.keyboard.press("Escape")
    press(teacher, "Poll your question")
    for page in students:
        assert "right" not in page.url
        region = page.get_by_role("region", name="Live room")
        expect(region.locator(".question")).to_have_text(HOSTILE)
        expect(region.locator(".sentence")).to_have_text(TIRED)
        expect(region.locator(".options button")).to_have_text(OPTIONS)
        assert_status(page, "Choose one answer.")
    for number, page in enumerate(students):
        choose(page, number % 2)
    choose(students[0], 1)  # changes the vote
    expect(teacher.get_by_text("3 of 3 voted.")).to_be_visible()
    for page in (teacher, students[0]):  # the class may see the teacher's screen on a projector
        assert_votes(page, "", "")
    press(teacher, "Show the votes on this screen")
    assert_votes(teacher, "1", "2")
    assert_votes(students[0], "", "")
    phone = students[0]
    assert axe(phone) == []
    assert fits(phone)
    press(teacher, "Close the vote")
    expect(phone.get_by_role("button", name=OPTIONS[0])).to_be_disabled()
    press(teacher, "Vote again")  # after a discussion, before the answer is shown
    for page in students:
        choose(page, 1)
    expect(teacher.get_by_text("3 of 3 voted in the second vote.")).to_be_visible()
    press(teacher, "Show votes and answer to all")
    for page in (teacher, *students):
        assert_votes(page, "first 1now 0", "first 2now 3")
    remove = teacher.get_by_role("button", name="Remove this question")
    remove.click()
    expect(remove).to_have_count(0)
    expect(teacher).not_to_have_url(re.compile("quiz="))


def point(lesson: Lesson) -> None:
    """Check that a head at which the teacher points is framed and scrolled into view for the students."""
    teacher, phone = lesson.teacher, lesson.students[0]
    frame = phone.locator(".room-bar .spot")
    press(teacher, "Point")
    assert_status(teacher, "Click what you want to point at.")
    head = re.compile("^Layer 2, head 3:")
    teacher.get_by_role("gridcell", name=head).click()
    for page in lesson.students:
        assert_status(page, "Look at “Layer 2, head 3: ")
    assert_framed(frame, phone.get_by_role("gridcell", name=head))
    press(teacher, "Point")
    assert_status(phone, re.compile(r"teacher\.$"))
    expect(frame).to_be_hidden()


@eventually
def assert_framed(frame: Locator, thing: Locator) -> None:
    """Check that the element is framed and in view."""
    expect(thing).to_be_in_viewport(ratio=0.9, timeout=1000)
    inner, outer = box_of(thing), box_of(frame)
    assert middle(frame) == pytest.approx(middle(thing), abs=1)
    assert outer["width"] - inner["width"] == pytest.approx(16, abs=1)


def leave(lesson: Lesson) -> None:
    student, other = lesson.students[1:]
    title = "Learn"
    press(student, "Stop following")
    assert_status(lesson.teacher, "3 in the room · 2 following.")
    menu(lesson.teacher).filter(has_text="Learn").click()
    expect(other.get_by_role("heading", name=title)).to_be_visible()
    expect(student.get_by_role("heading", name="Layer 4 · Head 2", exact=True)).to_be_visible()
    press(student, "Follow again")
    lesson.assert_all_show(title)
    assert_status(lesson.teacher, "3 in the room · 3 following.")


def check_key_is_secret(lesson: Lesson, server: Server) -> None:
    """Check that only the teacher's browser has the room's key."""
    key = lesson.teacher.evaluate("JSON.parse(localStorage['attnviz:room']).key")
    texts = [server.log.read_text("utf-8"), lesson.teacher.url]
    for page in lesson.students:
        texts += [page.url, page.content(), page.evaluate("JSON.stringify({ ...localStorage })")]
    assert len(key) > 20
    assert not any(key in each for each in texts)


def reconnect(lesson: Lesson) -> None:
    """Check that the room survives a restart of the server."""
    assert_status(lesson.teacher, "3 in the room · 3 following.")
    assert_votes(lesson.teacher, "first 1now 0", "first 2now 3")
    for page in (lesson.teacher, *lesson.students):  # wait until the page has reconnected
        wait_idle(page)
    menu(lesson.teacher).filter(has_text="Heads").click()
    lesson.assert_all_show("Heads at work")
    end = lesson.teacher.get_by_role("region", name="Live room").get_by_role("button", name="End room")
    end.dblclick()  # two separate clicks could be too far apart on a busy machine
    for page in lesson.students:
        expect(page.get_by_role("alert")).to_contain_text("This room has ended.")
    expect(lesson.teacher.get_by_role("region", name="Live room")).to_be_hidden()
