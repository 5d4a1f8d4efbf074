"""Pictures of every kind are looked at, or refused with a sentence, before they fill the memory."""

import io
import json
import shutil
import struct
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from PIL.PngImagePlugin import PngImageFile
from transformers import AutoModel

import attnviz
from attnviz.capture import loading, pictures
from attnviz.errors import AttnvizError, ModelFilesDamaged, ModelNotSupported, UnreadablePicture
from attnviz.models import folder as folders
from attnviz.models.tokenizer import PICTURE_FORMATS
from tests.capture.by_transformers import captured, own_inputs, own_model, own_processor, picture
from tests.capture.tiny import SEEING, FolderOf


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
        (png_that_claims(7_000, 7_000), "7,000 × 7,000 pixels; the limit is 12 million in total"),
        (png_that_claims(100_000, 100_000), "100,000 × 100,000 pixels|not a readable image"),
        (b"", "not a readable image"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not a readable image"),
        (data(plain(), "PNG")[:60], "not a readable image"),
        (data(plain(), "PDF"), "not a readable image"),
        (bytes(pictures.MAX_BYTES + 1), "larger than 20 MB"),
        (Image.new("1", (7_000, 7_000)), "7,000 × 7,000 pixels"),
    ],
    ids=["large", "enormous", "nothing", "svg", "cut off", "pdf", "many bytes", "unpacked"],
)
def test_what_is_no_bearable_picture_is_refused(given: pictures.Picture, match: str) -> None:
    with pytest.raises(UnreadablePicture, match=match):
        pictures.opened(given)


def test_pictures_are_unpacked_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    now, at_once, load = list[object](), list[int](), PngImageFile.load

    def slow(picture: PngImageFile) -> Any:
        now.append(picture)
        at_once.append(len(now))
        time.sleep(0.02)
        now.pop()
        return load(picture)

    monkeypatch.setattr(PngImageFile, "load", slow)
    with ThreadPoolExecutor(3) as visitors:
        list(visitors.map(pictures.opened, [data(plain(), "PNG")] * 3))
    assert at_once == [1, 1, 1]


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
    with pytest.raises(ModelNotSupported, match="reads no images without a text"):
        attnviz.look(plain(), folder_of("bert"))


# ---- what a model sees of a picture


@pytest.mark.parametrize("family", SEEING)
def test_what_is_drawn_under_the_patches_is_what_the_model_was_given(
    family: str, folder_of: FolderOf
) -> None:
    folder = folder_of(family)
    pixels = own_inputs(folder, own_model(folder))["pixel_values"][0].permute(1, 2, 0).numpy()
    seen, resized_to = loading.prepared_picture(str(folder), picture())
    np.testing.assert_allclose(np.array(seen), (pixels * 0.5 + 0.5) * 255, atol=1e-3)
    last = captured(folder).tokens[-1].text.split(",")
    assert (seen.height, seen.width) == tuple(5 * int(count) for count in last)
    cut = family in ("dinov2", "dinov2_with_registers", "clip")  # 31 × 43 pixels, the shorter side made 24
    assert resized_to == ((33, 24) if cut else seen.size)


def changed(source: Path, where: Path, file: str, **settings: Any) -> Path:
    """A copy of a model in which a file says something else; what is None is left out."""
    if not where.exists():
        shutil.copytree(source, where)
    said = {**json.loads((where / file).read_text()), **settings}
    (where / file).write_text(json.dumps({key: value for key, value in said.items() if value is not None}))
    return where


def test_pixels_that_fill_no_patch_are_not_drawn(folder_of: FolderOf, tmp_path: Path) -> None:
    config = json.loads((folder_of("siglip") / "config.json").read_text())
    larger = {**config["vision_config"], "image_size": 23}
    where = changed(folder_of("siglip"), tmp_path / "siglip", "config.json", vision_config=larger)
    changed(where, where, "preprocessor_config.json", size={"height": 23, "width": 23})
    seen, resized_to = loading.prepared_picture(str(where), picture())
    assert (seen.size, resized_to) == ((20, 20), (23, 23))
    edge = picture().resize((23, 23))
    for across in range(23):
        edge.putpixel((across, 22), (255, 0, 0))  # in no patch
    given = edge.copy()
    given.putpixel((3, 22), (0, 0, 0))
    one, two = (attnviz.look(each, where).stack("encoder") for each in (edge, given))
    assert np.array_equal(one, two)
    assert one.shape[-1] == 16


@pytest.mark.parametrize(
    ("family", "settings", "match"),
    [
        (
            "vit",
            {"size": {"height": 20, "width": 25}},
            "returns images of 20 × 25 .* the model takes 15 × 25",
        ),
        ("clip", {"crop_size": 15}, "returns images of 15 × 15 .* the model takes 20 × 20"),
        ("siglip", {"size": {"shortest_edge": 20}}, "returns images of 20 × 27 .* the model takes 20 × 20"),
        ("dinov2", {"do_center_crop": False}, "does not resize images to a fixed size"),
        ("dinov2", {"image_processor_type": "ConvNextImageProcessor"}, "not supported: “ConvNextImageProc"),
        ("vit", {"image_processor_type": None}, "is not supported: “no name”"),
    ],
)
def test_a_processor_that_does_not_fit_its_model_is_refused(
    family: str, settings: dict[str, Any], match: str, folder_of: FolderOf, tmp_path: Path
) -> None:
    where = changed(folder_of(family), tmp_path / family, "preprocessor_config.json", **settings)
    with pytest.raises(AttnvizError, match=match) as caught:
        attnviz.look(picture(), where)
    assert isinstance(caught.value, ModelNotSupported)


def test_dinov2_reads_pictures_of_the_size_that_its_processor_makes(
    folder_of: FolderOf, tmp_path: Path
) -> None:
    source, square = folder_of("dinov2"), {"height": 10, "width": 10}
    where = changed(source, tmp_path / "crop", "preprocessor_config.json", crop_size=square)
    assert attnviz.look(picture(), where).tokens[-1].text == "2,2"
    where = changed(
        *(source, tmp_path / "whole", "preprocessor_config.json"), do_center_crop=False, size=square
    )
    assert folders.entry(where, "mine").grid == (2, 2)
    assert attnviz.look(picture(), where).tokens[-1].text == "2,2"


def test_a_processor_saved_inside_of_another_comes_first(copy_of: FolderOf) -> None:
    where = copy_of("dinov2")
    said = json.loads((where / "preprocessor_config.json").read_text())
    said["crop_size"] = {"height": 10, "width": 15}
    (where / "processor_config.json").write_text(json.dumps({"image_processor": said}))
    assert attnviz.look(picture(), where).tokens[-1].text == "2,3"
    for file in ("processor_config.json", "preprocessor_config.json"):
        (where / file).unlink()
    with pytest.raises(ModelFilesDamaged, match=r"preprocessor_config\.json .* cannot be read"):
        attnviz.look(picture(), where)


# ---- halves of a model, and objects


@pytest.mark.parametrize("family", ["clip", "siglip"])
def test_the_half_that_sees_is_the_same_alone_and_in_the_whole(
    family: str, folder_of: FolderOf, tmp_path: Path
) -> None:
    whole, alone = folder_of(family), tmp_path / "alone"
    half = own_model(whole)
    half.save_pretrained(alone)
    shutil.copy(whole / "preprocessor_config.json", alone)
    assert np.array_equal(attnviz.look(picture(), alone).stack("encoder"), captured(whole).stack("encoder"))
    one, two = (folders.entry(each, "mine") for each in (whole, alone))
    assert one.parameters == two.parameters == sum(each.numel() for each in half.parameters())
    assert one.family == two.family == f"{family}_vision_model"
    assert "TextModel.from_pretrained(…).save_pretrained(…)" in one.description
    assert ("pooling head" in one.description) == (family == "siglip")


@pytest.mark.parametrize("family", SEEING)
def test_a_model_object_sees_with_its_image_processor(family: str, folder_of: FolderOf) -> None:
    folder = folder_of(family)
    whole = AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True)
    processor = own_processor(folder)
    given: Any
    for given in (processor, SimpleNamespace(image_processor=processor)):  # as AutoProcessor returns it
        found = attnviz.look(picture(), whole, processor=given)
        assert np.array_equal(found.stack("encoder"), captured(folder).stack("encoder"))
        assert found.tokens == captured(folder).tokens


@pytest.mark.parametrize("family", ["clip", "siglip"])
def test_of_a_whole_object_the_half_that_reads_is_shown_for_a_text(family: str, folder_of: FolderOf) -> None:
    whole: Any = AutoModel.from_pretrained(
        folder_of(family), attn_implementation="eager", local_files_only=True, use_safetensors=True
    )
    ids = torch.tensor([[3, 17, 42, 9]])
    with torch.inference_mode():
        expected = whole.text_model(ids, output_attentions=True).attentions
    for block, weights in zip(attnviz.trace(ids, whole).blocks, expected, strict=True):
        assert np.array_equal(block.weights, weights[0])


def test_who_reads_and_who_sees_is_told(folder_of: FolderOf) -> None:
    seeing, processor = own_model(folder_of("vit")), own_processor(folder_of("vit"))
    with pytest.raises(
        ModelNotSupported, match=r"reads images\. .*attnviz\.look\(picture, model, processor="
    ):
        attnviz.trace([1, 2], seeing)
    with pytest.raises(ModelNotSupported, match="reads texts, not images"):
        attnviz.look(picture(), own_model(folder_of("bert")), processor=processor)
    with pytest.raises(TypeError, match="only with a model object"):
        attnviz.look(picture(), folder_of("vit"), processor=processor)
