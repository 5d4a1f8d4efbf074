"""What tests of pages stand on: nothing is computed for those before, and models that somebody brought."""

from collections.abc import Callable, Iterator
from functools import cache, wraps
from pathlib import Path
from typing import Any

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.pages_manager import PagesManager

from attnviz.app.heads.score import results
from attnviz.app.server.jobs import JOBS, Jobs
from attnviz.capture import loading
from attnviz.experiments import corpus, grammar, pairs, scoring
from attnviz.models import allowed
from tests.app.shown import stop


@pytest.fixture(autouse=True, scope="session")
def _packages_are_looked_through_once() -> Iterator[None]:
    """Each AppTest looks for components in all installed packages, which takes longer than most pages do."""
    once = cache(manifest_scanner.scan_component_manifests)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", once)
        yield


@pytest.fixture(autouse=True, scope="session")
def _app_py_runs_first() -> Iterator[None]:
    """AppTest forgets what `patches.apply` has set, and would run a page on its own, without app.py."""
    begin = PagesManager.__init__

    @wraps(begin)
    def begin_with_app_py(self: PagesManager, *arguments: Any, **more: Any) -> None:
        PagesManager.uses_pages_directory = False
        begin(self, *arguments, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PagesManager, "__init__", begin_with_app_py)
        yield


@pytest.fixture(autouse=True)
def _nobody_watches_any_more() -> Iterator[None]:
    """What a page has begun takes no time from the next test, and Python does not end amid a model's pass."""
    yield
    unfinished = [key for key, job in JOBS._jobs.items() if not job.finished]
    stop(JOBS)
    for key in unfinished:
        del JOBS._jobs[key]


@pytest.fixture
def little_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages that read bundled texts read how these begin, and find nothing that others computed."""
    few, lines = pairs.bundled()[:1], corpus.bundled().splitlines()[:9]
    monkeypatch.setattr(pairs, "bundled", lambda: few)
    monkeypatch.setattr(corpus, "bundled", lambda: "\n".join(lines))
    texts = {"rules": "\n".join(lines), "pronouns": pairs.EXAMPLE, "grammar": grammar.SOURCE.example}
    monkeypatch.setattr(scoring.Source, "bundled", lambda source: texts[source.name])
    monkeypatch.setattr(results, "JOBS", Jobs())


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
