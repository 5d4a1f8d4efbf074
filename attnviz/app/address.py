"""The address at which other devices reach this server: for all links that are given to others."""

from __future__ import annotations

import os
import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

import segno
import streamlit as st

from attnviz.errors import WrongSetting

SETTING = "ATTNVIZ_ADDRESS"
"""The environment variable with the address, where the server cannot know it."""


def for_others() -> str | None:
    """The app's address for other devices, without a page: "http://192.168.0.7:8501"; None where unknown.

    Raises:
        WrongSetting: the operator has set something that is no address.
    """
    here = st.context.url
    return from_setting() or (_reached(here, st.get_option("server.address")) if here else None)


def from_setting() -> str:
    """The address that the operator has set; "" for none.

    Raises:
        WrongSetting: it is no address.
    """
    setting = os.environ.get(SETTING, "").strip().rstrip("/")
    parts = urlsplit(setting)
    if setting and (parts.scheme not in {"http", "https"} or not parts.hostname):
        raise WrongSetting(f"{SETTING} should be an address, for example {SETTING}=http://192.168.0.7:8501.")
    return setting


def _reached(here: str, host: str | None) -> str | None:
    """The same, of a page's address in the visitor's browser, and of the one at which the server listens."""
    parts = urlsplit(here)
    if _only_this_machine(parts.hostname or ""):
        lan = None if host and _only_this_machine(host) else _in_the_network()
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
            probe.connect(("192.0.2.1", 9))  # an address that belongs to nobody (RFC 5737)
        except OSError:
            return None
        found = str(probe.getsockname()[0])
    return None if _only_this_machine(found) else found
