"""What tests of pages stand on: nothing is computed for those before, and models that somebody brought."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from streamlit.components.v2 import manifest_scanner

from attnviz.app.jobs import JOBS
from attnviz.capture import loading
from attnviz.models import allowed
from tests.app.shown import SECONDS


@pytest.fixture(autouse=True, scope="session")
def _packages_are_looked_through_once() -> Iterator[None]:
    """Each AppTest looks for components in all installed packages, which takes longer than most pages do."""
    once = cache(manifest_scanner.scan_component_manifests)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", once)
        yield


@pytest.fixture(autouse=True)
def _nobody_watches_any_more() -> Iterator[None]:
    """What a page has begun takes no time from the next test, and Python does not end amid a model's pass."""
    yield
    for key, job in list(JOBS._jobs.items()):
        if job.running:
            job.end(SECONDS)
            del JOBS._jobs[key]


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
