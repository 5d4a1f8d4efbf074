"""By which names the server is found, and what each of its answers forbids the browser."""

from __future__ import annotations

import ipaddress
import os
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from attnviz.app import address
from attnviz.models import allowed

HEADERS = {
    # Streamlit's own pages need inline code and `eval`, and our widgets modules from blobs; all from here.
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "media-src 'self' data: blob:; connect-src 'self' data: blob: ws: wss:; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}


class Door:
    """Stands before the app. Where visitors may open folders, another site may not make their browsers come.

    Another site can have its own name point at this machine (DNS rebinding), so that a browser takes the two
    for one. Nobody can do so with an address of numbers or a name without a dot.

    Args:
        app: what answers those who are let in.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI has it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if not is_known(Headers(scope=scope).get("host", "")):
            refusal = PlainTextResponse(
                f"attnviz does not answer by this name. Whoever runs it can name it: {address.SETTING}=https://"
                f"{quote(Headers(scope=scope).get('host', ''), safe=':')}\n",
                421,
            )
            await (WebSocketClose() if scope["type"] == "websocket" else refusal)(scope, receive, send)
            return

        if scope["path"].endswith("/_stcore/metrics"):  # of Streamlit; our own are the operator's alone
            await PlainTextResponse("Not found\n", 404)(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._app(scope, receive, with_headers)


def is_known(host: str) -> bool:
    """Whether somebody may come by a name ("school.example:8501"): any, where there is a list of models."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        ipaddress.ip_address(name)
    except ValueError:
        own = urlsplit(os.environ.get(address.SETTING, "")).hostname
        return allowed.public() or "." not in name or name.endswith(".local") or name == own
    return True
