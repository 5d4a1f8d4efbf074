"""The server as visitors and strangers reach it: whom it lets in, whom it asks, and how much it takes."""

import http.client
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection

from tests.browser.server import Server, running


def test_a_server_asks_nobody_and_takes_no_more_than_it_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as outside:
        outside.setblocking(False)
        for name in ("http_proxy", "https_proxy"):  # whoever asks an outside host comes here first
            monkeypatch.setenv(name, f"http://127.0.0.1:{outside.getsockname()[1]}")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        with running(tmp_path) as server:
            begun = time.monotonic()
            with pytest.raises(InvalidStatus, match="403"):
                server.websocket("http://foreign.example")
            assert time.monotonic() - begun < 1
            with pytest.raises(BlockingIOError):
                outside.accept()
            _refuses_what_is_too_large(server)


def _refuses_what_is_too_large(server: Server) -> None:
    with server.websocket(server.url) as visit:
        visit.send(BackMsg(rerun_script=ClientState()).SerializeToString())
        begun = ForwardMsg.FromString(visit.recv(30, decode=False))
        assert _status_of_upload(server, begun.new_session.initialize.session_id, 10 * 2**20 + 1) == 413
        visit.send(b"x" * (10**7 + 1))
        with pytest.raises(ConnectionClosed, match="1009"):
            _read_to_the_end(visit)


def _read_to_the_end(visit: ClientConnection) -> None:
    while True:
        visit.recv(30)


def _status_of_upload(server: Server, session: str, size: int) -> int:
    """What is answered to somebody who is about to send a file of so many bytes."""
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=30)
    connection.request("GET", "/_stcore/health")
    answer = connection.getresponse()
    answer.read()
    cookie = (answer.getheader("Set-Cookie") or "").split(";")[0]
    connection.putrequest("PUT", f"/_stcore/upload_file/{session}/file")
    connection.putheader("Cookie", cookie)
    connection.putheader("X-Xsrftoken", cookie.partition("=")[2])
    connection.putheader("Content-Length", str(size))
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    return status
