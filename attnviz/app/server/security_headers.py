"""Security headers for every response, and rejection of malformed requests."""

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
"""The environment variable with the sites that may embed the app in a frame, separated by spaces."""

_SITE = re.compile(r"\*|'self'|(https?://)?(\*\.)?[\w.-]+(:(\d+|\*))?", re.ASCII)
_POLICY = (
    # Streamlit's pages need inline code and `eval`, and our widgets load modules from blob URLs.
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "media-src 'self' data: blob:; connect-src 'self' data: blob:; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors "
)


def frame_ancestors() -> str:
    """Return the sites that may embed the app in a frame, for a Content-Security-Policy.

    Raises:
        WrongSetting: the setting is not a list of sites.
    """
    sites = os.environ.get(SETTING, "").split()
    if not all(map(_SITE.fullmatch, sites)):
        raise WrongSetting(
            f"{SETTING} must be a list of sites, separated by spaces, for example "
            f"{SETTING}='https://lms.school.example https://blog.example'."
        )
    return " ".join(dict.fromkeys(["'self'", *sites]))


def headers() -> dict[str, str]:
    """Return the headers of every response."""
    return {
        "Content-Security-Policy": _POLICY + frame_ancestors(),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
    }


class SecurityHeaders:
    """Middleware that rejects malformed requests and adds headers to each response.

    Args:
        app: The application for all other requests.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._headers = headers()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        received = Headers(scope=scope)
        if not (_is_valid(f"//{received.get('host', '')}") and _is_valid(received.get("origin", ""))):
            refusal = PlainTextResponse("Invalid Host or Origin header.\n", 400)
            answer = WebSocketClose() if scope["type"] == "websocket" else refusal
            await answer(scope, receive, with_headers)
        elif scope["path"].endswith("/_stcore/metrics"):  # Streamlit serves its metrics to everybody
            await PlainTextResponse("Not found\n", 404)(scope, receive, with_headers)
        else:
            await self._app(scope, receive, with_headers)


def _is_valid(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.port is None or bool(parts.hostname)
    except ValueError:
        return False
