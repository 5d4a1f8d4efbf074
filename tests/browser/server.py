"""Start the app in its own process, as in production, and stop it."""

import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from websockets import Origin, Subprotocol
from websockets.sync.client import ClientConnection, connect

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "attnviz", "app")
START_SECONDS = 60
STOP_SECONDS = 10

# urllib's default opener keeps the proxy settings of its first use.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Server:
    """A running app.

    Attributes:
        url: URL of the app, without a trailing slash.
        log: file with all output of the process.
        process: the server's process; only `running` stops it.
    """

    url: str
    log: Path
    process: subprocess.Popen[bytes]

    def tracebacks(self) -> list[str]:
        """Return all tracebacks in the log."""
        return re.findall(r"Traceback \(most recent call last\):\n(?:\s.*\n)*.*", self.log.read_text("utf-8"))

    def websocket(
        self, origin: str, headers: dict[str, str] | None = None, address: str = "127.0.0.1"
    ) -> ClientConnection:
        """Open the app's WebSocket, as a page from this origin does; the caller closes the connection.

        `address` is the local address to connect from.
        """
        url = self.url.replace("http", "ws", 1) + "/_stcore/stream"
        protocols = [Subprotocol("streamlit")]
        return connect(
            url,
            origin=Origin(origin),
            subprotocols=protocols,
            additional_headers=headers,
            proxy=None,
            max_size=None,
            source_address=(address, 0),
        )


@contextmanager
def running(
    home: Path,
    command: Sequence[str | Path] = COMMAND,
    folder: Path = ROOT,
    port: int = 0,
    flags: tuple[str, str] = ("--port", "--host"),
    url_prefix: str = "",
) -> Iterator[Server]:
    """Serve the app until the block ends.

    Args:
        home: home directory of the process, empty at first; the log is written there.
        command: the command to start.
        folder: working directory of the command.
        port: port of the server; 0 for a free port.
        flags: the command's options for the port and the host.
        url_prefix: URL path of the app, such as "/attn".
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        port = probe.getsockname()[1]
    log = home / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, f"{flags[0]}={port}", f"{flags[1]}=127.0.0.1"],
            cwd=folder,
            env=os.environ | {"HOME": str(home), "STREAMLIT_SERVER_BASE_URL_PATH": url_prefix},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    server = Server(f"http://127.0.0.1:{port}{url_prefix}", log, process)
    try:
        _wait_until_healthy(server)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_healthy(server: Server) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and server.process.poll() is None:
        try:
            with _DIRECT.open(f"{server.url}/_stcore/health", timeout=1):
                return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"The app did not start:\n{server.log.read_text('utf-8')}")


@contextmanager
def files(folder: Path) -> Iterator[str]:
    """Serve a folder's files; yield host and port, such as "127.0.0.1:8501"."""
    handler = partial(SimpleHTTPRequestHandler, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
