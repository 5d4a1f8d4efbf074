"""Streamlit's index page, with each page's title and a description for link previews."""

from __future__ import annotations

import re
from functools import partial
from html import escape
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from streamlit.file_util import get_static_dir

from attnviz.app import frame
from attnviz.app.server import assets

_DESCRIPTION = "See what attention does in a transformer: every head, every number, for your own sentence."


def routes() -> list[Route]:
    """Return the routes of the pages and the icon, below `server.baseUrlPath`."""
    root = assets.root()
    index = (Path(get_static_dir()) / "index.html").read_text("utf-8")
    pages = {root + ("" if name == "explore" else name): title for name, title in frame.TITLES.items()}
    return [
        *([] if root == "/" else [Route(root.rstrip("/"), partial(_redirect, to=root))]),
        *(Route(path, partial(_answer, html=_with_title(index, title))) for path, title in pages.items()),
        Route(f"{root}favicon.png", _icon),
    ]


def _with_title(index: str, title: str) -> str:
    """Return Streamlit's index page with this title and a description."""
    name = escape(f"{title} · attnviz")
    metadata = (
        f'<title>{name}</title><meta name="description" content="{escape(_DESCRIPTION)}" />'
        f'<meta property="og:title" content="{name}" />'
        f'<meta property="og:description" content="{escape(_DESCRIPTION)}" />'
    )
    # Preloading the font would delay the scripts on a slow network; the font loads when text needs it.
    without_font = re.sub(r'<link\s+rel="preload"[^>]*as="font"[^>]*>', "", index)
    return re.sub("<title>.*?</title>", metadata, without_font, count=1)


async def _answer(_: Request, html: str) -> Response:
    return HTMLResponse(html, headers={"Cache-Control": "no-cache"})


async def _icon(_: Request) -> Response:
    return FileResponse(frame.ICON, headers={"Cache-Control": "max-age=86400"})


async def _redirect(request: Request, to: str) -> Response:
    return RedirectResponse(f"{to}?{request.url.query}".rstrip("?"))
