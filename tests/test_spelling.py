import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from attnviz.spelling import byte_numbers, complete_text, spelled_bytes


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("Ġdog", b" dog"),
        ("Ċ", b"\n"),
        ("cafÃ©", "café".encode()),
        ("ðŁĺ", "😀".encode()[:3]),
        ("<0xE2>", b"\xe2"),
        ("<0x0A>", b"\n"),
        ("<0xZZ>", b"<0xZZ>"),
        ("▁dog", None),
        ("日", None),
    ],
)
def test_known_spellings_are_decoded(spelling: str, expected: bytes | None) -> None:
    assert spelled_bytes(spelling) == expected


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_spellings_of_the_tokenizers_library_are_decoded(text: str) -> None:
    pieces = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(text)
    assert spelled_bytes("".join(piece for piece, _ in pieces)) == text.encode()


@given(st.binary(min_size=1))
def test_numbered_bytes_can_be_decoded(content: bytes) -> None:
    numbers = byte_numbers(content)
    assert len(numbers) == 6 * len(content)
    assert b"".join(spelled_bytes(numbers[at : at + 6]) or b"" for at in range(0, len(numbers), 6)) == content


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_an_incomplete_character_is_not_decoded(text: str) -> None:
    assert complete_text(text.encode()) == text
    last = text[-1].encode()
    assert complete_text(text.encode()[:-1]) == (text[:-1] if len(last) == 1 else None)
