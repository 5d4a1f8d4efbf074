"""Serves one of our Streamlit scripts as a process of its own, as a visitor's server would run."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
START_SECONDS = 60


@contextmanager
def serving(script: str = "app.py") -> Iterator[str]:
    """The address of a new server of this script, which nobody has visited; it ends with the block.

    Raises:
        RuntimeError: the server did not answer.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", script, f"--server.port={port}"]
    with tempfile.TemporaryDirectory() as home, (Path(home) / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--server.address=127.0.0.1"],
            cwd=ROOT,
            env=os.environ | {"HOME": home},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        url = f"http://127.0.0.1:{port}"
        try:
            _wait_for(url)
            yield url
        finally:
            process.terminate()
            process.wait()


def _wait_for(url: str) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1):
                return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError("The server did not start.")
