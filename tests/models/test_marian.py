"""Marian's tokenizer as published: two SentencePiece models, one list of numbers and no fast version."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

import attnviz
from attnviz.errors import ModelNotSupported
from attnviz.models.tokenizer import borrowed, in_folder
from tests.models.tokenizers_of import saved_marian

TEXTS = (
    *("The dog did not cross the road as it was too tired.", "Le chien n'a pas traversé la rue", "  a  b "),
    *("a</s>b", "don’t ½ ﷺ e\u0301", "😀😀 x 中文", ">>fr<< dog", ">>fr<<dog", "tab\there\nnew", "▁x ▁"),
    "<unk> x <pad>",
)


def published(folder: Path, **more: Any) -> Any:
    files: Any = [str(folder / name) for name in ("source.spm", "target.spm", "vocab.json")]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Recommended: pip install sacremoses")
        return MarianTokenizer(*files, **more)


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


@pytest.mark.parametrize("text", TEXTS)
def test_both_languages_are_read_as_transformers_reads_them(folder: Path, text: str) -> None:
    theirs = published(folder)
    for ours in (in_folder(folder, 64), borrowed(theirs, 64, None)):
        for reads, expected in (
            (ours, theirs(text)["input_ids"]),
            (ours.of_target, theirs(text_target=text)["input_ids"]),
        ):
            tokens = reads.tokens(text)
            assert [token.id for token in tokens] == expected
            for token in tokens:
                if token.text.strip("▁").isalpha() and token.text.isascii():
                    assert text[token.start : token.end] == token.text.strip("▁")


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
        assert np.array_equal(trace.stack("encoder"), torch.cat(expected.encoder_attentions).numpy())
        assert np.array_equal(trace.stack("decoder"), torch.cat(expected.decoder_attentions).numpy())
        assert np.array_equal(trace.stack("cross"), torch.cat(expected.cross_attentions).numpy())


def test_what_cannot_be_cut_in_the_same_way_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelNotSupported, match="merges pairs"):
        borrowed(published(saved_marian(tmp_path, "bpe")), 64, None)
    separate = published(folder, separate_vocabs=True, target_vocab_file=str(folder / "vocab.json"))
    with pytest.raises(ModelNotSupported, match="separate numbers"):
        borrowed(separate, 64, None)
