"""The app where others host it: by Streamlit's own command, below a path, in another site's frame."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.server import running
from tests.browser.visit import menu, visit

STREAMLIT = (sys.executable, "-m", "streamlit", "run", "app.py")
STREAMLIT_FLAGS = ("--server.port", "--server.address")


@pytest.fixture
def stranger(browser: Browser) -> Iterator[Page]:
    """A new browser's window."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    yield context.new_page()
    context.close()


def test_streamlits_own_command_serves_the_first_visitor(stranger: Page, tmp_path: Path) -> None:
    with running(tmp_path, STREAMLIT, flags=STREAMLIT_FLAGS) as server:
        visit(stranger, f"{server.url}/classroom")
        expect(stranger.get_by_role("main").get_by_role("heading").first).to_be_visible()
        expect(stranger).to_have_title("Classroom · attnviz")
        expect(menu(stranger).filter(has_text="Learn")).to_be_visible()
        stranger.get_by_role("button", name="Open a room").click()
        expect(stranger.locator(".room-code")).to_be_visible()
        assert server.tracebacks() == []


def test_below_a_path_links_and_rooms_work(stranger: Page, tmp_path: Path) -> None:
    with running(tmp_path, below="/attn") as server:
        visit(stranger, f"{server.url}?layer=2&head=9")
        expect(stranger.get_by_role("heading", name="Layer 2 · Head 9")).to_be_visible()
        stranger.get_by_role("button", name="Copy link").click()
        copied = stranger.evaluate("navigator.clipboard.readText()")
        assert urlsplit(copied).path == "/attn/"
        assert "layer=2&head=9" in copied
        visit(stranger, f"{server.url}/masks")
        expect(stranger).to_have_title("Masks · attnviz")
        menu(stranger).filter(has_text="Classroom").click()
        stranger.get_by_role("button", name="Open a room").click()
        expect(stranger.locator(".room-code")).to_be_visible()
        assert server.tracebacks() == []


def test_a_site_that_the_operator_names_may_show_the_app_in_a_frame(
    stranger: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with platform() as site:
        monkeypatch.setenv("ATTNVIZ_FRAME_ANCESTORS", site)
        with running(tmp_path) as server:
            address = server.url.replace("127.0.0.1", "localhost")  # another site than the platform's
            stranger.goto(f"{site}/?{address}/masks?embed=true")
            frame = stranger.frame_locator("iframe")
            expect(frame.get_by_role("heading", name="5 · Masks")).to_be_visible()
            assert server.tracebacks() == []


class _Platform(BaseHTTPRequestHandler):
    """Answers with a page that shows what stands behind the question mark in a frame."""

    def do_GET(self) -> None:
        inner = self.path.partition("?")[2]
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(f'<iframe src="{inner}" width="1200" height="800"></iframe>'.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def platform() -> Iterator[str]:
    """The address of a learning platform."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Platform) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{site.server_port}"
        site.shutdown()
