"""Serves the app as `streamlit run app.py` does, corrected before anybody comes, and with live rooms."""

import os
import signal
import sys

import streamlit as st
from starlette.middleware import Middleware
from starlette.routing import Route

from attnviz.app import patches, warm_up
from attnviz.app.classroom.socket import Rooms, limits_from_settings
from attnviz.app.classroom.store import from_setting
from attnviz.app.door import Door
from attnviz.app.home import APP


def run(port: int, host: str | None) -> None:
    """Serve it until the process is told to stop.

    Args:
        port: where it answers.
        host: the address that it listens at; None: all of this machine.

    Raises:
        AttnvizError: there can be no rooms as the operator wants them.
    """
    rooms = Rooms(from_setting(), *limits_from_settings())
    patches.apply()
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
    routes = [rooms.route, Route("/ready", warm_up.ready)]
    app = st.App(APP, routes=routes, lifespan=rooms.lifespan, middleware=[Middleware(Door)])
    app.run(config=settings)
