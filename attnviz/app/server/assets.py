"""Scripts and style sheets of the app's pages, compressed once and cached by browsers."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from functools import lru_cache
from pathlib import Path

import streamlit as st
from anyio import to_thread
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.file_util import get_static_dir

from attnviz.widgets import code

_STATIC = Path(get_static_dir()).resolve()
_TEXTS = {".js", ".css"}
_YEAR_SECONDS = 365 * 24 * 60 * 60

WIDGETS = f"attnviz-{hashlib.sha256(code.bundle('app').encode()).hexdigest()[:16]}.js"
"""File name of the script with all widgets, with a content hash, so that browsers can cache it."""


class Assets:
    """Middleware that serves scripts and style sheets with gzip.

    Streamlit sends them uncompressed: the first visit loads 3 MB, which takes a minute on a slow network.

    Args:
        app: The application for all other requests.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._root = root()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI request."""
        if scope["type"] == "http" and scope["method"] == "GET" and scope["path"].startswith(self._root):
            name = scope["path"].removeprefix(self._root)
            gzipped = "gzip" in Headers(scope=scope).get("accept-encoding", "")
            body = await to_thread.run_sync(_asset, name, gzipped) if name == WIDGETS or gzipped else None
            if body is not None:
                headers = {
                    "Cache-Control": f"public, max-age={_YEAR_SECONDS}, immutable",
                    "Vary": "Accept-Encoding",
                    **({"Content-Encoding": "gzip"} if gzipped else {}),
                }
                kind = mimetypes.guess_type(name)[0]
                await Response(body, headers=headers, media_type=kind)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def root() -> str:
    """Return the path of the first page: "/", or "/attn/" if `server.baseUrlPath` is "attn"."""
    base = str(st.get_option("server.baseUrlPath")).strip("/")
    return f"/{base}/" if base else "/"


@lru_cache(maxsize=512)
def _asset(name: str, gzipped: bool) -> bytes | None:
    """Return a script or a style sheet, optionally gzipped; None for any other name."""
    if name == WIDGETS:
        content = code.bundle("app").encode()
    else:
        file = (_STATIC / name).resolve()
        if not (name.startswith("static/") and file.suffix in _TEXTS and file.is_relative_to(_STATIC)):
            return None
        if not file.is_file():
            return None
        content = file.read_bytes()
    return gzip.compress(content, mtime=0) if gzipped else content
