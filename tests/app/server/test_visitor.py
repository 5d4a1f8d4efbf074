"""Local visitors: browsers on the server's own machine, but not pages of other sites."""

from types import SimpleNamespace

import pytest

from attnviz.app.server import visitor

LOCAL = {"Host": "localhost:8501", "Origin": "http://localhost:8501"}


@pytest.mark.parametrize(
    ("address", "headers", "local"),
    [
        (None, LOCAL, True),  # Streamlit's value for 127.0.0.1
        ("::ffff:127.0.0.1", LOCAL, True),
        ("127.0.0.2", {"Host": "127.0.0.1", "Origin": "http://127.0.0.1"}, True),
        (None, {"Host": "[::1]:8501", "Origin": "http://[::1]:8501"}, True),
        ("192.168.0.7", LOCAL, False),
        ("172.17.0.1", LOCAL, False),  # the host of a container
        (None, LOCAL | {"X-Forwarded-For": "127.0.0.1"}, False),
        (None, LOCAL | {"Forwarded": "for=127.0.0.1"}, False),
        (None, LOCAL | {"Host": "rebound.example:8501"}, False),
        (None, LOCAL | {"Host": "127.0.0.1.rebound.example"}, False),
        (None, LOCAL | {"Origin": "http://rebound.example:8501"}, False),
        (None, LOCAL | {"Origin": "null"}, False),
        (None, LOCAL | {"Host": ""}, False),
    ],
)
def test_only_a_browser_on_this_machine_is_local(
    address: str | None, headers: dict[str, str], local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = SimpleNamespace(context=SimpleNamespace(ip_address=address, headers=headers))
    monkeypatch.setattr(visitor, "st", context)
    monkeypatch.setattr(visitor, "get_script_run_ctx", lambda **_: object())
    assert visitor.is_local() is local


def test_calls_outside_a_session_are_local() -> None:
    assert visitor.is_local()
