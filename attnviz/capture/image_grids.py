"""Positions of a vision-language model's image tokens, from its processor and its config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import ceil, isqrt
from typing import Any, NamedTuple

import torch
from PIL import Image
from torch import Tensor
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import get_optimal_tiled_canvas
from transformers.models.llava_onevision.modeling_llava_onevision import get_anyres_image_grid_shape
from transformers.vision_utils import get_vision_window_index

from attnviz.errors import ModelNotSupported
from attnviz.models import config
from attnviz.trace import Patch

Box = tuple[float, float, float, float]

WHOLE_IMAGE: Box = (0.0, 0.0, 1.0, 1.0)

_MERGING = ("donut-swin", "swin")
_SPECIAL_TOKENS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("vit", "blip_vision_model"), ("[CLS]",)),
    "deit": ("[CLS]", "[distillation]"),
    **dict.fromkeys(_MERGING, ()),
}
"""Special tokens before the patches, by the family of the encoder."""


class Layout(NamedTuple):
    """The image tokens and patches of a model's images.

    Attributes:
        tokens: the image tokens of the text, in order; None for a token that is not a patch, such as
            the end of a row of patches.
        sequences: the patches of each sequence that the vision encoder processes separately, in order.
    """

    tokens: list[Patch | None]
    sequences: list[list[Patch]]


def layout(
    network: Any, processor: Any, pictures: Sequence[Image.Image], inputs: Mapping[str, Tensor], name: str
) -> Layout:
    """Return the layout of these images.

    Args:
        network: the complete model.
        pictures: the images, upright.
        inputs: the processor's output.
        name: the model's name, for messages.

    Raises:
        ModelNotSupported: the family, or a setting of the processor, is not supported.
    """
    family = network.config.model_type
    if "image_grid_thw" in inputs:
        return _merged(network.config, inputs["image_grid_thw"], family)
    images = processor.image_processor
    side = _vision_side(network.config, name)
    if family in ("idefics3", "smolvlm"):
        made = images([list(pictures)], return_row_col_info=True)
        tiles = [*zip(made["rows"][0], made["cols"][0], strict=True)]
        return _tiled(tiles, isqrt(processor.image_seq_len), side, [WHOLE_IMAGE] * len(pictures))
    if family == "internvl":
        return _tiled(
            _canvases(images, pictures),
            isqrt(processor.image_seq_length),
            side,
            [WHOLE_IMAGE] * len(pictures),
        )
    if family == "llava_onevision":
        return _packed(network, inputs, side)
    if getattr(images, "do_pan_and_scan", False):
        raise ModelNotSupported(
            "This image processor crops images depending on their content. Set do_pan_and_scan to false."
        )
    boxes = [_crop_box(images, picture) for picture in pictures]
    text_side = side if family == "llava" else isqrt(processor.image_seq_length)
    found = _tiled([(0, 0)] * len(pictures), text_side, side, boxes)
    if getattr(processor, "vision_feature_select_strategy", None) == "full":  # includes [CLS]
        found = found._replace(tokens=[token for tile in found.sequences for token in (None, *tile)])
    return found


def _vision_side(settings: Any, name: str) -> int:
    """Return the number of patches per side of a tile in the vision encoder."""
    (height, width), (rows, columns) = (
        config.pair(settings.vision_config, attribute, name) for attribute in ("image_size", "patch_size")
    )
    if height // rows != width // columns:
        raise ModelNotSupported(f"The tiles of {name} are not square, so attnviz cannot locate its patches.")
    return height // rows


def _grid(picture: int, view: int, rows: int, columns: int, box: Box) -> list[list[Patch]]:
    """Return [row][column], the patches of a view that covers a box of the image."""
    left, top, right, bottom = box
    across, down = (right - left) / columns, (bottom - top) / rows
    return [
        [
            Patch(picture, view, row, column, (left + across * column, top + down * row,
                                               left + across * (column + 1), top + down * (row + 1)))
            for column in range(columns)
        ]
        for row in range(rows)
    ]  # fmt: skip


def _split(grid: list[list[Patch]], tiles: tuple[int, int]) -> list[list[Patch]]:
    """Return the patches of each tile; the tiles, and the patches in each tile, are in row order."""
    height, width = len(grid) // tiles[0], len(grid[0]) // tiles[1]
    return [
        [patch for row in grid[a * height : (a + 1) * height] for patch in row[b * width : (b + 1) * width]]
        for a, b in product(*map(range, tiles))
    ]


def _tiled(
    tiles: Sequence[tuple[int, int]], text_side: int, vision_side: int, boxes: Sequence[Box]
) -> Layout:
    """Return the layout of images that are split into tiles; the whole image follows its tiles.

    Args:
        tiles: (rows, columns) per image; (0, 0): only the whole image.
        text_side, vision_side: tokens per side of a tile, in the text and in the vision encoder.
    """
    found = Layout([], [])
    for picture, ((rows, columns), box) in enumerate(zip(tiles, boxes, strict=True)):
        parts: list[list[list[Patch]]] = []
        for side in (text_side, vision_side):
            cut = _split(_grid(picture, 1, rows * side, columns * side, box), (rows, columns)) if rows else []
            parts.append(cut + _split(_grid(picture, 0, side, side, box), (1, 1)))
        found.tokens.extend(patch for tile in parts[0] for patch in tile)
        found.sequences.extend(parts[1])
    return found


def encoder_layout(
    settings: Any, images: Any, picture: Image.Image, size: Sequence[int], name: str
) -> tuple[tuple[str, ...], list[Patch]]:
    """Return the input tokens of a vision encoder without tiles: special tokens and patches.

    Args:
        settings, images: the encoder's config, and the image processor.
        picture: the image processor's input.
        size: (height, width) of the image processor's output.
        name: the model's name, for messages.

    Raises:
        ModelNotSupported: the family is not supported.
    """
    if (special := _SPECIAL_TOKENS.get(settings.model_type)) is None:
        raise ModelNotSupported(
            f"The encoder of {name} is of the family “{settings.model_type}”, for which attnviz cannot "
            f"locate patches. Supported families: {', '.join(_SPECIAL_TOKENS)}."
        )
    sides = config.pair(settings, "patch_size", name)
    counts = [length / side for length, side in zip(size, sides, strict=True)]
    rows, columns = (ceil(count) if settings.model_type in _MERGING else int(count) for count in counts)
    for _ in getattr(settings, "depths", ())[1:]:  # each later stage merges 2 × 2 patches (Liu et al. 2021)
        rows, columns, counts = ceil(rows / 2), ceil(columns / 2), [count / 2 for count in counts]
    left, top, right, bottom = _crop_box(images, picture)
    if getattr(images, "do_pad", False):
        unpadded = images(picture, do_pad=False, return_tensors="pt")["pixel_values"].shape[2:]
        left, top, right, bottom = _canvas_box(tuple(unpadded), (size[0], size[1]))
    box = left, top, left + (right - left) * columns / counts[1], top + (bottom - top) * rows / counts[0]
    return special, [patch for row in _grid(0, 0, rows, columns, box) for patch in row]


def rotated(images: Any, picture: Image.Image) -> Image.Image:
    """Return the image; like Donut's processor, rotate a wide image for a tall canvas, and vice versa."""
    if getattr(images, "do_align_long_axis", False):
        canvas_excess = images.size["width"] - images.size["height"]
        excess = picture.width - picture.height
        return picture.transpose(Image.Transpose.ROTATE_270) if canvas_excess * excess < 0 else picture
    return picture


def _crop_box(images: Any, picture: Image.Image) -> Box:
    """Return the box of the image that remains after the processor's centre crop."""
    if not getattr(images, "do_center_crop", False):
        return WHOLE_IMAGE
    full, cropped = (
        images(picture, do_center_crop=cut, return_tensors="pt")["pixel_values"].shape[2:]
        for cut in (False, True)
    )
    margins = [(before - after) // 2 / before for before, after in zip(full, cropped, strict=True)]
    sizes = [after / before for before, after in zip(full, cropped, strict=True)]
    return margins[1], margins[0], margins[1] + sizes[1], margins[0] + sizes[0]


def _canvases(images: Any, pictures: Sequence[Image.Image]) -> list[tuple[int, int]]:
    """Return (rows, columns) of InternVL's tiles for each image; (0, 0) without tiles."""
    if not images.crop_to_patches:
        return [(0, 0)] * len(pictures)
    size = images.size["height"], images.size["width"]
    found = []
    for picture in pictures:
        columns, rows = get_optimal_tiled_canvas(
            (picture.height, picture.width), size, images.min_patches, images.max_patches
        )
        found.append((rows, columns) if rows * columns > 1 else (0, 0))
    return found


def _merged(settings: Any, grids: Tensor, family: str) -> Layout:
    """Return Qwen's layout: each block of merge × merge patches becomes one token (Wang et al. 2024)."""
    vision = settings.vision_config
    merge = vision.spatial_merge_size
    found = Layout([], [])
    for picture, (_, rows, columns) in enumerate(grids.tolist()):
        fine = _grid(picture, 0, rows, columns, WHOLE_IMAGE)
        found.sequences.append(
            [
                fine[a + i][b + j]
                for a in range(0, rows, merge)
                for b in range(0, columns, merge)
                for i, j in product(range(merge), repeat=2)
            ]
        )
        found.tokens.extend(
            patch for row in _grid(picture, 0, rows // merge, columns // merge, WHOLE_IMAGE) for patch in row
        )
    if family == "qwen2_5_vl":  # its vision encoder processes the blocks window by window
        order, _ = get_vision_window_index(grids, merge, vision.window_size, vision.patch_size)
        patches = [patch for each in found.sequences for patch in each]
        blocks = [patches[start : start + merge**2] for start in range(0, len(patches), merge**2)]
        found = found._replace(sequences=[[patch for block in order.tolist() for patch in blocks[block]]])
    return found


def _packed(network: Any, inputs: Mapping[str, Tensor], side: int) -> Layout:
    """Return LLaVA-OneVision's layout: the image, then tiles without margins; a token ends each row."""
    sizes = inputs["image_sizes"]
    found = Layout([], [])
    for picture, (height, width) in enumerate(sizes.tolist()):
        if len(sizes) > 1:  # several images are not tiled, but padded to squares
            square = (max(height, width),) * 2
            grid = _grid(picture, 0, side, side, _canvas_box((height, width), square))
            found.sequences.extend(_split(grid, (1, 1)))
            found.tokens.extend([*found.sequences[-1], None])
            continue
        settings = network.config
        pixels = settings.vision_config.image_size
        best = get_anyres_image_grid_shape(  # type: ignore[no-untyped-call]  # untyped in transformers
            (height, width), settings.image_grid_pinpoints, pixels
        )
        canvas = best[0] * pixels, best[1] * pixels
        scale = min(canvas[0] / height, canvas[1] / width)
        scaled = min(ceil(height * scale), canvas[0]), min(ceil(width * scale), canvas[1])
        fine = _grid(picture, 1, best[0] * side, best[1] * side, _canvas_box(scaled, canvas))
        found.sequences.extend(
            [*_split(_grid(picture, 0, side, side, WHOLE_IMAGE), (1, 1)), *_split(fine, best)]
        )
        # The model's own function is applied to the edges of the patches instead of the patches' features.
        edges = torch.tensor([[patch.box for patch in tile] for tile in found.sequences], dtype=torch.float64)
        newline = torch.full((4,), torch.nan, dtype=torch.float64)
        [packed], _ = network.base_model.pack_image_features(
            [edges], sizes, newline, settings.vision_aspect_ratio
        )
        packed = packed[side * side :]
        columns = int(packed[:, 0].isnan().nonzero()[0])
        rows = len(packed) // (columns + 1)
        middles = (packed[:, :2] + packed[:, 2:]) / 2
        last = middles[-2]
        left, top = middles[0].tolist()
        across = (float(last[0]) - left) / max(columns - 1, 1)
        down = (float(last[1]) - top) / max(rows - 1, 1)
        box = left - across / 2, top - down / 2, float(last[0]) + across / 2, float(last[1]) + down / 2
        found.tokens.extend(found.sequences[0])
        for row in _grid(picture, 1, rows, columns, box):
            found.tokens.extend([*row, None])
    return found


def _canvas_box(size: tuple[int, int], canvas: tuple[int, int]) -> Box:
    """Return the edges of a canvas, in fractions of the size of the image that is centred in it.

    Args:
        size, canvas: (height, width) of the image and of the canvas.
    """
    top, left = ((outer - inner) // 2 for outer, inner in zip(canvas, size, strict=True))
    return -left / size[1], -top / size[0], (canvas[1] - left) / size[1], (canvas[0] - top) / size[0]
