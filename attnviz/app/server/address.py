"""The address at which other devices reach this server: for all links that are given to others."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

import segno
import streamlit as st

from attnviz.app.server import visitor


def for_others() -> str | None:
    """Return the app's address for other devices, without a page: "http://192.168.0.7:8501".

    None where it is unknown: the visitor's browser has a loopback address, and the server answers this
    machine alone, has no network, or runs in a container or behind a proxy.
    """
    here = st.context.url
    return _reached(here, st.get_option("server.address"), visitor.is_local()) if here else None


def _reached(here: str, host: str | None, local: bool) -> str | None:
    """Return the same for a page's address in the browser.

    Args:
        here: the page's address.
        host: the address at which the server listens; None: all.
        local: whether browser and server run on the same machine.
    """
    parts = urlsplit(here)
    if _only_this_machine(parts.hostname or ""):
        lan = _in_the_network() if local and not (host and _only_this_machine(host)) else None
        if lan is None:
            return None
        parts = parts._replace(netloc=f"{lan}:{parts.port}" if parts.port else lan)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rpartition('/')[0]}"


def qr_code(address: str) -> str:
    """The address for a phone's camera: the data URI of an SVG, dark on white also on a dark page."""
    return segno.make_qr(address, error="m").svg_data_uri(scale=6, light="#fff")


def _only_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _in_the_network() -> str | None:
    """This machine's address in its network; to find it, no packet is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # a reserved address (RFC 5737)
        except OSError:
            return None
        found = str(probe.getsockname()[0])
    return None if _only_this_machine(found) else found
