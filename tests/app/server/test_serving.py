"""The server over HTTP and WebSocket: origins, headers, limits, metrics and outside requests."""

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

from attnviz.app.server import serving
from attnviz.app.server.security_headers import headers
from attnviz.models import allowed
from tests.browser.server import STOP_SECONDS, Server, running

SENTENCE = "The walrus is tired."


def test_server_is_offline_and_enforces_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as outside:
        outside.setblocking(False)
        for name in ("http_proxy", "https_proxy"):  # a request to an outside host would connect here
            monkeypatch.setenv(name, f"http://127.0.0.1:{outside.getsockname()[1]}")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        monkeypatch.setenv("ATTNVIZ_LOG", "json")
        with running(tmp_path) as server:
            start = time.monotonic()
            with pytest.raises(InvalidStatus, match="403"):
                server.websocket("http://foreign.example")
            assert time.monotonic() - start < 1
            with pytest.raises(BlockingIOError):
                outside.accept()
            _check_size_limits(server)
            _check_hosts_and_headers(server)
            _check_readiness(server)
            _check_metrics(server)
            _check_shutdown_with_a_visitor(server)


def _get(server: Server, path: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=30)
    connection.request("GET", path, headers=headers or {})
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body


def _check_metrics(server: Server) -> None:
    assert _get(server, "/_stcore/metrics")[0] == 404
    assert _get(server, "/metrics", {"X-Forwarded-For": "10.0.0.7"})[0] == 404
    with server.websocket(server.url) as connection:
        page = ClientState(query_string=f"text={SENTENCE.replace(' ', '+')}&layer=inf")
        connection.send(BackMsg(rerun_script=page).SerializeToString())
        session = ForwardMsg.FromString(connection.recv(30, decode=False)).new_session.initialize.session_id
        while (
            ForwardMsg.FromString(connection.recv(30, decode=False)).WhichOneof("type") != "script_finished"
        ):
            pass
        _, body = _get(server, "/metrics")
    metrics = dict(line.rsplit(" ", 1) for line in body.splitlines() if not line.startswith("#"))
    assert float(metrics["attnviz_visitors"]) == 1
    assert float(metrics["attnviz_rerun_seconds_count"]) >= 1
    assert float(metrics["attnviz_forward_seconds_count"]) >= 1
    assert float(metrics["attnviz_cache_bytes"]) > 10_000
    assert float(metrics["attnviz_jobs_waiting"]) == 0
    assert float(metrics["process_resident_memory_bytes"]) > 1e8
    for text in (body, server.log.read_text("utf-8")):
        assert [secret for secret in (SENTENCE, "walrus", session) if secret in text] == []


def _check_shutdown_with_a_visitor(server: Server) -> None:
    with server.websocket(server.url) as connection:
        connection.send(BackMsg(rerun_script=ClientState()).SerializeToString())
        assert connection.recv(30)
        server.process.terminate()
        with pytest.raises(ConnectionClosed, match="1012"):
            _read_to_the_end(connection)
    assert server.process.wait(STOP_SECONDS) == 0


def _check_readiness(server: Server) -> None:
    statuses = list[int]()
    while 200 not in statuses:
        statuses.append(_get(server, "/ready")[0])
        time.sleep(0.1)
    assert set(statuses) <= {200, 503}
    assert server.tracebacks() == []


def _check_hosts_and_headers(server: Server) -> None:
    netloc = urlsplit(server.url).netloc
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    stream = {**upgrade, "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}
    for host, path, more, status in (
        (netloc, "/", {}, 200),
        ("school.example", "/", {}, 200),
        ("school.example", "/media/none", {}, 404),
        ("school.example", "/_stcore/stream", stream, 101),
        ("school.example", "/_stcore/stream", {**stream, "Origin": "http://foreign.example"}, 403),
        ("[evil", "/", {}, 400),
        (netloc, "/", {"Origin": "http://[evil"}, 400),
        ("[evil", "/_stcore/stream", stream, 403),
        (netloc, "/_stcore/stream", {**stream, "Origin": "http://[evil"}, 403),
        (netloc, "/room", {**stream, "Origin": "http://[evil"}, 403),
        (netloc, "/class/explore?layer=2", {}, 307),
    ):
        connection = http.client.HTTPConnection(netloc, timeout=30)
        connection.request("GET", path, headers={"Host": host, **more})
        answer = connection.getresponse()
        assert (host, path, more, answer.status) == (host, path, more, status)
        assert answer.getheader("Location") == ("./?layer=2" if status == 307 else None)
        if status != 101:
            assert all(answer.getheader(name) == value for name, value in headers().items() if status != 403)
        connection.close()
    # No other site may embed the app.
    assert headers()["Content-Security-Policy"].endswith("frame-ancestors 'self'")
    assert server.tracebacks() == []


def _check_size_limits(server: Server) -> None:
    with server.websocket(server.url) as connection:
        connection.send(BackMsg(rerun_script=ClientState()).SerializeToString())
        first = ForwardMsg.FromString(connection.recv(30, decode=False))
        assert _status_of_upload(server, first.new_session.initialize.session_id, 10 * 2**20 + 1) == 413
        with pytest.raises(ConnectionClosed):
            _send_and_read_to_the_end(connection, b"x" * (10**7 + 1))
    with server.websocket(server.url) as connection, pytest.raises(ConnectionClosed, match="1002"):
        _send_and_read_to_the_end(connection, b"\xff\xfe")
    assert '"exception"' not in server.log.read_text("utf-8")


def _send_and_read_to_the_end(connection: ClientConnection, message: bytes) -> None:
    connection.send(message)
    _read_to_the_end(connection)


def _read_to_the_end(connection: ClientConnection) -> None:
    while True:
        connection.recv(30)


def _status_of_upload(server: Server, session: str, size: int) -> int:
    """Return the HTTP status for an upload with this Content-Length."""
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


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        ("ATTNVIZ_ROOMS", "http://example.org", "the URL of a Redis server"),
        ("ATTNVIZ_LOG", "xml", "text or json"),
        ("ATTNVIZ_FRAME_ANCESTORS", "lms.example; script-src *", "a list of sites"),
        ("ATTNVIZ_MAX_GB", "many", "a number of gigabytes"),
    ],
)
def test_invalid_setting_is_reported_at_startup(
    setting: str,
    value: str,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(setting, value)
    monkeypatch.setattr(allowed, "restrict", lambda _: None)  # do not affect other tests of this process
    with pytest.raises(SystemExit) as exit_info:
        serving.options()
    assert exit_info.value.code == 2
    assert capsys.readouterr().err.startswith(f"{setting} must be {expected}")
