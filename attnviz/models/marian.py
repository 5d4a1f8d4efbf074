"""Marian's tokenizers, of which transformers has no fast version: one for each language.

A text is cut into pieces by the SentencePiece model of its language (Kudo & Richardson 2018), and
`vocab.json` numbers the pieces of both. Here the `tokenizers` library cuts by the same scores, because it
tells where each piece stood; with what transformers' own tokenizer makes of a text, the result is compared
each time.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from attnviz.errors import ModelNotSupported

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SOURCE = "source.spm"
"""One of the files."""

_UNIGRAM = 1  # as SentencePiece numbers its kinds of models
_NEVER = 100.0  # how far below the lowest score of its language a piece of the other language lies

Ids = Callable[..., dict[str, list[int]]]


def is_marian(wrapper: object) -> bool:
    """Whether this is transformers' tokenizer of Marian."""
    return type(wrapper).__name__ == "MarianTokenizer"


@contextmanager
def quiet() -> Iterator[None]:
    """Each new one recommends a package that it does not use to tokenize."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Recommended: pip install sacremoses", UserWarning)
        yield


def languages(wrapper: Any) -> tuple[tuple[Tokenizer, Ids], tuple[Tokenizer, Ids]]:
    """What reads the source, and what reads the target: each with what transformers makes of a text.

    Args:
        wrapper: transformers' tokenizer; it stays as it is.

    Raises:
        ModelNotSupported: it numbers the pieces of the two languages separately, or cuts texts in another way
            than by the scores of pieces.
    """
    if wrapper.separate_vocabs:
        raise ModelNotSupported(
            "This tokenizer has separate numbers for the two languages, which cannot be shown yet."
        )
    with quiet():
        source, target = copy.deepcopy(wrapper), copy.deepcopy(wrapper)
    target._switch_to_target_mode()  # noqa: SLF001 - transformers has no public way that lasts
    return (_cutting(source), _reading(source)), (_cutting(target), _reading(target))


def _reading(wrapper: Any) -> Ids:
    """As calling it, but without the change from one language to the other, which threads cannot share."""

    def ids(text: str) -> dict[str, list[int]]:
        pieces = wrapper.convert_tokens_to_ids(wrapper.tokenize(text))
        return {"input_ids": wrapper.build_inputs_with_special_tokens(pieces)}

    return ids


def _cutting(wrapper: Any) -> Tokenizer:
    """The same as a tokenizer that has the offsets of each piece."""
    from sentencepiece.sentencepiece_model_pb2 import ModelProto  # type: ignore[attr-defined]  # made at import
    from tokenizers import (
        AddedToken,
        Regex,
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
    )

    learned = ModelProto.FromString(wrapper.current_spm.serialized_model_proto())
    if learned.trainer_spec.model_type != _UNIGRAM:
        raise ModelNotSupported(
            "This tokenizer's SentencePiece model merges pairs, which cannot be shown yet."
        )
    scores = {piece.piece: piece.score for piece in learned.pieces}
    never = min(scores.values()) - _NEVER
    numbers: dict[str, int] = wrapper.encoder
    pieces = [(piece, scores.get(piece, never)) for piece in sorted(numbers, key=numbers.__getitem__)]
    tokenizer = Tokenizer(models.Unigram(pieces, wrapper.unk_token_id, byte_fallback=False))
    changes = learned.normalizer_spec.precompiled_charsmap
    tokenizer.normalizer = normalizers.Sequence(
        [
            *([normalizers.Precompiled(changes)] if changes else []),
            normalizers.Replace(Regex(" {2,}"), " "),
            normalizers.Strip(),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens([wrapper.eos_token, wrapper.unk_token, wrapper.pad_token])
    tokenizer.add_tokens([AddedToken(code, normalized=False) for code in wrapper.supported_language_codes])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {wrapper.eos_token}", special_tokens=[(wrapper.eos_token, wrapper.eos_token_id)]
    )
    return tokenizer
