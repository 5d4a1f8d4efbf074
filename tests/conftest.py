"""Settings and fixtures of all tests: no network, repeatable examples, and checked array shapes."""

import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from shutil import copytree

# These must be set before importing torch and tokenizers, because the packages read them only once.
os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
# On two cores, two test processes are twice as fast with one thread each as with two threads each.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings
from jaxtyping import config, install_import_hook

# From here on, every function in attnviz.transformer checks the array shapes in its annotations.
install_import_hook("attnviz.transformer", "beartype.beartype")
SHAPES_CHECKED_IN = ("transformer", "trained", "capture")

# CI uses the same examples every time; other runs draw new examples. There is no deadline, because the first
# example may load a model.
settings.register_profile("home", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "home")


@pytest.fixture(autouse=True)
def _check_shapes_only_where_tested(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check shapes only in `SHAPES_CHECKED_IN`, because checking takes as long as running the model."""
    if request.path.relative_to(Path(__file__).parent).parts[0] not in SHAPES_CHECKED_IN:
        monkeypatch.setattr(config, "jaxtyping_disable", True)


@pytest.fixture(autouse=True)
def _reset_threads() -> Iterator[None]:
    """Reset the number of threads after each test; more threads make later tests several times slower."""
    yield
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))


@pytest.fixture(autouse=True)
def _load_tokenizers_in_this_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Load tokenizers without a separate process, which would double the duration of all tests."""
    if request.path.name != "test_tokenizer_client.py":
        from attnviz.models import tokenizer

        monkeypatch.setattr(tokenizer, "guarded_in_folder", tokenizer.in_folder)


@pytest.fixture(autouse=True, scope="module")
def _clear_opened_models() -> None:
    """Forget the models that earlier test files opened, because pages list them."""
    from attnviz.models import allowed

    allowed._opened.clear()


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function that returns the folder of a tiny model of a family, built on first use."""
    from tests.capture.tiny import tiny

    root = tmp_path_factory.mktemp("families")
    return cache(lambda family: tiny(family, root / family))


@pytest.fixture
def copy_of(folder_of: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """A function that returns the folder of a copy of a tiny model, which the test may change."""
    return lambda family: copytree(folder_of(family), tmp_path / family)


@pytest.fixture
def bert(copy_of: Callable[[str], Path]) -> Path:
    return copy_of("bert")
