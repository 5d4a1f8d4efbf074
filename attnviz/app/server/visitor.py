"""Local visitors: only a browser on the server's own machine may open folders and hub models."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

FORWARDED = ("Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip")
"""Headers that indicate a proxy."""


def is_local() -> bool:
    """Return whether the visitor of the running script is on the server's own machine.

    The connection must come from a loopback address, without proxy headers, and use a loopback name: another
    site could resolve its own name to this machine (DNS rebinding). True outside of a session.
    """
    if get_script_run_ctx(suppress_warning=True) is None:
        return True
    headers = st.context.headers
    if any(name in headers for name in FORWARDED) or not is_loopback(st.context.ip_address or "localhost"):
        return False
    origin = urlsplit(headers.get("Origin", "//localhost")).hostname
    host = urlsplit(f"//{headers.get('Host', 'localhost')}").hostname
    return is_loopback(origin or "") and is_loopback(host or "")


def is_loopback(host: str) -> bool:
    """Return whether a host name or address, such as "localhost" or "::1", is always the machine itself."""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback
