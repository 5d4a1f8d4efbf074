"""A text that the visitor uploads: read once for each file, and forgotten with its box."""

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.errors import UnreadableText
from attnviz.experiments.corpus import Corpus
from tests.app.shown import visit

GOOD = b"Bees dance, and bears dance, too.\nWho left the gate open?\n"
OTHER = b"The ferry was late again.\n"
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


class Uploads:
    """A page with the box for a file, and which files were read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read: list[str] = []
        read = Corpus.from_bytes

        def counted(content: bytes, name: str, maximum: int | None = None) -> Corpus:
            self.read.append(name)
            return read(content, name, maximum)

        monkeypatch.setattr(Corpus, "from_bytes", counted)
        self.app = AppTest.from_function(page, default_timeout=30).run()

    def give(self, content: bytes, name: str) -> None:
        self.app.file_uploader[0].set_value((name, content, "text/plain")).run()

    def taken(self) -> list[str]:
        """The lines that the page took in its last run."""
        assert not self.app.exception
        return [text.value for text in self.app.text]


def page() -> None:
    import streamlit as st

    from attnviz.app.heads import texts
    from attnviz.errors import AttnvizError

    try:
        for line in texts.corpus(texts.UPLOADED) or ():
            st.text(line)
    except AttnvizError as error:
        st.error(str(error))


@pytest.fixture
def uploads(monkeypatch: pytest.MonkeyPatch) -> Uploads:
    return Uploads(monkeypatch)


def test_another_file_takes_its_place_even_one_of_the_same_name_and_it_goes_with_its_box(
    uploads: Uploads,
) -> None:
    uploads.give(GOOD, "mine.txt")
    uploads.give(OTHER, "mine.txt")
    assert uploads.taken() == OTHER.decode().splitlines()
    uploads.give(PICTURE, "picture.txt")
    assert not uploads.taken()
    assert "picture.txt" in uploads.app.error[0].value
    uploads.give(GOOD, "bees.txt")
    assert uploads.taken() == GOOD.decode().splitlines()
    uploads.app.file_uploader[0].clear().run()
    assert not uploads.taken()
    assert uploads.read == ["mine.txt", "mine.txt", "picture.txt", "bees.txt"]


def test_a_box_takes_files_as_large_as_it_says() -> None:
    [box] = visit("score_heads", source="Upload").get("file_uploader")
    maximum = box.proto.max_upload_size_mb * 2**20
    Corpus.from_bytes(b"a" * maximum, "x")
    with pytest.raises(UnreadableText, match="is larger than"):
        Corpus.from_bytes(b"a" * (maximum + 1), "x")
