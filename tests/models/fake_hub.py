"""A local imitation of the Hugging Face hub that serves folders and records requests."""

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
"""The only commit of every repository."""

REVISIONS = ("main", "v1", COMMIT)
"""Existing revisions; all refer to `COMMIT`."""


@dataclass
class FakeHub:
    """The contents, behaviour and requests of the server.

    Attributes:
        folders: the folder of each repository.
        gated: repositories whose files require agreement to conditions.
        private: repositories that appear not to exist.
        failing: HTTP status of every response for a repository.
        delay: seconds before each response.
        chunk_delay: seconds after each chunk of a large file.
        requests: (method, path) of every request, oldest first.
        url: URL of the server.
    """

    folders: dict[str, Path]
    gated: set[str] = field(default_factory=set)
    private: set[str] = field(default_factory=set)
    failing: dict[str, int] = field(default_factory=dict)
    delay: float = 0.0
    chunk_delay: float = 0.0
    requests: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""

    def files(self, method: str = "GET") -> list[str]:
        """Return the names of the requested files, oldest first."""
        return [
            path.rsplit("/", 1)[-1]
            for requested, path in self.requests
            if requested == method and "/resolve/" in path
        ]


@contextmanager
def serving(**settings: Any) -> Iterator[FakeHub]:
    """Run a fake hub inside the `with` block; the settings are fields of `FakeHub`."""
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
    """Make this process use the fake hub, with an empty cache."""
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
    """The hub's endpoints that huggingface_hub uses."""

    serves: FakeHub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, *_: object) -> None:
        """Log nothing: the tests read `requests`."""

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.serves.requests.append((self.command, path))
        time.sleep(self.serves.delay)
        api = path.removeprefix("/api/models/")
        if api != path:
            repository, _, revision = api.partition("/revision/")
        else:
            repository, _, rest = path.strip("/").partition("/resolve/")
            revision, _, file = rest.partition("/")
        if repository in self.serves.failing:
            self._respond(self.serves.failing[repository], "text/html", b"<html>Log in!</html>")
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
        info = {
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
        self._respond(200, "application/json", json.dumps(info).encode())

    def _send(self, folder: Path, name: str) -> None:
        file = folder / name
        if not file.is_file():
            self._refuse(404, "EntryNotFound", "Entry not found")
            return
        content, status = file.read_bytes(), 200
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{_digest(file)}"', "Accept-Ranges": "bytes"}
        byte_range = self.headers.get("Range", "")
        if byte_range.startswith("bytes="):
            first, _, last = byte_range.removeprefix("bytes=").partition("-")
            headers["Content-Range"] = f"bytes {first}-{last or len(content) - 1}/{len(content)}"
            content, status = content[int(first) : int(last) + 1 if last else None], 206
        self._respond(status, "application/octet-stream", content, headers)

    def _refuse(self, status: int, code: str, message: str) -> None:
        self._respond(status, "application/json", b"{}", {"X-Error-Code": code, "X-Error-Message": message})

    def _respond(self, status: int, kind: str, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for header, value in {
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            **(headers or {}),
        }.items():
            self.send_header(header, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        try:
            for start in range(0, len(content), _CHUNK):
                self.wfile.write(content[start : start + _CHUNK])
                if len(content) > _CHUNK:
                    time.sleep(self.serves.chunk_delay)
        except ConnectionError:
            pass  # the client stopped the download


_CHUNK = 1_000_000


def _digest(file: Path) -> str:
    return hashlib.sha1(file.read_bytes(), usedforsecurity=False).hexdigest()
