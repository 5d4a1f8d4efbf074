"""Models that somebody brought, opened on this server."""

from collections.abc import Callable
from pathlib import Path

import pytest

from attnviz.capture import loading
from attnviz.models import allowed


@pytest.fixture
def opened(folder_of: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Opens a small model of a family on this server, which nobody has used yet, and gives its name."""
    monkeypatch.delenv(allowed.SETTING, raising=False)
    monkeypatch.setattr(allowed, "_opened", {})

    def open_family(family: str) -> str:
        name = str(folder_of(family))
        loading.open_model(name)
        return name

    return open_family
