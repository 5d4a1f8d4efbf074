"""Fixtures for tests of pages: isolated jobs and caches, short corpora, and a user's own models."""

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
def _cache_component_scan() -> Iterator[None]:
    """Scan installed packages for components only once: a scan takes longer than drawing most pages."""
    once = cache(manifest_scanner.scan_component_manifests)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", once)
        yield


@pytest.fixture(autouse=True, scope="session")
def _run_app_py_first() -> Iterator[None]:
    """Make AppTest run app.py; without this fixture, it would run only the page."""
    begin = PagesManager.__init__

    @wraps(begin)
    def begin_with_app_py(self: PagesManager, *arguments: Any, **keywords: Any) -> None:
        PagesManager.uses_pages_directory = False
        begin(self, *arguments, **keywords)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PagesManager, "__init__", begin_with_app_py)
        yield


@pytest.fixture(autouse=True)
def _stop_jobs_after_test() -> Iterator[None]:
    """Stop unfinished jobs after each test: they would slow the next test, or run when Python exits."""
    yield
    unfinished = [key for key, job in JOBS._jobs.items() if not job.finished]
    stop(JOBS)
    for key in unfinished:
        del JOBS._jobs[key]


@pytest.fixture
def short_corpora(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the bundled corpora, and remove the results of other tests."""
    first_pair, lines = pairs.bundled()[:1], corpus.bundled().splitlines()[:9]
    monkeypatch.setattr(pairs, "bundled", lambda: first_pair)
    monkeypatch.setattr(corpus, "bundled", lambda: "\n".join(lines))
    texts = {"rules": "\n".join(lines), "pronouns": pairs.EXAMPLE, "grammar": grammar.SOURCE.example}
    monkeypatch.setattr(scoring.Source, "bundled", lambda source: texts[source.name])
    monkeypatch.setattr(results, "JOBS", Jobs())


@pytest.fixture
def opened(folder_of: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """A function that opens a small model of a family and returns its name; no other models are open."""
    monkeypatch.delenv(allowed.SETTING, raising=False)
    monkeypatch.setattr(allowed, "_opened", {})

    def open_family(family: str) -> str:
        name = str(folder_of(family))
        loading.open_model(name)
        return name

    return open_family
