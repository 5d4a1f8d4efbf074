"""Pictures of every kind are looked at, or refused with a sentence, before they fill the memory."""

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import attnviz
from attnviz.capture import pictures
from attnviz.errors import ModelNotSupported, UnreadablePicture
from attnviz.models.tokenizer import PICTURE_FORMATS
from tests.capture.tiny import FolderOf


def data(picture: Image.Image, kind: str) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind)
    return file.getvalue()


def plain() -> Image.Image:
    return Image.new("RGB", (31, 17), "green")


@pytest.mark.parametrize("kind", PICTURE_FORMATS)
def test_a_file_its_bytes_and_the_picture_are_the_same(
    folder_of: FolderOf, tmp_path: Path, kind: str
) -> None:
    file = tmp_path / "green"
    file.write_bytes(data(plain(), kind))
    with Image.open(file) as picture:
        given = (file, str(file), file.read_bytes(), picture)
        traces = [attnviz.look(each, folder_of("vit"), "green") for each in given]
    for other in traces[1:]:
        assert np.array_equal(other.stack("encoder"), traces[0].stack("encoder"))


def png_that_claims(width: int, height: int) -> bytes:
    """A PNG of some bytes whose header promises any size."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"0"))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (png_that_claims(7_000, 7_000), "7,000 × 7,000 pixels; it may have 40 million together"),
        (png_that_claims(100_000, 100_000), "100,000 × 100,000 pixels|no picture that can be read"),
        (b"", "no picture that can be read"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "no picture that can be read"),
        (data(plain(), "PNG")[:60], "no picture that can be read"),
        (data(plain(), "PDF"), "no picture that can be read"),
        (bytes(pictures.MOST_BYTES + 1), "larger than 20 MB"),
        (Image.new("1", (7_000, 7_000)), "7,000 × 7,000 pixels"),
    ],
    ids=["large", "enormous", "nothing", "svg", "cut off", "pdf", "many bytes", "unpacked"],
)
def test_what_is_no_bearable_picture_is_refused(given: pictures.Picture, match: str) -> None:
    with pytest.raises(UnreadablePicture, match=match):
        pictures.opened(given)


def test_a_picture_is_seen_as_a_person_sees_it() -> None:
    glass = Image.new("RGBA", (3, 2), (255, 0, 0, 0))
    assert pictures.upright(glass).getpixel((1, 1)) == (255, 255, 255)
    lying = Image.new("RGB", (3, 2), "black")
    lying.putpixel((0, 0), (255, 255, 255))
    file = io.BytesIO()
    turn = Image.Exif()
    turn[0x0112] = 6  # the camera was turned: the first row is the right side
    lying.save(file, "PNG", exif=turn)
    standing = pictures.upright(pictures.opened(file.getvalue()))
    assert standing.size == (2, 3)
    assert standing.getpixel((1, 0)) == (255, 255, 255)
    assert pictures.upright(Image.new("L", (2, 2), 7)).getpixel((0, 0)) == (7, 7, 7)


def test_a_model_that_reads_is_given_no_picture(folder_of: FolderOf) -> None:
    with pytest.raises(ModelNotSupported, match=r"sees no pictures\. Give it a text"):
        attnviz.look(plain(), folder_of("bert"))
