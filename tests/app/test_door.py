"""Who comes by a name that is not the server's own is not let in."""

import pytest

from attnviz.app import address
from attnviz.app.door import is_known
from attnviz.models import allowed


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("localhost:8501", True),
        ("127.0.0.1:8501", True),
        ("192.168.0.7", True),
        ("[::1]:8501", True),
        ("attnviz:8501", True),  # in a network of containers
        ("teacher.local:8501", True),
        ("school.example", True),
        ("SCHOOL.example:443", True),
        ("rebound.example:8501", False),
        ("school.example.rebound.example", False),
        ("127.0.0.1.rebound.example", False),
    ],
)
def test_another_sites_name_is_refused_where_folders_may_be_opened(
    host: str, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(address.SETTING, "https://school.example")
    monkeypatch.delenv(allowed.SETTING, raising=False)
    assert is_known(host) is known
    monkeypatch.setenv(allowed.SETTING, "minilm")  # a visitor can open nothing that is not shown to all
    assert is_known(host)
