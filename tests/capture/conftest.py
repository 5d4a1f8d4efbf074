from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch
from transformers import AutoModel, PreTrainedModel

from attnviz.capture import loading
from attnviz.models import catalogue
from tests.capture.tiny import tiny


@pytest.fixture(scope="session")
def minilm() -> loading.Model:
    return loading.load("minilm")


@pytest.fixture(scope="session")
def eager() -> PreTrainedModel:
    """The same weights as transformers runs them by itself: what every captured number must equal."""
    model: PreTrainedModel = AutoModel.from_pretrained(
        catalogue.MINILM.folder,
        attn_implementation="eager",
        dtype=torch.float32,
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
    ).eval()
    return model


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Where a tiny model of a family lies, built when it is first asked for."""
    root = tmp_path_factory.mktemp("families")
    return cache(lambda family: tiny(family, root / family))
