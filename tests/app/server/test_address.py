"""The address for other devices, and a QR code of one."""

from urllib.parse import unquote

import pytest

from attnviz.app.server import address

HERE = "http://localhost:8501/classroom"


@pytest.fixture(autouse=True)
def network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address, "_lan_address", lambda: "192.168.0.7")


@pytest.mark.parametrize(
    ("here", "host", "reached"),
    [
        ("http://localhost:8501/classroom", None, "http://192.168.0.7:8501"),
        ("http://127.0.0.1/classroom", "0.0.0.0", "http://192.168.0.7"),  # noqa: S104
        ("http://[::1]:80/a/b/classroom", None, "http://192.168.0.7:80/a/b"),
        (
            "https://school.example/attn/classroom",
            "127.0.0.1",
            "https://school.example/attn",
        ),
        ("http://localhost:8501/classroom", "127.0.0.1", None),  # nobody else can reach it
    ],
)
def test_what_others_reach_is_no_address_of_this_machine_alone(
    here: str, host: str | None, reached: str
) -> None:
    assert address._shared_url(here, host, local=True) == reached


@pytest.mark.parametrize("here", ["http://localhost:8501/classroom", "http://127.0.0.1/classroom"])
def test_in_a_container_or_behind_a_proxy_the_address_is_not_known(here: str) -> None:
    assert address._shared_url(here, None, local=False) is None


def test_the_qr_code_is_a_picture_of_the_address() -> None:
    picture = unquote(address.qr_code("http://192.168.0.7:8501/classroom?room=ABC234"))
    assert picture.startswith("data:image/svg+xml")
    assert "#fff" in picture
    assert picture != unquote(address.qr_code("http://192.168.0.8:8501/classroom?room=ABC234"))
