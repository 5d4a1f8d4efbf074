"""Small trained tokenizers of every kind, saved in the files of a model."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Literal

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

TokenizerKind = Literal["bytes", "bytes trimmed", "fallback", "unigram"]

_TEXTS = ("The dog did not cross the road as it was too tired.", "unbreakable café naïve dog dogs Müller") * 3
_UNKNOWN = "<unk>"
_EVERY_BYTE = [f"<0x{byte:02X}>" for byte in range(256)]


def saved(kind: TokenizerKind, folder: Path) -> Path:
    """Save a tokenizer.json as in GPT-2, RoBERTa ("bytes trimmed"), Llama 2 ("fallback") or T5."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = {"fallback": _fallback, "unigram": _unigram}.get(kind, lambda: _bytes(kind))()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def _bytes(kind: str) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>"] if kind == "bytes" else ["<s>", "</s>"]
    tokenizer.train_from_iterator(
        _TEXTS,
        trainers.BpeTrainer(
            vocab_size=340,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            special_tokens=special,
            show_progress=False,
        ),
    )
    if kind == "bytes":
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    else:
        tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0), trim_offsets=True)
    return tokenizer


def _fallback() -> Tokenizer:
    trained = Tokenizer(models.BPE())
    marks = [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    trained.train_from_iterator(_TEXTS, trainers.BpeTrainer(vocab_size=120, show_progress=False))
    learned = json.loads(trained.to_str())["model"]
    words = [_UNKNOWN, "<s>", "</s>", *_EVERY_BYTE, *learned["vocab"]]
    merges = [tuple(merge) for merge in learned["merges"]]
    tokenizer = Tokenizer(
        models.BPE(
            {word: number for number, word in enumerate(words)},
            merges,
            byte_fallback=True,
            unk_token=_UNKNOWN,
            fuse_unk=True,
        )
    )
    tokenizer.normalizer = normalizers.Sequence(marks)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens(words[:3])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 1)]
    )
    return tokenizer


def _unigram() -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.train_from_iterator(
        _TEXTS,
        trainers.UnigramTrainer(
            vocab_size=90, special_tokens=["<pad>", "</s>", _UNKNOWN], unk_token=_UNKNOWN, show_progress=False
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return tokenizer


def saved_marian(folder: Path) -> Path:
    """Save Marian's files: a SentencePiece model for each language, and the ids of all pieces."""
    from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

    all_pieces = []
    for name, texts in (
        ("source", _TEXTS),
        ("target", ("Le chien n'a pas traversé la rue, car il était las.",) * 9),
    ):
        SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_prefix=str(folder / name),
            vocab_size=120,
            hard_vocab_limit=False,
            required_chars=string.ascii_letters,
            pad_id=-1,
            bos_id=-1,
            eos_id=0,
            unk_id=1,
            minloglevel=2,
        )
        (folder / f"{name}.vocab").unlink()
        file = (folder / f"{name}.model").rename(folder / f"{name}.spm")
        pieces = SentencePieceProcessor(model_file=str(file))
        all_pieces += [pieces.id_to_piece(number) for number in range(len(pieces))]
    numbers = {piece: number for number, piece in enumerate(dict.fromkeys([*all_pieces, ">>fr<<", "<pad>"]))}
    (folder / "vocab.json").write_text(json.dumps(numbers), "utf-8")
    return folder
