"""The address under which the other devices of a classroom reach this server."""

from __future__ import annotations

import os
import socket
from ipaddress import ip_address
from urllib.parse import urlencode, urlsplit

import segno

from attnviz.errors import WrongSetting

SETTING = "ATTNVIZ_ADDRESS"
"""The environment variable with the address, where the server cannot know it."""


def of_room(here: str, code: str, host: str | None) -> str | None:
    """The address that joins a room; None where it cannot be known.

    Args:
        here: the address of this page in the visitor's browser.
        code: of the room.
        host: the address at which the server listens; None: all of this machine.

    Raises:
        WrongSetting: the operator has set something that is no address.
    """
    setting = os.environ.get(SETTING, "").strip().rstrip("/")
    if setting:
        parts = urlsplit(setting)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise WrongSetting(
                f"{SETTING} should be an address, for example {SETTING}=http://192.168.0.7:8501."
            )
        app = setting
    else:
        parts = urlsplit(here)
        if _only_this_machine(parts.hostname or ""):
            lan = None if host and _only_this_machine(host) else _in_the_network()
            if lan is None:
                return None
            parts = parts._replace(netloc=f"{lan}:{parts.port}" if parts.port else lan)
        app = f"{parts.scheme}://{parts.netloc}{parts.path.rpartition('/')[0]}"
    return f"{app}/classroom?{urlencode({'room': code})}"


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
