"""Images as input: formats, limits, processors, and vision parts of larger models."""

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
from tests.capture.reference import (
    cached_trace,
    picture,
    reference_inputs,
    reference_model,
    reference_processor,
)
from tests.capture.tiny import VISION_FAMILIES, FolderOf


def data(picture: Image.Image, kind: str) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind)
    return file.getvalue()


def plain() -> Image.Image:
    return Image.new("RGB", (31, 17), "green")


@pytest.mark.parametrize("kind", PICTURE_FORMATS)
def test_path_bytes_and_image_give_the_same_trace(folder_of: FolderOf, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "green"
    file.write_bytes(data(plain(), kind))
    with Image.open(file) as picture:
        forms = (file, str(file), file.read_bytes(), picture)
        traces = [attnviz.look(each, folder_of("vit"), "green") for each in forms]
    for other in traces[1:]:
        assert np.array_equal(other.stack("encoder"), traces[0].stack("encoder"))


def png_claiming(width: int, height: int) -> bytes:
    """Return a small PNG file whose header claims this size."""

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
    ("picture", "match"),
    [
        (png_claiming(7_000, 7_000), "7,000 × 7,000 pixels; the limit is 12 million in total"),
        (png_claiming(100_000, 100_000), "100,000 × 100,000 pixels|not a readable image"),
        (b"", "not a readable image"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not a readable image"),
        (data(plain(), "PNG")[:60], "not a readable image"),
        (data(plain(), "PDF"), "not a readable image"),
        (bytes(pictures.MAX_BYTES + 1), "larger than 20 MB"),
        (Image.new("1", (7_000, 7_000)), "7,000 × 7,000 pixels"),
    ],
    ids=["large", "enormous", "empty", "svg", "truncated", "pdf", "many bytes", "unpacked"],
)
def test_unreadable_or_too_large_image_is_refused(picture: pictures.Picture, match: str) -> None:
    with pytest.raises(UnreadablePicture, match=match):
        pictures.opened(picture)


def test_images_are_decoded_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    active, counts, load = list[object](), list[int](), PngImageFile.load

    def slow(picture: PngImageFile) -> Any:
        active.append(picture)
        counts.append(len(active))
        time.sleep(0.02)
        active.pop()
        return load(picture)

    monkeypatch.setattr(PngImageFile, "load", slow)
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(pictures.opened, [data(plain(), "PNG")] * 3))
    assert counts == [1, 1, 1]


def test_image_becomes_opaque_upright_and_rgb() -> None:
    transparent = Image.new("RGBA", (3, 2), (255, 0, 0, 0))
    assert pictures.upright(transparent).getpixel((1, 1)) == (255, 255, 255)
    rotated = Image.new("RGB", (3, 2), "black")
    rotated.putpixel((0, 0), (255, 255, 255))
    file = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6  # orientation 6: the first row of pixels is the right side of the image
    rotated.save(file, "PNG", exif=exif)
    upright = pictures.upright(pictures.opened(file.getvalue()))
    assert upright.size == (2, 3)
    assert upright.getpixel((1, 0)) == (255, 255, 255)
    assert pictures.upright(Image.new("L", (2, 2), 7)).getpixel((0, 0)) == (7, 7, 7)


def test_text_model_refuses_images(folder_of: FolderOf) -> None:
    with pytest.raises(ModelNotSupported, match="is not a vision model"):
        attnviz.look(plain(), folder_of("bert"))


# The part of an image that a model reads


@pytest.mark.parametrize("family", VISION_FAMILIES)
def test_displayed_image_is_the_models_input(family: str, folder_of: FolderOf) -> None:
    folder = folder_of(family)
    pixels = reference_inputs(folder, reference_model(folder))["pixel_values"][0].permute(1, 2, 0).numpy()
    opened, resized_to = loading.prepared_picture(str(folder), picture())
    np.testing.assert_allclose(np.array(opened), (pixels * 0.5 + 0.5) * 255, atol=1e-3)
    last = cached_trace(folder).tokens[-1].text.split(",")
    assert (opened.height, opened.width) == tuple(5 * int(count) for count in last)
    crops = family in ("dinov2", "dinov2_with_registers", "clip")
    # The image has 31 × 43 pixels; the shorter side is resized to 24.
    assert resized_to == ((33, 24) if crops else opened.size)


def changed(source: Path, copied: Path, file: str, **settings: Any) -> Path:
    """Copy a model and change settings in one of its JSON files; None removes a setting."""
    if not copied.exists():
        shutil.copytree(source, copied)
    contents = {**json.loads((copied / file).read_text()), **settings}
    (copied / file).write_text(
        json.dumps({key: value for key, value in contents.items() if value is not None})
    )
    return copied


def test_pixels_outside_complete_patches_are_cropped(folder_of: FolderOf, tmp_path: Path) -> None:
    config = json.loads((folder_of("siglip") / "config.json").read_text())
    larger = {**config["vision_config"], "image_size": 23}
    copied = changed(folder_of("siglip"), tmp_path / "siglip", "config.json", vision_config=larger)
    changed(copied, copied, "preprocessor_config.json", size={"height": 23, "width": 23})
    opened, resized_to = loading.prepared_picture(str(copied), picture())
    assert (opened.size, resized_to) == ((20, 20), (23, 23))
    edge = picture().resize((23, 23))
    for x in range(23):
        edge.putpixel((x, 22), (255, 0, 0))  # outside all patches
    altered = edge.copy()
    altered.putpixel((3, 22), (0, 0, 0))
    one, two = (attnviz.look(each, copied).stack("encoder") for each in (edge, altered))
    assert np.array_equal(one, two)
    assert one.shape[-1] == 16


@pytest.mark.parametrize(
    ("family", "settings", "match"),
    [
        (
            "vit",
            {"size": {"height": 20, "width": 25}},
            "returns images of 20 × 25 .* the model expects 15 × 25",
        ),
        ("clip", {"crop_size": 15}, "returns images of 15 × 15 .* the model expects 20 × 20"),
        ("siglip", {"size": {"shortest_edge": 20}}, "returns images of 20 × 27 .* the model expects 20 × 20"),
        ("dinov2", {"do_center_crop": False}, "does not resize images to a fixed size"),
        ("dinov2", {"image_processor_type": "ConvNextImageProcessor"}, "not supported: “ConvNextImageProc"),
        ("vit", {"image_processor_type": None}, "is not supported: “no name”"),
    ],
)
def test_unsuitable_processor_is_refused(
    family: str, settings: dict[str, Any], match: str, folder_of: FolderOf, tmp_path: Path
) -> None:
    copied = changed(folder_of(family), tmp_path / family, "preprocessor_config.json", **settings)
    with pytest.raises(AttnvizError, match=match) as caught:
        attnviz.look(picture(), copied)
    assert isinstance(caught.value, ModelNotSupported)


def test_dinov2_uses_the_image_size_of_its_processor(folder_of: FolderOf, tmp_path: Path) -> None:
    source, square = folder_of("dinov2"), {"height": 10, "width": 10}
    copied = changed(source, tmp_path / "crop", "preprocessor_config.json", crop_size=square)
    assert attnviz.look(picture(), copied).tokens[-1].text == "2,2"
    copied = changed(
        *(source, tmp_path / "whole", "preprocessor_config.json"), do_center_crop=False, size=square
    )
    assert folders.entry(copied, "mine").grid == (2, 2)
    assert attnviz.look(picture(), copied).tokens[-1].text == "2,2"


def test_processor_config_takes_precedence(copy_of: FolderOf) -> None:
    copied = copy_of("dinov2")
    config = json.loads((copied / "preprocessor_config.json").read_text())
    config["crop_size"] = {"height": 10, "width": 15}
    (copied / "processor_config.json").write_text(json.dumps({"image_processor": config}))
    assert attnviz.look(picture(), copied).tokens[-1].text == "2,3"
    for file in ("processor_config.json", "preprocessor_config.json"):
        (copied / file).unlink()
    with pytest.raises(ModelFilesDamaged, match=r"preprocessor_config\.json .* cannot be read"):
        attnviz.look(picture(), copied)


# Parts of a model, and model objects


@pytest.mark.parametrize("family", ["clip", "siglip"])
def test_vision_encoder_equals_the_complete_model(family: str, folder_of: FolderOf, tmp_path: Path) -> None:
    complete, alone = folder_of(family), tmp_path / "alone"
    part = reference_model(complete)
    part.save_pretrained(alone)
    shutil.copy(complete / "preprocessor_config.json", alone)
    assert np.array_equal(
        attnviz.look(picture(), alone).stack("encoder"), cached_trace(complete).stack("encoder")
    )
    one, two = (folders.entry(each, "mine") for each in (complete, alone))
    assert one.parameters == two.parameters == sum(each.numel() for each in part.parameters())
    assert one.family == two.family == f"{family}_vision_model"
    assert "TextModel.from_pretrained(…).save_pretrained(…)" in one.description
    assert ("pooling head" in one.description) == (family == "siglip")


@pytest.mark.parametrize("family", VISION_FAMILIES)
def test_model_object_with_its_image_processor(family: str, folder_of: FolderOf) -> None:
    folder = folder_of(family)
    network = AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True)
    processor = reference_processor(folder)
    argument: Any
    for argument in (processor, SimpleNamespace(image_processor=processor)):  # as AutoProcessor returns it
        found = attnviz.look(picture(), network, processor=argument)
        assert np.array_equal(found.stack("encoder"), cached_trace(folder).stack("encoder"))
        assert found.tokens == cached_trace(folder).tokens


@pytest.mark.parametrize("family", ["clip", "siglip"])
def test_text_part_of_a_complete_model_object_is_traced(family: str, folder_of: FolderOf) -> None:
    network: Any = AutoModel.from_pretrained(
        folder_of(family), attn_implementation="eager", local_files_only=True, use_safetensors=True
    )
    ids = torch.tensor([[3, 17, 42, 9]])
    with torch.inference_mode():
        expected = network.text_model(ids, output_attentions=True).attentions
    for block, weights in zip(attnviz.trace(ids, network).blocks, expected, strict=True):
        assert np.array_equal(block.weights, weights[0])


def test_errors_name_the_function_for_the_kind_of_model(folder_of: FolderOf) -> None:
    vision_model, processor = reference_model(folder_of("vit")), reference_processor(folder_of("vit"))
    with pytest.raises(
        ModelNotSupported, match=r"reads images\. .*attnviz\.look\(picture, model, processor="
    ):
        attnviz.trace([1, 2], vision_model)
    with pytest.raises(ModelNotSupported, match="reads texts, not images"):
        attnviz.look(picture(), reference_model(folder_of("bert")), processor=processor)
    with pytest.raises(TypeError, match="only with a model object"):
        attnviz.look(picture(), folder_of("vit"), processor=processor)
