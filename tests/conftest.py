"""What every test stands on: no network, repeatable examples, and shapes that are checked."""

import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from shutil import copytree

# Set before torch and the tokenizers are first imported; later they are not read any more.
os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
# Two test processes on two cores: with one thread each they need half the time that they need with two.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings
from jaxtyping import config, install_import_hook

# From here on every function of our transformer checks the shapes that it promises.
install_import_hook("attnviz.transformer", "beartype.beartype")
SHAPES_CHECKED_IN = ("transformer", "trained", "capture")

# In CI the same examples every time, at home new ones. A slow first example (a model loads) is no failure.
settings.register_profile("home", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "home")


@pytest.fixture(autouse=True)
def _shapes_are_checked_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folders whose tests call these functions; elsewhere the checks take as long as the model."""
    if request.path.relative_to(Path(__file__).parent).parts[0] not in SHAPES_CHECKED_IN:
        monkeypatch.setattr(config, "jaxtyping_disable", True)


@pytest.fixture(autouse=True)
def _threads_stay_as_few() -> Iterator[None]:
    """Some tests set more; all later tests of this process would take several times as long."""
    yield
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))


@pytest.fixture(autouse=True)
def _tokenizers_work_in_this_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process for each of thousands of small models would take as long as all else together."""
    if request.path.name != "test_tokenizer_client.py":
        from attnviz.models import tokenizer

        monkeypatch.setattr(tokenizer, "guarded_in_folder", tokenizer.in_folder)


@pytest.fixture(autouse=True, scope="module")
def _no_model_is_opened_yet() -> None:
    """Whatever files ran before in this process: pages list what was opened there."""
    from attnviz.models import allowed

    allowed._opened.clear()


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Where a tiny model of a family lies, built when it is first asked for."""
    from tests.capture.tiny import tiny

    root = tmp_path_factory.mktemp("families")
    return cache(lambda family: tiny(family, root / family))


@pytest.fixture
def copy_of(folder_of: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """Such a model for one test alone, to be spoilt."""
    return lambda family: copytree(folder_of(family), tmp_path / family)


@pytest.fixture
def bert(copy_of: Callable[[str], Path]) -> Path:
    return copy_of("bert")
