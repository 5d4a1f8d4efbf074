import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from attnviz.capture import catalogue
from attnviz.capture.text import Reader, reader
from attnviz.errors import EmptyText, TextTooLong, UnreadableText
from attnviz.trace import Token
from tests.capture.sentences import sentence

ENTRY = catalogue.entry("minilm")


def read(text: str) -> tuple[Token, ...]:
    return reader(catalogue.MINILM.folder, ENTRY.token_limit).tokens(text)


def spans(text: str) -> list[tuple[str, str]]:
    """(token, the characters that it stands for) of all but the special tokens."""
    return [(token.text, text[token.start : token.end]) for token in read(text) if not token.special]


def test_tokens_by_hand() -> None:
    assert read("The dog's tiredness") == (
        Token("[CLS]", 101, 0, 0, None, True),
        Token("the", 1996, 0, 3, 0, False),
        Token("dog", 3899, 4, 7, 1, False),
        Token("'", 1005, 7, 8, 2, False),
        Token("s", 1055, 8, 9, 3, False),
        Token("tired", 5458, 10, 15, 4, False),
        Token("##ness", 2791, 15, 19, 4, False),
        Token("[SEP]", 102, 0, 0, None, True),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("😀 dog 👍🏽!", [("[UNK]", "😀"), ("dog", "dog"), ("[UNK]", "👍🏽"), ("!", "!")]),
        ("שלום dog", [("ש", "ש"), ("##ל", "ל"), ("##ו", "ו"), ("##ם", "ם"), ("dog", "dog")]),
        ("caf\u00e9 dog", [("cafe", "caf\u00e9"), ("dog", "dog")]),
        ("cafe\u0301 dog", [("cafe", "cafe\u0301"), ("dog", "dog")]),
        ("a\u0301\u0323\u0301b dog", [("ab", "a\u0301\u0323\u0301b"), ("dog", "dog")]),
        ("a\x00b dog", [("ab", "a\x00b"), ("dog", "dog")]),
        ("a\u200bdog \u200d dog", [("ad", "a\u200bd"), ("##og", "og"), ("dog", "dog")]),
        ("日本 dog", [("日", "日"), ("本", "本"), ("dog", "dog")]),
        ("\t\r\n dog\u00a0dog", [("dog", "dog"), ("dog", "dog")]),
        ("<b>dog", [("<", "<"), ("b", "b"), (">", ">"), ("dog", "dog")]),
    ],
)
def test_spans_point_at_the_right_characters(text: str, expected: list[tuple[str, str]]) -> None:
    assert spans(text) == expected


def test_a_special_token_that_was_typed_belongs_to_the_text() -> None:
    typed = read("a [SEP] b")[2]
    assert (typed.text, typed.start, typed.end, typed.word, typed.special) == ("[SEP]", 2, 7, 1, False)


@pytest.mark.parametrize("text", ["", " ", "\n\t \r", "\u200b\u200d\ufeff", "\x00", "\u0301", "\u00a0\u2003"])
def test_a_text_of_nothing_is_refused(text: str) -> None:
    with pytest.raises(EmptyText, match="Type a sentence"):
        read(text)


@pytest.mark.parametrize(("text", "place"), [("\ud800", 1), ("a dog \udc00", 7), ("\ud83d dog \ude00", 1)])
def test_half_a_character_is_refused_with_its_place(text: str, place: int) -> None:
    with pytest.raises(UnreadableText, match=f"Character {place} of the text"):
        read(text)


def test_the_limit_itself_is_read_and_one_more_is_refused_with_its_count() -> None:
    assert len(read(sentence(512))) == 512
    with pytest.raises(
        TextTooLong, match=r"513 tokens; the model reads at most 512\. Shorten it by 1 "
    ) as caught:
        read(sentence(513))
    assert (caught.value.tokens, caught.value.limit) == (513, 512)


@pytest.mark.parametrize("characters", [10_000, 1_000_000])
@pytest.mark.parametrize(("piece", "tokens_a_piece"), [("dog ", 1), ("a", 0), (".", 1)])
def test_very_long_texts_are_answered_with_the_true_count(
    characters: int, piece: str, tokens_a_piece: int
) -> None:
    text = piece * (characters // len(piece))
    if tokens_a_piece:
        with pytest.raises(TextTooLong) as caught:
            read(text)
        assert caught.value.tokens == text.count(piece) + 2
    else:  # a word of a million letters is one unknown word
        assert spans(text) == [("[UNK]", text)]


@pytest.mark.parametrize(
    "text", ["The dog's tiredness", "naïve café — 100 %", "日本 👍🏽", sentence(200), "[MASK] x"]
)
def test_tokens_are_those_of_transformers(text: str) -> None:
    theirs = AutoTokenizer.from_pretrained(catalogue.MINILM.folder, local_files_only=True)(
        text, return_offsets_mapping=True
    )
    assert [token.id for token in read(text)] == theirs["input_ids"]
    assert [token.word for token in read(text)] == theirs.word_ids()
    assert [(token.start, token.end) for token in read(text)] == theirs["offset_mapping"]


def bare(text: str) -> str:
    """As BERT's tokenizer reads it: no accents, no capitals, no control characters."""
    marked = unicodedata.normalize("NFD", text)
    return "".join(
        letter for letter in marked if unicodedata.category(letter) not in ("Mn", "Cc", "Cf")
    ).lower()


READABLE = st.text(
    st.characters(exclude_categories=("Cs", "Co", "Cn"), max_codepoint=0xFFFF)
    | st.sampled_from("dogcatit \u0301\u0323'.éÅ"),
    max_size=40,
)


@given(READABLE)
@example("한국어 dog")
@example("\u0301dog\u0301")
@example("ΑΣ ß ﬁ İ")
def test_every_span_holds_its_token_and_none_runs_backwards(text: str) -> None:
    try:
        tokens = read(text)
    except EmptyText:
        return
    assert [token.special for token in tokens] == [True] + [False] * (len(tokens) - 2) + [True]
    inner = tokens[1:-1]
    for token in inner:
        assert 0 <= token.start < token.end <= len(text)
        assert token.text == "[UNK]" or token.text.removeprefix("##") in bare(text[token.start : token.end])
    for one, following in pairwise(inner):
        assert one.start <= following.start
        assert one.end <= following.end
        assert one.word is not None
        assert following.word is not None
        assert following.word - one.word in (0, 1)
        assert (following.word == one.word) == following.text.startswith("##")
    assert inner[0].word == 0


def test_a_folder_is_read_once() -> None:
    assert reader(catalogue.MINILM.folder, 512) is reader(catalogue.MINILM.folder, 512)
    assert isinstance(reader(catalogue.MINILM.folder, 512), Reader)
