"""Traces of vision models: each patch of an image is a token."""

from __future__ import annotations

import io
import re
import threading
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from PIL import Image, ImageOps, UnidentifiedImageError
from torch import Tensor
from transformers import BaseImageProcessor, PreTrainedModel
from transformers.models.bit.image_processing_pil_bit import BitImageProcessorPil
from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.deit.image_processing_pil_deit import DeiTImageProcessorPil
from transformers.models.donut.image_processing_pil_donut import DonutImageProcessorPil
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

from attnviz.capture.forward import blocks
from attnviz.capture.inspection import inspect_layers
from attnviz.capture.model import Model, ModelInput
from attnviz.capture.selection import EVERYTHING, Selection
from attnviz.errors import ModelFilesDamaged, ModelNotSupported, UnreadablePicture, quoted
from attnviz.interventions.edit import Edits
from attnviz.models import config
from attnviz.models.catalogue import Entry
from attnviz.models.tokenizer import PICTURE_FORMATS, patch_tokens
from attnviz.trace import Token, Trace

MAX_BYTES = 20_000_000
MAX_PIXELS = 12_500_000
"""The largest number of pixels; it is checked before decompression, because a small file can declare any
size.

A decoded photo of 12 million pixels takes 37 MB of memory, and several times as much during decoding.
"""

_decoding_lock = threading.Lock()  # one image at a time, to limit memory

Picture = Image.Image | Path | bytes

# Image processors, by the prefixes of their class names; their default settings differ.
_PROCESSORS: Mapping[str, type[Any]] = {
    "Bit": BitImageProcessorPil,
    "Blip": BlipImageProcessorPil,
    "CLIP": CLIPImageProcessorPil,
    "DeiT": DeiTImageProcessorPil,
    "Donut": DonutImageProcessorPil,
    "Siglip": SiglipImageProcessorPil,
    "ViT": ViTImageProcessorPil,
}


class PreparedPicture(NamedTuple):
    """The input of a vision model as an image.

    Attributes:
        picture: the part that the patches cover, before normalization.
        resized_to: (width, height) of the resized image before cropping, in pixels.
    """

    picture: Image.Image
    resized_to: tuple[int, int]


class VisionModel(Model):
    """A loaded vision model, safe to share among threads.

    Args:
        network: a result of `open_network` that no other model uses.
        original: the caller's model object with the same weights, if any; caches the inspection's result.

    Raises:
        ModelNotSupported: its attention cannot be recorded exactly, or the processor returns images
            of the wrong size.
    """

    def __init__(
        self,
        entry: Entry,
        network: PreTrainedModel,
        processor: BaseImageProcessor,
        original: PreTrainedModel | None = None,
    ) -> None:
        self.name, self.dtype, self.device = entry.name, entry.dtype, str(network.device)
        self.entry = entry
        self.network = network
        self._processor: Any = processor
        self._size = config.picture_size(network.config, processor.to_dict(), entry.name)
        self._patch = config.pair(network.config, "patch_size", entry.name)
        assert entry.grid is not None  # noqa: S101 - a vision model; for the type checker
        self._tokens = patch_tokens(entry.grid, entry.special)
        self._layers = inspect_layers(self.network, self._inputs(Image.linear_gradient("L")), entry, original)

    def tokens(self, text: str | ModelInput) -> tuple[Token, ...]:
        """Return the special tokens and the patches, which are the same for every image."""
        self.supported(text)
        return self._tokens

    def trace(
        self,
        text: str | ModelInput,
        *,
        edits: Edits = (),  # noqa: ARG002 - same signature as for every model
        selection: Selection = EVERYTHING,  # noqa: ARG002 - as above
    ) -> NoReturn:
        """Raise an error, because the model reads images, not text.

        Raises:
            ModelNotSupported: always.
        """
        self.supported(text)
        raise ModelNotSupported(
            f"{quoted(self.name)} reads images, not text. Pass an image: attnviz.look(picture, model)."
        )

    def outcomes(
        self,
        text: str | ModelInput,
        variants: Sequence[Edits],  # noqa: ARG002 - same signature as for every model
        position: int | None = None,  # noqa: ARG002 - as above
    ) -> NoReturn:
        """Raise an error, because the model reads images, not text."""
        self.trace(text)

    def words(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Return an empty text for each id: the tokens are patches."""
        return tuple("" for _ in ids)

    def look(self, picture: Picture, name: str) -> Trace:
        """Trace one forward pass over an image, resized as in the model's training.

        Args:
            picture: a Pillow image, or the path or the bytes of a file in one of `PICTURE_FORMATS`.

        Raises:
            UnreadablePicture: it is not an image, exceeds `MAX_BYTES` or `MAX_PIXELS`, or cannot be opened.
        """
        inputs = self._inputs(opened(picture))
        return Trace(
            model=self.name, text=name, blocks=blocks(self.network, self._layers, inputs, self._tokens)
        )

    def prepared(self, picture: Picture) -> PreparedPicture:
        """Return the image after resizing and cropping, as the model receives it.

        Raises:
            UnreadablePicture: as for `look`.
        """
        upright_picture = upright(opened(picture))
        resized = self._prepared(upright_picture, do_center_crop=False, do_rescale=False, do_normalize=False)
        pixels = self._prepared(upright_picture, do_rescale=False, do_normalize=False)
        height, width = (side - side % patch for side, patch in zip(self._size, self._patch, strict=True))
        shown = pixels[0, :, :height, :width].permute(1, 2, 0).numpy()
        return PreparedPicture(Image.fromarray(shown), (resized.shape[3], resized.shape[2]))

    def _inputs(self, picture: Image.Image) -> Mapping[str, Tensor]:
        pixels = self._prepared(upright(picture))
        if tuple(pixels.shape[2:]) != self._size:
            actual, expected = (f"{height} × {width}" for height, width in (pixels.shape[2:], self._size))
            raise ModelNotSupported(
                f"The image processor of {quoted(self.name)} returns images of {actual} pixels, but "
                f"the model expects {expected}. Use the processor that was saved with the model."
            )
        return {"pixel_values": pixels.to(self.network.device, self.network.dtype)}

    def _prepared(self, picture: Image.Image, **changed: bool) -> Tensor:
        """Return the processor's output, [1, colour, row, column], with the changed settings."""
        pixels: Tensor = self._processor(picture, return_tensors="pt", **changed)["pixel_values"]
        return pixels


def opened(picture: Picture) -> Image.Image:
    """Return the decoded image; arguments and errors as for `VisionModel.look`."""
    if isinstance(picture, Image.Image):
        return _check_image_size(picture)
    try:
        size = len(picture) if isinstance(picture, bytes) else picture.stat().st_size
        if size > MAX_BYTES:
            raise UnreadablePicture(
                f"This file is larger than {MAX_BYTES / 1e6:,.0f} MB. Choose a smaller one."
            )
        data = picture if isinstance(picture, bytes) else picture.read_bytes()
    except OSError as error:
        raise UnreadablePicture(
            f"{quoted(Path(error.filename).name)} cannot be opened: {error.strerror}."
        ) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", Image.DecompressionBombWarning
            )  # our limit is lower than Pillow's
            found = _check_image_size(Image.open(io.BytesIO(data), formats=PICTURE_FORMATS))
            with _decoding_lock:
                found.load()
    except UnreadablePicture:
        raise
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError) as error:
        raise UnreadablePicture(
            f"This file is not a readable image. Use one of these formats: {', '.join(PICTURE_FORMATS)}."
        ) from error
    return found


def upright(picture: Image.Image) -> Image.Image:
    """Return an RGB image, rotated according to its EXIF orientation, on a white background."""
    rotated = ImageOps.exif_transpose(picture)
    if rotated.has_transparency_data:
        rotated = rotated.convert("RGBA")
        white = Image.new("RGBA", rotated.size, "white")
        rotated = Image.alpha_composite(white, rotated)
    return rotated.convert("RGB")


def _check_image_size(picture: Image.Image) -> Image.Image:
    width, height = picture.size
    if width * height > MAX_PIXELS:
        raise UnreadablePicture(
            f"This image has {width:,} × {height:,} pixels; the limit is {MAX_PIXELS / 1e6:g} million "
            "in total. Make it smaller."
        )
    return picture


def processor_in(folder: Path, name: str) -> BaseImageProcessor:
    """Load the image processor of the model in a folder, without torchvision.

    Raises:
        ModelFilesDamaged: its file is missing, or its values are invalid.
        ModelNotSupported: attnviz does not support it.
    """
    settings = config.image_processor(folder, name)
    class_name = str(
        settings.get("image_processor_type") or settings.get("feature_extractor_type") or "no name"
    )
    kind = re.sub(r"(ImageProcessor(Fast|Pil)?|FeatureExtractor)$", "", class_name)
    if kind not in _PROCESSORS:
        raise ModelNotSupported(
            f"The image processor of {quoted(name)} is not supported: {quoted(class_name)}. "
            f"Supported: {', '.join(f'{each}ImageProcessor' for each in _PROCESSORS)}."
        )
    try:
        processor: BaseImageProcessor = _PROCESSORS[kind].from_dict(settings)
    except (ValueError, TypeError) as error:
        raise ModelFilesDamaged(
            f"{config.IMAGE_PROCESSOR_FILES[-1]} of {quoted(name)} has invalid values. Save the model again."
        ) from error
    return processor
