"""Marian's tokenizer as published: two SentencePiece models, one list of numbers and no fast version."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

import attnviz
from tests.models.tokenizers_of import saved_marian


def published(folder: Path) -> Any:
    files: Any = [str(folder / name) for name in ("source.spm", "target.spm", "vocab.json")]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Recommended: pip install sacremoses")
        return MarianTokenizer(*files)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = saved_marian(tmp_path_factory.mktemp("marian"))
    torch.manual_seed(3)
    wrapper = published(folder)
    sizes = {"d_model": 14, "encoder_ffn_dim": 11, "decoder_ffn_dim": 11, "max_position_embeddings": 64}
    layers = {"encoder_layers": 2, "decoder_layers": 3}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    special = {
        "eos_token_id": 0,
        **dict.fromkeys(("pad_token_id", "decoder_start_token_id"), wrapper.pad_token_id),
    }
    build: Any = MarianConfig
    config = build(vocab_size=len(wrapper.encoder), **sizes, **layers, **heads, **special)
    MarianMTModel(config).save_pretrained(folder)
    return folder


def test_a_published_model_is_shown_to_the_bit(folder: Path) -> None:
    wrapper = published(folder)
    text, target = "The dog was too tired.", "Le chien était las."
    taught = wrapper(text_target=target)["input_ids"]
    network = MarianMTModel.from_pretrained(folder, attn_implementation="eager")
    with torch.inference_mode():
        expected = network(
            **wrapper(text, return_tensors="pt"),
            decoder_input_ids=torch.tensor([[wrapper.pad_token_id, *taught[:-1]]]),
            output_attentions=True,
        )
    for trace in (
        attnviz.trace(text, folder, target=target),
        attnviz.trace(text, network, target=target, tokenizer=wrapper),
    ):
        spelled = [(token.text.strip("▁"), text[token.start : token.end]) for token in trace.tokens[:-1]]
        assert all(piece == typed.strip() for piece, typed in spelled)
        assert np.array_equal(trace.stack("encoder"), torch.cat(expected.encoder_attentions).numpy())
        assert np.array_equal(trace.stack("decoder"), torch.cat(expected.decoder_attentions).numpy())
        assert np.array_equal(trace.stack("cross"), torch.cat(expected.cross_attentions).numpy())
