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

from attnviz.app.server import serving
from attnviz.app.server.security_headers import headers
from attnviz.models import allowed
from tests.browser.server import STOP_SECONDS, Server, running

SENTENCE = "The walrus is tired."


def test_a_server_asks_nobody_and_takes_no_more_than_it_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as outside:
        outside.setblocking(False)
        for name in ("http_proxy", "https_proxy"):  # whoever asks an outside host comes here first
            monkeypatch.setenv(name, f"http://127.0.0.1:{outside.getsockname()[1]}")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        monkeypatch.setenv("ATTNVIZ_LOG", "json")
        with running(tmp_path) as server:
            begun = time.monotonic()
            with pytest.raises(InvalidStatus, match="403"):
                server.websocket("http://foreign.example")
            assert time.monotonic() - begun < 1
            with pytest.raises(BlockingIOError):
                outside.accept()
            _refuses_what_is_too_large(server)
            _answers_by_any_name_with_headers_and_refuses_what_is_none(server)
            _says_when_it_is_ready(server)
            _tells_the_operator_alone_what_it_does(server)
            _ends_while_a_visitor_is_there(server)


def _get(server: Server, path: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=30)
    connection.request("GET", path, headers=headers or {})
    answer = connection.getresponse()
    said = answer.read().decode()
    connection.close()
    return answer.status, said


def _tells_the_operator_alone_what_it_does(server: Server) -> None:
    assert _get(server, "/_stcore/metrics")[0] == 404
    assert _get(server, "/metrics", {"X-Forwarded-For": "10.0.0.7"})[0] == 404
    with server.websocket(server.url) as visit:
        page = ClientState(query_string=f"text={SENTENCE.replace(' ', '+')}&layer=inf")
        visit.send(BackMsg(rerun_script=page).SerializeToString())
        session = ForwardMsg.FromString(visit.recv(30, decode=False)).new_session.initialize.session_id
        while ForwardMsg.FromString(visit.recv(30, decode=False)).WhichOneof("type") != "script_finished":
            pass
        _, said = _get(server, "/metrics")
    told = dict(line.rsplit(" ", 1) for line in said.splitlines() if not line.startswith("#"))
    assert float(told["attnviz_visitors"]) == 1
    assert float(told["attnviz_rerun_seconds_count"]) >= 1
    assert float(told["attnviz_forward_seconds_count"]) >= 1
    assert float(told["attnviz_cache_bytes"]) > 10_000
    assert float(told["attnviz_jobs_waiting"]) == 0
    assert float(told["process_resident_memory_bytes"]) > 1e8
    for text in (said, server.log.read_text("utf-8")):
        assert [secret for secret in (SENTENCE, "walrus", session) if secret in text] == []


def _ends_while_a_visitor_is_there(server: Server) -> None:
    with server.websocket(server.url) as visit:
        visit.send(BackMsg(rerun_script=ClientState()).SerializeToString())
        assert visit.recv(30)
        server.process.terminate()
        with pytest.raises(ConnectionClosed, match="1012"):
            _read_to_the_end(visit)
    assert server.process.wait(STOP_SECONDS) == 0


def _says_when_it_is_ready(server: Server) -> None:
    statuses = list[int]()
    while 200 not in statuses:
        statuses.append(_get(server, "/ready")[0])
        time.sleep(0.1)
    assert set(statuses) <= {200, 503}
    assert server.tracebacks() == []


def _answers_by_any_name_with_headers_and_refuses_what_is_none(server: Server) -> None:
    here = urlsplit(server.url).netloc
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    stream = {**upgrade, "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}
    for host, path, more, status in (
        (here, "/", {}, 200),
        ("school.example", "/", {}, 200),
        ("school.example", "/media/none", {}, 404),
        ("school.example", "/_stcore/stream", stream, 101),
        ("school.example", "/_stcore/stream", {**stream, "Origin": "http://foreign.example"}, 403),
        ("[evil", "/", {}, 400),
        (here, "/", {"Origin": "http://[evil"}, 400),
        ("[evil", "/_stcore/stream", stream, 403),
        (here, "/_stcore/stream", {**stream, "Origin": "http://[evil"}, 403),
        (here, "/room", {**stream, "Origin": "http://[evil"}, 403),
        (here, "/class/explore?layer=2", {}, 307),
    ):
        connection = http.client.HTTPConnection(here, timeout=30)
        connection.request("GET", path, headers={"Host": host, **more})
        answer = connection.getresponse()
        assert (host, path, more, answer.status) == (host, path, more, status)
        assert answer.getheader("Location") == ("./?layer=2" if status == 307 else None)
        if status != 101:
            assert all(answer.getheader(name) == said for name, said in headers().items() if status != 403)
        connection.close()
    assert headers()["Content-Security-Policy"].endswith("frame-ancestors 'self'")  # no other site's frame
    assert server.tracebacks() == []


def _refuses_what_is_too_large(server: Server) -> None:
    with server.websocket(server.url) as visit:
        visit.send(BackMsg(rerun_script=ClientState()).SerializeToString())
        begun = ForwardMsg.FromString(visit.recv(30, decode=False))
        assert _status_of_upload(server, begun.new_session.initialize.session_id, 10 * 2**20 + 1) == 413
        with pytest.raises(ConnectionClosed):
            _send_and_read_to_the_end(visit, b"x" * (10**7 + 1))
    with server.websocket(server.url) as visit, pytest.raises(ConnectionClosed, match="1002"):
        _send_and_read_to_the_end(visit, b"\xff\xfe")
    assert '"exception"' not in server.log.read_text("utf-8")


def _send_and_read_to_the_end(visit: ClientConnection, message: bytes) -> None:
    visit.send(message)
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


@pytest.mark.parametrize(
    ("setting", "wrong", "said"),
    [
        ("ATTNVIZ_ROOMS", "http://example.org", "the URL of a Redis server"),
        ("ATTNVIZ_LOG", "xml", "text or json"),
        ("ATTNVIZ_FRAME_ANCESTORS", "lms.example; script-src *", "sites"),
        ("ATTNVIZ_MAX_GB", "many", "a number of gigabytes"),
    ],
)
def test_what_the_operator_sets_wrongly_is_said_at_the_start(
    setting: str, wrong: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(setting, wrong)
    monkeypatch.setattr(allowed, "restrict", lambda _: None)  # other tests of this process go on as they were
    with pytest.raises(SystemExit) as ended:
        serving.options()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(f"{setting} should be {said}")
