import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from attnviz.spelling import numbered, spelled_bytes, whole


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
def test_bytes_by_hand(spelling: str, expected: bytes | None) -> None:
    assert spelled_bytes(spelling) == expected


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_bytes_are_spelled_as_the_tokenizers_library_spells_them(text: str) -> None:
    pieces = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(text)
    assert spelled_bytes("".join(piece for piece, _ in pieces)) == text.encode()


@given(st.binary(min_size=1))
def test_a_number_is_spelled_so_that_it_can_be_read_again(some: bytes) -> None:
    numbers = numbered(some)
    assert len(numbers) == 6 * len(some)
    assert b"".join(spelled_bytes(numbers[at : at + 6]) or b"" for at in range(0, len(numbers), 6)) == some


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_only_whole_characters_are_characters(text: str) -> None:
    assert whole(text.encode()) == text
    last = text[-1].encode()
    assert whole(text.encode()[:-1]) == (text[:-1] if len(last) == 1 else None)
