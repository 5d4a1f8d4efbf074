"""A model that sees pictures as a source of traces: every patch of the picture is a token."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from PIL import Image, ImageOps, UnidentifiedImageError
from torch import Tensor
from transformers import PreTrainedModel
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

from attnviz.capture.forward import blocks
from attnviz.capture.inspection import inspected
from attnviz.capture.model import Model, ModelInput
from attnviz.capture.network import open_network
from attnviz.errors import ModelFilesDamaged, ModelNotSupported, UnreadablePicture, quoted
from attnviz.interventions.edit import Edits
from attnviz.models.catalogue import Entry
from attnviz.models.tokenizer import PICTURE_FORMATS, patch_tokens
from attnviz.trace import Token, Trace

MOST_BYTES = 20_000_000
MOST_PIXELS = 40_000_000
"""A small file can claim to be a picture that fills all memory; its size is read before it is unpacked."""

Picture = Image.Image | Path | bytes


class SeeingModel(Model):
    """A loaded model that sees pictures; safe to share among threads.

    Args:
        entry: what is known of it.
        folder: where its files lie, `preprocessor_config.json` among them.

    Raises:
        ModelNotSupported: its attention cannot be shown exactly.
        ModelFilesDamaged: a file is missing or damaged.
    """

    def __init__(self, entry: Entry, folder: Path) -> None:
        self.name, self.device = entry.name, entry.device
        self.network: PreTrainedModel = open_network(folder, entry.name, entry.dtype, entry.device)
        self._processor = _processor(folder, entry.name)
        assert entry.grid is not None  # noqa: S101 - it sees; for the type checker
        self._tokens = patch_tokens(entry.grid)
        self._layers = inspected(self.network, self._inputs(Image.linear_gradient("L")), entry)

    def tokens(self, text: str | ModelInput) -> tuple[Token, ...]:
        """[CLS] and the patches: the same of every picture."""
        self.supported(text)
        return self._tokens

    def trace(self, text: str | ModelInput, *, edits: Edits = ()) -> NoReturn:  # noqa: ARG002 - as every model's
        """Always an error: a text is no picture, and `look` takes one.

        Raises:
            ModelNotSupported: always.
        """
        self.supported(text)
        raise ModelNotSupported(f"{quoted(self.name)} sees pictures and reads no text. Give it a picture.")

    def outcomes(
        self,
        text: str | ModelInput,
        variants: Sequence[Edits],  # noqa: ARG002 - as every model's
        position: int | None = None,  # noqa: ARG002 - as every model's
    ) -> NoReturn:
        """Always an error, as `trace`."""
        self.trace(text)

    def words(self, ids: Sequence[int]) -> tuple[str, ...]:
        """No word, however many numbers there are: its tokens are patches."""
        return tuple("" for _ in ids)

    def look(self, picture: Picture, name: str) -> Trace:
        """One forward pass over a picture, which is brought to the size that the model was trained with.

        Args:
            picture: a picture of Pillow's, or a file of one of `PICTURE_FORMATS`, or what is in such a file.
            name: what the trace calls it.

        Raises:
            UnreadablePicture: it is no picture, or larger than `MOST_BYTES` or `MOST_PIXELS`.
        """
        inputs = self._inputs(opened(picture))
        return Trace(
            model=self.name,
            text=name,
            blocks=blocks(self.network, self._layers, inputs, self._tokens),
        )

    def _inputs(self, picture: Image.Image) -> Mapping[str, Tensor]:
        pixels = self._processor(upright(picture), return_tensors="pt")["pixel_values"]
        return {"pixel_values": pixels.to(self.network.device, self.network.dtype)}


def opened(picture: Picture) -> Image.Image:
    """The picture, unpacked; see `SeeingModel.look`."""
    if isinstance(picture, Image.Image):
        return _of_a_bearable_size(picture)
    size = len(picture) if isinstance(picture, bytes) else picture.stat().st_size
    if size > MOST_BYTES:
        raise UnreadablePicture(f"This file is larger than {MOST_BYTES / 1e6:,.0f} MB. Take a smaller one.")
    data = picture if isinstance(picture, bytes) else picture.read_bytes()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", Image.DecompressionBombWarning
            )  # we ask for less than Pillow does
            found = _of_a_bearable_size(Image.open(io.BytesIO(data), formats=PICTURE_FORMATS))
            found.load()
    except UnreadablePicture:
        raise
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError) as error:
        raise UnreadablePicture(
            "This is no picture that can be read. Take a file of one of these kinds: "
            f"{', '.join(PICTURE_FORMATS)}."
        ) from error
    return found


def upright(picture: Image.Image) -> Image.Image:
    """As a person sees it: turned as the camera says, in colours, what is transparent on white."""
    turned = ImageOps.exif_transpose(picture)
    if turned.has_transparency_data:
        turned = turned.convert("RGBA")
        white = Image.new("RGBA", turned.size, "white")
        turned = Image.alpha_composite(white, turned)
    return turned.convert("RGB")


def _of_a_bearable_size(picture: Image.Image) -> Image.Image:
    width, height = picture.size
    if width * height > MOST_PIXELS:
        raise UnreadablePicture(
            f"This picture has {width:,} × {height:,} pixels; it may have {MOST_PIXELS / 1e6:,.0f} million "
            "together. Make it smaller."
        )
    return picture


def _processor(folder: Path, name: str) -> ViTImageProcessorPil:
    """How the model's pictures are prepared: transformers' own, which needs no torchvision."""
    try:
        processor: ViTImageProcessorPil = ViTImageProcessorPil.from_pretrained(
            folder, trust_remote_code=False, local_files_only=True
        )
    except (OSError, ValueError, TypeError) as error:
        raise ModelFilesDamaged(
            f"preprocessor_config.json of {quoted(name)} cannot be read. Save or download it again."
        ) from error
    return processor
