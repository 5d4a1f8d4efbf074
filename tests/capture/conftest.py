import pytest
import torch
from transformers import AutoModel, PreTrainedModel

from attnviz.capture import loading
from attnviz.capture.model import Model
from attnviz.models import catalogue


@pytest.fixture(scope="session")
def minilm() -> Model:
    return loading.load("minilm")


@pytest.fixture(scope="session")
def eager() -> PreTrainedModel:
    """MiniLM run by transformers alone: the reference for every captured number."""
    model: PreTrainedModel = AutoModel.from_pretrained(
        catalogue.MINILM.folder,
        attn_implementation="eager",
        dtype=torch.float32,
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
    ).eval()
    return model
