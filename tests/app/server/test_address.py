"""The URL for other devices, and its QR code."""

from urllib.parse import unquote

import pytest

from attnviz.app.server import address

HERE = "http://localhost:8501/classroom"


@pytest.fixture(autouse=True)
def network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address, "_lan_address", lambda: "192.168.0.7")


@pytest.mark.parametrize(
    ("url", "host", "expected"),
    [
        ("http://localhost:8501/classroom", None, "http://192.168.0.7:8501"),
        ("http://127.0.0.1/classroom", "0.0.0.0", "http://192.168.0.7"),  # noqa: S104
        ("http://[::1]:80/a/b/classroom", None, "http://192.168.0.7:80/a/b"),
        ("https://school.example/attn/classroom", "127.0.0.1", "https://school.example/attn"),
        ("http://localhost:8501/classroom", "127.0.0.1", None),  # not reachable from other devices
    ],
)
def test_url_is_reachable_from_other_devices(url: str, host: str | None, expected: str) -> None:
    assert address._shared_url(url, host, local=True) == expected


@pytest.mark.parametrize("url", ["http://localhost:8501/classroom", "http://127.0.0.1/classroom"])
def test_url_is_unknown_in_a_container_or_behind_a_proxy(url: str) -> None:
    assert address._shared_url(url, None, local=False) is None


def test_qr_code_encodes_the_url() -> None:
    picture = unquote(address.qr_code("http://192.168.0.7:8501/classroom?room=ABC234"))
    assert picture.startswith("data:image/svg+xml")
    assert "#fff" in picture
    assert picture != unquote(address.qr_code("http://192.168.0.8:8501/classroom?room=ABC234"))
