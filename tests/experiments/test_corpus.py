"""A text of many sentences, read line by line; errors for invalid texts."""

import io
from pathlib import Path

import pytest

from attnviz.errors import AttnvizError, EmptyText, UnreadableText
from attnviz.experiments.corpus import MAX_CHARACTERS, Corpus

LINE_ENDS = "one\n\r\n\ntwo\rthree\r\n  \nfour\u2028still four\x0c"


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n"])
def test_pasted_text_and_file_have_the_same_lines(end: str, tmp_path: Path) -> None:
    text = LINE_ENDS + end
    file = tmp_path / "text.txt"
    file.write_bytes(text.encode())
    with io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8") as opened:
        expected = [line.rstrip("\n") for line in opened]
    corpora = [Corpus.from_text(text), Corpus.from_file(file)]
    for corpus in corpora:
        assert list(corpus) == list(corpus) == expected
        assert corpus.lines == len(expected)
    assert len({corpus.key for corpus in corpora}) == 1
    assert Corpus.from_text(f"{text}x").key != corpora[0].key


@pytest.mark.parametrize(
    "content",
    [
        "Hé.\nHo.".encode("utf-16"),
        "Hé.\nHo.".encode("utf-16-be"),
        "Où est-il ?\nIl est là.\nÇa va.".encode("latin-1"),
        b"%PDF-1.7\n%\xe2\xe3",
        b"PK\x03\x04\x14\x00",
    ],
)
def test_file_that_is_not_utf_8_is_refused_with_a_remedy(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "other.txt"
    file.write_bytes(content)
    with pytest.raises(UnreadableText, match=r"“other\.txt” is not UTF-8 text.*try again\.$"):
        Corpus.from_file(file)


def test_length_of_annotated_examples_is_limited() -> None:
    long = Corpus.from_text("a" * (MAX_CHARACTERS + 1), "x")
    with pytest.raises(AttnvizError, match="“x” has more than 200,000 characters"):
        _ = long.text


def test_texts_without_a_sentence_or_with_too_many_are_refused() -> None:
    for empty in ("", " \n\t\n"):
        with pytest.raises(EmptyText, match="no sentence in “the text”"):
            Corpus.from_text(empty)
    assert Corpus.from_text("a\n" * 5, maximum=5).lines == 5
    with pytest.raises(AttnvizError, match="“mine” has 6 lines; this page accepts at most 5"):
        Corpus.from_text("a\n" * 6, "mine", 5)
