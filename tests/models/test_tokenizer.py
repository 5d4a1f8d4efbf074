import json
import shutil
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from transformers import AutoTokenizer, BertConfig, GPT2Config

from attnviz.errors import EmptyText, ModelFilesDamaged, TextTooLong, UnreadableText
from attnviz.models import catalogue
from attnviz.models.tokenizer import TextTokenizer, grid_of, in_folder, patch_tokens, tokenizer_of
from attnviz.readable import MAX_LONG_CHARACTERS
from attnviz.trace import Token
from tests.capture.sentences import sentence
from tests.models.small_tokenizers import TokenizerKind, saved

ENTRY = catalogue.entry("minilm")
Tokenizers = dict[TokenizerKind, TextTokenizer]


def tokens_of(text: str) -> tuple[Token, ...]:
    return tokenizer_of(ENTRY).tokens(text)


def spans(text: str) -> list[tuple[str, str]]:
    """Return (token, its characters in the text) for every token that is not special."""
    return [(token.text, text[token.start : token.end]) for token in tokens_of(text) if not token.special]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("😀 dog 👍🏽!", [("[UNK]", "😀"), ("dog", "dog"), ("[UNK]", "👍🏽"), ("!", "!")]),
        ("cafe\u0301 dog", [("cafe", "cafe\u0301"), ("dog", "dog")]),
        ("a\x00b dog", [("ab", "a\x00b"), ("dog", "dog")]),
        ("日本 dog", [("日", "日"), ("本", "本"), ("dog", "dog")]),
        ("\t\r\n dog\u00a0dog", [("dog", "dog"), ("dog", "dog")]),
        ("<b>dog", [("<", "<"), ("b", "b"), (">", ">"), ("dog", "dog")]),
    ],
)
def test_spans_cover_the_correct_characters(text: str, expected: list[tuple[str, str]]) -> None:
    assert spans(text) == expected


@pytest.mark.parametrize("text", ["", " ", "\n\t \r", "\u200b\u200d\ufeff", "\x00", "\u0301", "\u00a0\u2003"])
def test_empty_text_is_refused(text: str, tokenizers: Tokenizers) -> None:
    with pytest.raises(EmptyText, match="Type a sentence"):
        tokens_of(text)
    for tokenizer in tokenizers.values() if not text.strip(" \n\t\r") else ():
        with pytest.raises(EmptyText):
            tokenizer.tokens(text)


@pytest.mark.parametrize(("text", "place"), [("\ud800", 1), ("a dog \udc00", 7), ("\ud83d dog \ude00", 1)])
def test_lone_surrogate_is_refused_with_its_position(text: str, place: int) -> None:
    with pytest.raises(UnreadableText, match=f"Character {place} of the text"):
        tokens_of(text)


def test_text_longer_than_the_limit_is_refused() -> None:
    assert len(tokens_of(sentence(512))) == 512
    with pytest.raises(
        TextTooLong, match=r"513 tokens; the model reads at most 512\. Shorten it by 1 "
    ) as caught:
        tokens_of(sentence(513))
    assert (caught.value.tokens, caught.value.limit) == (513, 512)


def test_too_many_characters_are_refused_before_tokenization(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a" * MAX_LONG_CHARACTERS
    assert spans(text) == [("[UNK]", text)]
    tokenizer = tokenizer_of(ENTRY)
    monkeypatch.setattr(tokenizer, "_tokenizer", None)
    message = (
        r"This text has 200,001 characters; attnviz reads at most 200,000\. Shorten it by 1 character or"
    )
    for texts in [(text + "a",), ("a dog", text + "a")]:
        with pytest.raises(TextTooLong, match=message) as caught:
            tokenizer.tokens(*texts)
        assert (caught.value.tokens, caught.value.limit) == (None, MAX_LONG_CHARACTERS)


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory: pytest.TempPathFactory) -> Tokenizers:
    """One tokenizer of each kind."""
    kinds = get_args(TokenizerKind)
    return {kind: in_folder(saved(kind, tmp_path_factory.mktemp("kind")), 128) for kind in kinds}


def parts(text: str, tokens: Iterable[Token]) -> list[tuple[str, str, int | None]]:
    """Return (token, its characters in the text, word) for every token that is not special."""
    return [(token.text, text[token.start : token.end], token.word) for token in tokens if not token.special]


READABLE = st.text(
    st.characters(exclude_categories=("Cs", "Co", "Cn"), max_codepoint=0xFFFF)
    | st.sampled_from("dogcatit \u0301\u0323'.éÅ"),
    max_size=40,
)


def test_patch_tokens_are_named_by_row_and_column() -> None:
    tokens = patch_tokens((3, 2), ("[CLS]",))
    assert [token.text for token in tokens] == ["[CLS]", "1,1", "1,2", "2,1", "2,2", "3,1", "3,2"]
    assert [token.special for token in tokens] == [True] + [False] * 6
    assert grid_of(tokens) == grid_of(patch_tokens((3, 2), ())) == (3, 2)
    assert [token.id for token in tokens] == list(range(7))


# Sentence pairs


@pytest.mark.parametrize("second", [None, "naïve café — 100 %", "[SEP] [MASK]"])
@pytest.mark.parametrize("text", ["The dog's tiredness", "日本 👍🏽", "[MASK] x"])
def test_tokens_equal_transformers(text: str, second: str | None) -> None:
    theirs = AutoTokenizer.from_pretrained(catalogue.MINILM.folder, local_files_only=True)(
        text, second, return_offsets_mapping=True, return_token_type_ids=True
    )
    ours = tokenizer_of(ENTRY).tokenized(text, second)
    assert [token.id for token in ours.tokens] == theirs["input_ids"]
    assert list(ours.type_ids) == theirs["token_type_ids"]
    assert [(token.start, token.end) for token in ours.tokens] == theirs["offset_mapping"]
    if second is None:
        assert [token.word for token in ours.tokens] == theirs.word_ids()


def test_errors_of_a_pair_name_the_sentence_and_count_both() -> None:
    with pytest.raises(EmptyText, match="second sentence"):
        tokenizer_of(ENTRY).tokens("A dog", " ")
    with pytest.raises(UnreadableText, match="Character 2"):
        tokenizer_of(ENTRY).tokens("A dog", "a\ud800")
    with pytest.raises(TextTooLong, match="8 tokens; the model reads at most 7"):
        in_folder(catalogue.MINILM.folder, 7).tokens("a dog", "a tired dog")


@pytest.mark.parametrize(
    ("type_vocab_size", "expected"), [(2, (0, 0, 0, 1, 1)), (1, (0,) * 5), (0, (0,) * 5)]
)
def test_type_ids_differ_only_if_the_model_has_two_types(
    type_vocab_size: int, expected: tuple[int, ...], tmp_path: Path
) -> None:
    shutil.copy(catalogue.MINILM.folder / "tokenizer.json", tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"type_vocab_size": type_vocab_size}))
    assert in_folder(tmp_path, 512).tokenized("dog", "dog").type_ids == expected


# Other kinds of tokenizers


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("bytes", "The dog.", [("The", "The", 0), ("Ġdog", "dog", 1), (".", ".", 2)]),
        ("bytes trimmed", "The dog.", [("The", "The", 0), ("Ġdog", "dog", 1), (".", ".", 2)]),
        ("fallback", "The dog.", [("▁The", "The", 0), ("▁dog", "dog", 1), (".", ".", 2)]),
        ("unigram", "a dog.", [("▁", "", 0), ("a", "a", 0), ("▁dog", "dog", 1), (".", ".", 2)]),
        # A space that is a separate token has a span.
        ("bytes", "é  x", [("Ã©", "é", 0), ("Ġ", " ", 1), ("Ġ", " ", 2), ("x", "x", 3)]),
        ("fallback", "dog\n dog", [("▁dog", "dog", 0), ("<0x0A>", "\n", 1), ("▁dog", "dog", 2)]),
        # Every byte of a character has the span of the character.
        ("bytes", "😀.", [("ð", "😀", 0), ("Ł", "😀", 0), ("ĺ", "😀", 0), ("Ģ", "😀", 0), (".", ".", 1)]),
        ("fallback", "dog ש", [("▁dog", "dog", 0), ("▁", " ", 1), ("<0xD7>", "ש", 2), ("<0xA9>", "ש", 2)]),
        # A separate accent belongs to the word; a removed or composed accent belongs to its letter.
        ("bytes", "e\u0301o", [("e", "e", 0), ("Ì", "\u0301", 0), ("ģ", "\u0301", 0), ("o", "o", 1)]),
        ("unigram", "de\u0301.", [("▁d", "d", 0), ("é", "e\u0301", 0), (".", ".", 1)]),
        # An unknown character, and one character that becomes two tokens.
        ("unigram", "d😀.", [("▁d", "d", 0), ("<unk>", "😀", 0), (".", ".", 1)]),
        ("unigram", "dog ﬁ", [("▁dog", "dog", 0), ("▁", " ", 1), ("f", "ﬁ", 2), ("i", "ﬁ", 2)]),
        # Punctuation separates words, even if the tokenizer does not pre-tokenize.
        ("fallback", "dog(o)", [("▁dog", "dog", 0), ("<0x28>", "(", 1), ("o", "o", 2), ("<0x29>", ")", 3)]),
    ],
)  # fmt: skip
def test_spans_and_words(
    kind: TokenizerKind, text: str, expected: list[object], tokenizers: Tokenizers
) -> None:
    assert parts(text, tokenizers[kind].tokens(text)) == expected


@pytest.mark.parametrize("kind", get_args(TokenizerKind))
@given(text=READABLE)
@example(text="<script>alert(1)</script> \0 שלום 😀👍🏽 \u0301")
@example(text="</s><s> <mask> <|endoftext|>")
@example(text="ﷺ")  # one character that is normalized to four words
def test_properties_of_every_kind(kind: TokenizerKind, text: str, tokenizers: Tokenizers) -> None:
    try:
        tokens = [token for token in tokenizers[kind].tokens(text) if not token.special]
    except (EmptyText, TextTooLong):
        return
    for one, following in pairwise(tokens):
        assert one.start <= following.start
        assert one.end <= following.end
        assert (one.word, following.word) in ((one.word, one.word), (one.word, (one.word or 0) + 1))
    assert tokens[0].word == 0
    covered = {place for token in tokens for place in range(token.start, token.end)}
    assert covered <= set(range(len(text)))
    if kind.startswith("bytes"):  # byte-level tokenizers keep every character
        assert {place for place, letter in enumerate(text) if not letter.isspace()} <= covered


def test_mask_token_is_the_models_own(tokenizers: Tokenizers, tmp_path: Path) -> None:
    assert in_folder(catalogue.MINILM.folder, 512).mask == "[MASK]"
    assert tokens_of("[MASK] dog")[1] == Token("[MASK]", 103, 0, 6, 0, False)
    assert tokenizers["bytes trimmed"].mask == "<mask>"
    assert tokenizers["bytes"].mask is None
    saved("bytes", tmp_path)
    for setting in ("<|endoftext|>", {"content": "<|endoftext|>"}):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"mask_token": setting}))
        assert in_folder(tmp_path, 512).mask == "<|endoftext|>"


# Generated tokens


@pytest.mark.parametrize("kind", ["bytes", "bytes trimmed"])
@given(text=READABLE, prompt=st.sampled_from(["", "The dog", "😀"]))
@example(text="é😀\n\n  dogs' cafe\u0301", prompt="The")
@example(text=" 0", prompt="")
def test_spans_of_generated_tokens(
    kind: TokenizerKind, text: str, prompt: str, tokenizers: Tokenizers
) -> None:
    ours = tokenizers[kind]
    try:
        tokens = [token for token in ours.tokens(text) if not token.special]
    except (EmptyText, TextTooLong):
        return
    before = tuple(token for token in ours.tokens(prompt) if not token.special) if prompt else ()
    full, written = ours.append_tokens(prompt, before, [token.id for token in tokens])
    assert full == prompt + text
    assert written[: len(before)] == before
    assert [
        (token.id, token.start - len(prompt), token.end - len(prompt)) for token in written[len(before) :]
    ] == [(token.id, token.start, token.end) for token in tokens]


@pytest.mark.parametrize(
    ("kind", "pieces", "expected"),
    [
        ("bytes", ("Ã", "Ã", "©", "."), [("Ã", "\ufffd"), ("Ã", "é"), ("©", "é"), (".", ".")]),
        ("bytes", ("ð", "Ł"), [("ð", "\ufffd"), ("Ł", "\ufffd")]),
        ("bytes", ("a", "Ģ", "ģ", "."), [("a", "a"), ("Ģ", "\ufffd"), ("ģ", "\ufffd"), (".", ".")]),
        ("fallback", ("<0xD7>", "<0xA9>", "o"), [("<0xD7>", "ש"), ("<0xA9>", "ש"), ("o", "o")]),
        ("fallback", ("<0xD7>", "<0xD7>"), [("<0xD7>", "\ufffd"), ("<0xD7>", "\ufffd")]),
    ],
)
def test_invalid_bytes_have_spans(
    kind: TokenizerKind, pieces: tuple[str, ...], expected: list[object], tokenizers: Tokenizers
) -> None:
    ids = [number for piece in pieces if (number := tokenizers[kind].id_of(piece)) is not None]
    text, tokens = tokenizers[kind].append_tokens("", (), ids)
    assert [(token.text, text[token.start : token.end]) for token in tokens] == expected
    assert sorted({place for token in tokens for place in range(token.start, token.end)}) == [
        *range(len(text))
    ]


@pytest.mark.parametrize(
    ("kind", "piece", "expected"),
    [
        ("bytes", "og", "og"),
        ("bytes", "ĠcafÃ©", " café"),
        ("bytes", "Ċ", "\n"),
        ("bytes", "Ã", "<0xC3>"),
        ("bytes", "<|endoftext|>", "<|endoftext|>"),
        ("fallback", "▁dog", " dog"),
        ("fallback", "<0x0A>", "\n"),
        ("unigram", "▁", " "),
        ("unigram", "</s>", "</s>"),
    ],
)
def test_label_of_a_token(kind: TokenizerKind, piece: str, expected: str, tokenizers: Tokenizers) -> None:
    number = tokenizers[kind].id_of(piece)
    assert number is not None
    assert tokenizers[kind].readable(number) == expected


# Missing files


def test_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    for config in (BertConfig(), GPT2Config()):
        config.save_pretrained(tmp_path)
        assert AutoTokenizer.from_pretrained(tmp_path, local_files_only=True) is not None
        with pytest.raises(ModelFilesDamaged, match=r"a tokenizer\.json .*tokenizer\.save_pretrained"):
            in_folder(tmp_path, 512)
