"""Tokenizers of transformers, including pure-Python tokenizers and tokenizers with a target language."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    ByT5Tokenizer,
    CanineTokenizer,
    EsmTokenizer,
    M2M100Tokenizer,
    MarianTokenizer,
    MBart50Tokenizer,
    MBartTokenizer,
    NllbTokenizer,
)

import attnviz
from attnviz.errors import ModelNotSupported
from attnviz.models import tokenizer
from tests.capture.tiny import untrained
from tests.models.small_tokenizers import saved_marian

SIZES = {
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "intermediate_size": 48,
    "initializer_range": 0.3,
}
PROTEIN = ["<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO.-", "<null_1>", "<mask>"]


class Minimal:
    """A tokenizer with only ids and their texts."""

    def __call__(self, text: str) -> dict[str, list[int]]:
        return {"input_ids": ["ACGT".index(letter) for letter in text]}

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return ["ACGT"[number] for number in ids]


def spans(text_tokenizer: tokenizer.TextTokenizer, text: str) -> list[tuple[str, str]]:
    tokens = text_tokenizer.tokens(text)
    return [(token.text, text[token.start : token.end]) for token in tokens if not token.special]


def protein(folder: Path) -> Any:
    (folder / "vocab.txt").write_text("\n".join(PROTEIN))
    esm: Any = EsmTokenizer
    return esm(str(folder / "vocab.txt"))


def test_tokens_of_python_tokenizers_have_spans(tmp_path: Path) -> None:
    amino = tokenizer.borrowed(protein(tmp_path), 99, None)
    assert spans(amino, "MK <mask>Y") == [("M", "M"), ("K", "K"), ("<mask>", "<mask>"), ("Y", "Y")]
    assert spans(amino, "MKJJY")[2] == ("<unk>", "JJ")
    byte_spans = spans(tokenizer.borrowed(ByT5Tokenizer(), 99, None), "é 5€")
    assert [part for _, part in byte_spans] == ["é", "é", " ", "5", "€", "€", "€"]
    canine: Any = CanineTokenizer
    letters = spans(tokenizer.borrowed(canine(), 99, None), "hi é")
    assert letters == [(letter, letter) for letter in "hi é"]
    minimal = tokenizer.borrowed(Minimal(), 99, None)
    assert spans(minimal, "GATT") == [(letter, letter) for letter in "GATT"]
    assert minimal.mask is None


def test_tokens_that_do_not_match_the_text_have_no_spans() -> None:
    class Backwards(Minimal):
        def __call__(self, text: str) -> dict[str, list[int]]:
            return super().__call__(text[::-1])

    found = tokenizer.borrowed(Backwards(), 99, None).tokens("GATC")
    assert [token.text for token in found] == list("CTAG")
    assert {(token.start, token.end) for token in found} == {(0, 0)}
    assert [token.word for token in found] == [0, 1, 2, 3]


def test_text_tokens_and_folder_with_a_python_tokenizer(tmp_path: Path) -> None:
    own_tokenizer = protein(tmp_path)
    model = untrained("esm", AutoModelForMaskedLM, **SIZES, vocab_size=33, pad_token_id=1, mask_token_id=32)
    model.save_pretrained(tmp_path)
    own_tokenizer.save_pretrained(tmp_path)
    with torch.inference_mode():
        expected = model(**own_tokenizer("MK<mask>Y", return_tensors="pt"), output_attentions=True).attentions
    text = "MK<mask>Y"
    inputs = (
        (text, model, own_tokenizer),
        (own_tokenizer(text), model, own_tokenizer),
        (text, tmp_path, None),
    )
    for sequence, source, argument in inputs:
        found = attnviz.trace(sequence, source, tokenizer=argument)
        assert [token.text for token in found.tokens] == ["<cls>", "M", "K", "<mask>", "Y", "<eos>"]
        for block, weights in zip(found.blocks, expected, strict=True):
            assert np.array_equal(block.weights, weights[0].numpy())
    assert attnviz.predictions("MK<mask>Y", model, tokenizer=own_tokenizer)[0].position == 3


def translators(folder: Path, target: str | None) -> dict[str, Any]:
    """Return tokenizers of translation models, for the target language French unless `target` is None."""
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = json.loads((saved_marian(folder) / "vocab.json").read_text())
    numbers = {piece: number for number, piece in enumerate(dict.fromkeys([*special, *pieces]))}
    shutil.copy(folder / "source.spm", folder / "sentencepiece.bpe.model")
    (folder / "numbers.json").write_text(json.dumps(numbers))
    marian: Any = MarianTokenizer
    letters = {letter: number for number, letter in enumerate([*special, *"▁TheMoncidg"])}
    languages: dict[str, Any] = {"src_lang": "en_XX", "tgt_lang": target and "fr_XX"}
    return {
        "mBART": MBartTokenizer.from_pretrained(folder, **languages),
        "mBART-50": MBart50Tokenizer.from_pretrained(folder, **languages),
        "NLLB": NllbTokenizer(vocab=letters, merges=[], src_lang="eng_Latn", tgt_lang=target and "fra_Latn"),
        "M2M100": M2M100Tokenizer(
            str(folder / "numbers.json"),
            str(folder / "sentencepiece.bpe.model"),
            src_lang="en",
            tgt_lang=target and "fr",
        ),
        "Marian": marian(*(str(folder / name) for name in ("source.spm", "target.spm", "vocab.json"))),
    }


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
@pytest.mark.parametrize("name", ["mBART", "mBART-50", "NLLB", "M2M100", "Marian"])
@pytest.mark.parametrize("saved", [False, True])
def test_target_is_tokenized_in_the_target_language(name: str, saved: bool, tmp_path: Path) -> None:
    own_tokenizer = translators(tmp_path, "French")[name]
    torch.manual_seed(0)
    model = untrained(
        {"mBART": "mbart", "mBART-50": "mbart", "Marian": "marian"}.get(name, "m2m_100"),
        AutoModelForSeq2SeqLM,
        vocab_size=400,
        d_model=32,
        **{f"{side}_{name}": 2 for side in ("encoder", "decoder") for name in ("layers", "attention_heads")},
        **{f"{side}_ffn_dim": 48 for side in ("encoder", "decoder")},
        init_std=0.3,
        decoder_start_token_id=None if name == "mBART" else 2,
        pad_token_id=1,
    )
    labels = own_tokenizer(text_target="Mon chien").input_ids
    # The decoder input starts with the language code (the last label) in mBART, else with </s>.
    target_ids = [labels[-1], *labels[:-1]] if name == "mBART" else [2, *labels[:-1]]
    french = own_tokenizer.convert_tokens_to_ids({"NLLB": "fra_Latn", "M2M100": "__fr__"}.get(name, "fr_XX"))
    assert french == target_ids[0 if name == "mBART" else 1] or name == "Marian"
    before = own_tokenizer("The dog").input_ids
    model.save_pretrained(tmp_path / "saved")
    own_tokenizer.save_pretrained(tmp_path / "saved")
    with torch.inference_mode():
        inputs = own_tokenizer("The dog", return_tensors="pt")
        expected = model(**inputs, decoder_input_ids=torch.tensor([target_ids]), output_attentions=True)
    source = tmp_path / "saved" if saved else model
    found = attnviz.trace("The dog", source, tokenizer=None if saved else own_tokenizer, target="Mon chien")
    assert [token.id for token in found.block("decoder").query_tokens] == target_ids
    assert [token.id for token in found.tokens] == before == own_tokenizer("The dog").input_ids
    last = [token for token in found.tokens if not token.special][-1]
    assert found.text[last.start : last.end] in ("dog", "g")
    for block, weights in zip(found.of_kind("cross"), expected.cross_attentions, strict=True):
        assert np.array_equal(block.weights, weights[0].numpy())


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
def test_target_without_a_language_is_refused(tmp_path: Path) -> None:
    for own_tokenizer in translators(tmp_path, None).values():
        if getattr(own_tokenizer, "tgt_lang", "") is None:
            with pytest.raises(ModelNotSupported, match="has no target language"):
                tokenizer.borrowed(own_tokenizer, 99, None).tokens("Mon chien", target=True)
            assert own_tokenizer.tgt_lang is None
