"""Serves the app as `streamlit run app.py` does, corrected before anybody comes, and with live rooms."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import FrameType

import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Route

from attnviz.app import caches, crowd, logs, metrics, patches, turns, warm_up
from attnviz.app.classroom.socket import Rooms
from attnviz.app.classroom.store import from_setting
from attnviz.app.door import Door
from attnviz.app.home import APP
from attnviz.app.jobs import COMPUTING
from attnviz.errors import WrongSetting

LEAVE_SETTING = "ATTNVIZ_LEAVE_SECONDS"
"""The environment variable that says for how long a server that is told to end goes on, and is not ready."""

_MOST_SECONDS = 600


def run(port: int, host: str | None) -> None:
    """Serve it until the process is told to stop.

    Args:
        port: where it answers.
        host: the address that it listens at; None: all of this machine.

    Raises:
        AttnvizError: something cannot be as the operator wants it.
    """
    logs.apply()
    seconds = _leave_seconds()
    rooms = Rooms(from_setting())
    patches.apply()
    turns.apply(metrics.RERUNS.time())
    metrics.start(
        {
            "visitors": ("Visits that are open.", lambda: len(crowd.here())),
            "jobs_waiting": ("Long computations whose next step waits for its turn.", COMPUTING.waiting),
            "cache_bytes": ("What is kept of what pages compute.", caches.held_bytes),
        }
    )
    # Rooms count wrong codes by the address they come from. uvicorn would let whoever sits behind a proxy of
    # this machine choose that address in a header.
    os.environ.setdefault("FORWARDED_ALLOW_IPS", "")
    # At its end, uvicorn raises the signal that it was sent once more. Python then ends as usual, and with it
    # the jobs that run; by the signal alone it would end at once.
    for ends in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ends, lambda *_: sys.exit())
    # Streamlit looks for .streamlit/config.toml, and for pages, beside what Python was started with.
    sys.argv = [str(APP)]
    settings: dict[str, int | str] = {"server.port": port} | ({"server.address": host} if host else {})
    warm_up.start()
    routes = [
        rooms.route,
        Route("/{below:path}explore", _to_first_page),
        Route("/ready", warm_up.ready),
        Route("/metrics", metrics.answer),
    ]

    @asynccontextmanager
    async def lifespan(app: object) -> AsyncIterator[None]:
        _leave_after(seconds)
        async with rooms.lifespan(app):
            yield

    app = st.App(APP, routes=routes, lifespan=lifespan, middleware=[Middleware(Door)])
    app.run(config=settings)


async def _to_first_page(request: Request) -> RedirectResponse:
    """Explore has no name of its own in its address; who writes one there comes to the same view."""
    return RedirectResponse(f"./?{request.url.query}".rstrip("?"))


def _leave_seconds() -> int:
    given = os.environ.get(LEAVE_SETTING, "0")
    if not given.isdecimal() or int(given) > _MOST_SECONDS:
        raise WrongSetting(f"{LEAVE_SETTING} should be from 0 to {_MOST_SECONDS} seconds, and is “{given}”.")
    return int(given)


def _leave_after(seconds: int) -> None:
    """Once told to end, stay so long, that a proxy has sent the visitors to another server before.

    uvicorn has set its own handler by now, and would close all connections at once.
    """
    loop, end = asyncio.get_running_loop(), signal.getsignal(signal.SIGTERM)
    if not seconds or not callable(end):
        return

    def leave(number: int, frame: FrameType | None) -> None:
        warm_up.leave()
        loop.call_soon_threadsafe(loop.call_later, seconds, end, number, frame)

    signal.signal(signal.SIGTERM, leave)
