"""Run HAProxy in front of several servers, as in `compose.yaml`."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.browser.server import ROOT, Server
from tests.debian import install


@contextmanager
def run_proxy(servers: Sequence[Server]) -> Iterator[str]:
    """Yield the URL of a HAProxy in front of these servers, configured as in `deploy/haproxy.cfg`."""
    path = f"{os.environ['PATH']}:/usr/sbin"
    if not shutil.which("haproxy", path=path):
        install("haproxy")
    program = shutil.which("haproxy", path=path)
    if program is None:
        sys.exit("HAProxy is not installed. On Debian: apt-get install haproxy.")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = (ROOT / "deploy" / "haproxy.cfg").read_text("utf-8")
    lines = (f"    server s{n} {server.url.removeprefix('http://')}" for n, server in enumerate(servers))
    for pattern, replacement in (
        (r"bind :8501", f"bind 127.0.0.1:{port}"),
        (r"resolvers containers\n(    .*\n)+", ""),  # IP addresses need no DNS
        (r"    server-template .*", "\n".join(lines)),
    ):
        settings, found = re.subn(pattern, replacement, settings, count=1)
        assert found, pattern  # noqa: S101 - `deploy/haproxy.cfg` has changed
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "haproxy.cfg"
        file.write_text(settings, "utf-8")
        process = subprocess.Popen(
            [program, "-f", str(file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            wait_for(f"http://127.0.0.1:{port}/_stcore/health")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


def wait_for(url: str) -> None:
    """Wait until a request to this URL succeeds."""
    while True:
        with suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.1)
