"""Set up the server in the same way for `streamlit run app.py`, `make app` and `attnviz app`."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import FrameType
from typing import Any

from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Route
from streamlit.runtime import get_instance
from streamlit.web import cli

from attnviz.app.classroom.socket import Rooms
from attnviz.app.classroom.store import from_setting
from attnviz.app.home import APP
from attnviz.app.server import (
    assets,
    cache,
    index_page,
    logs,
    metrics,
    patches,
    security_headers,
    visitor,
    warm_up,
)
from attnviz.app.server.jobs import JOBS
from attnviz.errors import AttnvizError
from attnviz.models import allowed, limits

END_SECONDS = 4.0
"""Maximum duration of a shutdown."""


def run(port: int, host: str | None) -> None:
    """Serve the app as `streamlit run` does, until the process receives a signal.

    Args:
        port: Port of the server.
        host: Address on which it listens; None for Streamlit's setting, by default all addresses.
    """
    flags = [f"--server.port={port}", *([f"--server.address={host}"] if host else [])]
    cli.main(["run", str(APP), *flags], prog_name="attnviz")


def options() -> dict[str, Any]:
    """Set up the server of this process; return the arguments of `st.App` other than the script.

    If a setting is invalid, the process prints a message and exits with status 2.
    """
    try:
        return _options()
    except AttnvizError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)


def _options() -> dict[str, Any]:
    logs.apply()
    allowed.restrict(visitor.is_local)
    allowed.check_setting()
    limits.max_bytes()
    security_headers.frame_ancestors()
    rooms = Rooms(from_setting())
    patches.apply()
    metrics.start(
        {
            "visitors": ("Open sessions.", _count_sessions),
            "jobs_waiting": ("Queued long computations.", JOBS.queued),
            "cache_bytes": ("Size of the cache of computed values.", cache.size),
        }
    )
    _limit_shutdown_time()
    warm_up.start()

    @asynccontextmanager
    async def lifespan(app: object) -> AsyncIterator[None]:
        async with rooms.lifespan(app):
            yield
        _end()

    routes = [
        rooms.route,
        Route("/{below:path}explore", _to_first_page),
        Route("/ready", warm_up.ready),
        Route("/metrics", metrics.answer),
        *index_page.routes(),
    ]
    return {
        "routes": routes,
        "lifespan": lifespan,
        "middleware": [Middleware(security_headers.SecurityHeaders), Middleware(assets.Assets)],
    }


def _count_sessions() -> int:
    return len(get_instance()._session_mgr.list_active_sessions())  # noqa: SLF001 - no public API


async def _to_first_page(request: Request) -> RedirectResponse:
    """Redirect /explore to the first page, which is Explore."""
    return RedirectResponse(f"./?{request.url.query}".rstrip("?"))


def _limit_shutdown_time() -> None:
    """Let the process exit within `END_SECONDS` after SIGTERM or Ctrl-C, with status 0.

    uvicorn's handlers wait for every open request, and then raise the signal again.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        handler = signal.getsignal(number)

        def end(number: int, at: FrameType | None, handler: Any = handler) -> None:
            timer = threading.Timer(END_SECONDS, _end)
            timer.daemon = True
            timer.start()
            if callable(handler):
                handler(number, at)

        signal.signal(number, end)


def _end() -> None:
    """Exit immediately, because a regular exit of Python would crash during a forward pass in a thread."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
