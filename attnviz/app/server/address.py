"""The URL at which other devices reach this server, for shared links."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

import segno
import streamlit as st

from attnviz.app.server import visitor


def shared_url() -> str | None:
    """Return the app's base URL for other devices: "http://192.168.0.7:8501".

    None if it is unknown: the visitor's browser uses a loopback address, and the server listens only on a
    loopback address, has no network, or runs in a container or behind a proxy.
    """
    page_url = st.context.url
    return _shared_url(page_url, st.get_option("server.address"), visitor.is_local()) if page_url else None


def _shared_url(page_url: str, host: str | None, local: bool) -> str | None:
    """Return the base URL for other devices from the URL of a page; None if it is unknown.

    Args:
        page_url: URL of the page in the browser.
        host: Address on which the server listens; None for all.
        local: True if browser and server run on the same machine.
    """
    parts = urlsplit(page_url)
    if _is_loopback(parts.hostname or ""):
        lan = _lan_address() if local and not (host and _is_loopback(host)) else None
        if lan is None:
            return None
        parts = parts._replace(netloc=f"{lan}:{parts.port}" if parts.port else lan)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rpartition('/')[0]}"


def qr_code(address: str) -> str:
    """Return a QR code as the data URI of an SVG, dark on white in any theme."""
    return segno.make_qr(address, error="m").svg_data_uri(scale=6, light="#fff")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _lan_address() -> str | None:
    """Return this machine's address in the local network; None without a network. Sends no packet."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # a reserved address (RFC 5737)
        except OSError:
            return None
        found = str(probe.getsockname()[0])
    return None if _is_loopback(found) else found
