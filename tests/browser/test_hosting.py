"""Hosting: with Streamlit's own command, below a path, and in another site's frame."""

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
def visitor(browser: Browser) -> Iterator[Page]:
    """A page in a new browser context."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    yield context.new_page()
    context.close()


def test_streamlit_run_serves_the_app(visitor: Page, tmp_path: Path) -> None:
    with running(tmp_path, STREAMLIT, flags=STREAMLIT_FLAGS) as server:
        visit(visitor, f"{server.url}/classroom")
        expect(visitor.get_by_role("main").get_by_role("heading").first).to_be_visible()
        expect(visitor).to_have_title("Classroom · attnviz")
        expect(menu(visitor).filter(has_text="Learn")).to_be_visible()
        visitor.get_by_role("button", name="Open a room").click()
        expect(visitor.locator(".room-code")).to_be_visible()
        assert server.tracebacks() == []


def test_links_and_rooms_work_below_a_path(visitor: Page, tmp_path: Path) -> None:
    with running(tmp_path, url_prefix="/attn") as server:
        visit(visitor, f"{server.url}?layer=2&head=9")
        expect(visitor.get_by_role("heading", name="Layer 2 · Head 9")).to_be_visible()
        visitor.get_by_role("button", name="Copy link").click()
        copied = visitor.evaluate("navigator.clipboard.readText()")
        assert urlsplit(copied).path == "/attn/"
        assert "layer=2&head=9" in copied
        visit(visitor, f"{server.url}/masks")
        expect(visitor).to_have_title("Masks · attnviz")
        menu(visitor).filter(has_text="Classroom").click()
        visitor.get_by_role("button", name="Open a room").click()
        expect(visitor.locator(".room-code")).to_be_visible()
        assert server.tracebacks() == []


def test_allowed_site_can_embed_app(visitor: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with platform() as site:
        monkeypatch.setenv("ATTNVIZ_FRAME_ANCESTORS", site)
        with running(tmp_path) as server:
            url = server.url.replace("127.0.0.1", "localhost")  # a different site from the platform
            visitor.goto(f"{site}/?{url}/masks?embed=true")
            frame = visitor.frame_locator("iframe")
            expect(frame.get_by_role("heading", name="5 · Masks")).to_be_visible()
            assert server.tracebacks() == []


class _Platform(BaseHTTPRequestHandler):
    """Answer with a page that embeds the URL in the query string."""

    def do_GET(self) -> None:
        inner = self.path.partition("?")[2]
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(f'<iframe src="{inner}" width="1200" height="800"></iframe>'.encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def platform() -> Iterator[str]:
    """Serve a learning platform that embeds pages; yield its URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Platform) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{site.server_port}"
        site.shutdown()
