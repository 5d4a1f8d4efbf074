"""A Hugging Face hub on this machine, which serves folders and remembers what was asked of it."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from huggingface_hub import constants

from attnviz.models import allowed, hub_files
from attnviz.models.hub import fetch_listing

COMMIT = "0123456789abcdef0123456789abcdef01234567"
"""The one commit that every repository has."""

REVISIONS = ("main", "v1", COMMIT)
"""What that commit is called."""


@dataclass
class FakeHub:
    """What the server serves, how it behaves, and what was asked of it.

    Attributes:
        folders: what lies in each repository.
        gated, private: repositories whose files only some may read, or nobody may know of.
        failing: repositories at which the server fails, with that status.
        slow: seconds before each answer.
        pieces: seconds before each piece of a file of weights.
        asked: (method, path) of every request, oldest first.
        url: where it answers.
    """

    folders: dict[str, Path]
    gated: set[str] = field(default_factory=set)
    private: set[str] = field(default_factory=set)
    failing: dict[str, int] = field(default_factory=dict)
    slow: float = 0.0
    pieces: float = 0.0
    asked: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""

    def files(self, method: str = "GET") -> list[str]:
        """The names of the files that were asked for, oldest first."""
        return [
            path.rsplit("/", 1)[-1] for asked, path in self.asked if asked == method and "/resolve/" in path
        ]


@contextmanager
def serving(**settings: Any) -> Iterator[FakeHub]:
    """A hub that answers as long as the block runs; the settings are `FakeHub`'s."""
    hub = FakeHub(**settings)

    class Handler(_Handler):
        serves = hub

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def go_online(hub: FakeHub, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process ask that hub, keep what it gets in an empty cache, and remember nothing of others."""
    for name, value in (
        ("HF_HUB_OFFLINE", False),
        ("HF_HUB_DISABLE_TELEMETRY", True),
        ("HF_HUB_CACHE", str(cache)),
    ):
        monkeypatch.setattr(constants, name, value)
    monkeypatch.setattr(hub_files, "endpoint", lambda: hub.url)
    monkeypatch.setattr(allowed, "_opened", {})
    fetch_listing.cache_clear()


class _Handler(BaseHTTPRequestHandler):
    """Answers as the hub does, in what huggingface_hub asks of it."""

    serves: FakeHub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, *_: object) -> None:
        """Into no log: the tests read `asked`."""

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.serves.asked.append((self.command, path))
        time.sleep(self.serves.slow)
        api = path.removeprefix("/api/models/")
        if api != path:
            repository, _, revision = api.partition("/revision/")
        else:
            repository, _, wanted = path.strip("/").partition("/resolve/")
            revision, _, file = wanted.partition("/")
        if repository in self.serves.failing:
            self._say(self.serves.failing[repository], "text/html", b"<html>Log in!</html>")
        elif repository in self.serves.private or repository not in self.serves.folders:
            self._refuse(401, "RepoNotFound", "Invalid username or password.")
        elif revision and revision not in REVISIONS:
            self._refuse(404, "RevisionNotFound", "Invalid rev id.")
        elif api != path:
            self._list(repository)
        elif repository in self.serves.gated:
            self._refuse(403, "GatedRepo", "Access to this model is restricted.")
        else:
            self._send(self.serves.folders[repository], file)

    def _list(self, repository: str) -> None:
        folder = self.serves.folders[repository]
        files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
        told = {
            "id": repository,
            "modelId": repository,
            "sha": COMMIT,
            "private": False,
            "gated": "auto" if repository in self.serves.gated else False,
            "tags": [],
            "downloads": 0,
            "likes": 0,
            "siblings": [
                {
                    "rfilename": str(file.relative_to(folder)),
                    "size": file.stat().st_size,
                    "blobId": _digest(file),
                }
                for file in files
            ],
        }
        self._say(200, "application/json", json.dumps(told).encode())

    def _send(self, folder: Path, name: str) -> None:
        file = folder / name
        if not file.is_file():
            self._refuse(404, "EntryNotFound", "Entry not found")
            return
        content, status = file.read_bytes(), 200
        named = {"X-Repo-Commit": COMMIT, "ETag": f'"{_digest(file)}"', "Accept-Ranges": "bytes"}
        asked = self.headers.get("Range", "")
        if asked.startswith("bytes="):
            first, _, last = asked.removeprefix("bytes=").partition("-")
            named["Content-Range"] = f"bytes {first}-{last or len(content) - 1}/{len(content)}"
            content, status = content[int(first) : int(last) + 1 if last else None], 206
        self._say(status, "application/octet-stream", content, named)

    def _refuse(self, status: int, code: str, message: str) -> None:
        self._say(status, "application/json", b"{}", {"X-Error-Code": code, "X-Error-Message": message})

    def _say(self, status: int, kind: str, content: bytes, named: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for header, value in {
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            **(named or {}),
        }.items():
            self.send_header(header, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        try:
            for start in range(0, len(content), _PIECE):
                self.wfile.write(content[start : start + _PIECE])
                if len(content) > _PIECE:
                    time.sleep(self.serves.pieces)
        except ConnectionError:
            pass  # whoever asked has had enough


_PIECE = 1_000_000


def _digest(file: Path) -> str:
    return hashlib.sha1(file.read_bytes(), usedforsecurity=False).hexdigest()
