"""What every answer of the server forbids the browser, and which requests are no requests at all."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from attnviz.errors import WrongSetting

SETTING = "ATTNVIZ_FRAME_ANCESTORS"
"""The environment variable with the sites that may show the app in a frame, separated by spaces."""

_SITE = re.compile(r"\*|'self'|(https?://)?(\*\.)?[\w.-]+(:(\d+|\*))?", re.ASCII)
_POLICY = (
    # Streamlit's own pages need inline code and `eval`, and our widgets modules from blobs; all from here.
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "media-src 'self' data: blob:; connect-src 'self' data: blob:; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors "
)


def frame_ancestors() -> str:
    """The sites that may show the app in a frame, for a Content-Security-Policy.

    Raises:
        WrongSetting: the operator has set something that is no list of sites.
    """
    sites = os.environ.get(SETTING, "").split()
    if not all(map(_SITE.fullmatch, sites)):
        raise WrongSetting(
            f"{SETTING} should be sites, separated by spaces, for example "
            f"{SETTING}='https://lms.school.example https://blog.example'."
        )
    return " ".join(dict.fromkeys(["'self'", *sites]))


def headers() -> dict[str, str]:
    """The headers of every answer."""
    return {
        "Content-Security-Policy": _POLICY + frame_ancestors(),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
    }


class SecurityHeaders:
    """Middleware before the app: answers what is no request, and adds headers to each answer.

    Args:
        app: what answers the rest.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._headers = headers()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI has it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        asked = Headers(scope=scope)
        if not (_can_be_split(f"//{asked.get('host', '')}") and _can_be_split(asked.get("origin", ""))):
            refusal = PlainTextResponse("This is no host or origin.\n", 400)
            answer = WebSocketClose() if scope["type"] == "websocket" else refusal
            await answer(scope, receive, with_headers)
        elif scope["path"].endswith("/_stcore/metrics"):  # Streamlit's metrics, which it shows to anybody
            await PlainTextResponse("Not found\n", 404)(scope, receive, with_headers)
        else:
            await self._app(scope, receive, with_headers)


def _can_be_split(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.port is None or bool(parts.hostname)
    except ValueError:
        return False
