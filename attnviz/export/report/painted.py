"""PNG files of drawings, painted with Pillow."""

from __future__ import annotations

import io
import unicodedata
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageColor, ImageDraw, ImageFont, features

from attnviz.errors import AttnvizError, quoted
from attnviz.export.report.drawing import Cells, Drawing, Line, Text

_SCALE, _REDUCED_SCALE = 3, 2  # pixels of the file per pixel of the drawing; reduced above `_LARGE_SIZE`
_LARGE_SIZE = 1000
_OVERSAMPLING = 2  # Pillow does not antialias polygons
_CURVE_PARAMETERS = np.linspace(0, 1, 65)[:, None]

# File names of common system fonts, tried after Pillow's default font, which has only Latin letters.
_FONTS = (
    *("DejaVuSans.ttf", "NotoSans-Regular.ttf", "Arial.ttf", "Arial Unicode.ttf", "segoeui.ttf"),
    *("NotoSansCJK-Regular.ttc", "wqy-zenhei.ttc", "Hiragino Sans GB.ttc", "msyh.ttc", "malgun.ttf"),
)


def png(drawing: Drawing) -> bytes:
    """Return the PNG file.

    Raises:
        AttnvizError: no font tried has all characters of a text, or a right-to-left text needs Raqm.
    """
    colours = drawing.colours
    scale = _SCALE if max(drawing.width, drawing.height) <= _LARGE_SIZE else _REDUCED_SCALE
    size = round(drawing.width * scale), round(drawing.height * scale)
    picture = Image.new("RGB", size, colours.paper)
    if lines := [shape for shape in drawing.shapes if isinstance(shape, Line)]:
        picture = picture.resize((size[0] * _OVERSAMPLING, size[1] * _OVERSAMPLING))
        paint = ImageDraw.Draw(picture, "RGBA")
        for line in lines:
            corners = [(float(x), float(y)) for x, y in _outline(line) * scale * _OVERSAMPLING]
            paint.polygon(corners, (*ImageColor.getrgb(line.colour(colours))[:3], round(255 * line.strength)))
        picture = picture.resize(size, Image.Resampling.BOX)
    for shape in drawing.shapes:
        if isinstance(shape, Cells):
            left, top, width, height = (round(side * scale) for side in shape[:4])
            pixels = Image.fromarray(shape.pixels(colours))
            picture.paste(pixels.resize((width, height), Image.Resampling.NEAREST), (left, top))
            frame = (left - 1, top - 1, left + width, top + height)
            ImageDraw.Draw(picture).rectangle(frame, outline=colours.border, width=scale // 2)
        elif isinstance(shape, Text) and shape.text:
            _write(picture, shape, scale, colours.muted if shape.muted else colours.text)
    file = io.BytesIO()
    picture.save(file, "PNG", dpi=(96 * scale, 96 * scale))
    return file.getvalue()


def _outline(line: Line) -> NDArray[np.float64]:
    """Return the corners, [point, 2], of a polygon that outlines the curve's stroke."""
    start, end = np.array([line.x, line.y]), np.array([line.end_x, line.end_y])
    control = np.array([(line.end_x - line.x) / 2, 0])
    rest = 1 - _CURVE_PARAMETERS
    curve = rest**3 * start + 3 * rest**2 * _CURVE_PARAMETERS * (start + control)
    curve = curve + 3 * rest * _CURVE_PARAMETERS**2 * (end - control) + _CURVE_PARAMETERS**3 * end
    tangent = np.gradient(curve, axis=0)
    offset = tangent[:, ::-1] * (-1, 1) / np.linalg.norm(tangent, axis=1, keepdims=True) * line.width / 2
    return np.concatenate([curve + offset, (curve - offset)[::-1]])


def _write(picture: Image.Image, text: Text, scale: int, colour: str) -> None:
    size = round(text.size * scale)
    font = _font(_font_for(text.text), size)
    if not text.upwards:
        anchor = {"start": "lm", "middle": "mm", "end": "rm"}[text.anchor]
        place, stroke = (text.x * scale, text.y * scale), 0.2 * scale * text.bold
        ImageDraw.Draw(picture).text(place, text.text, colour, font, anchor, stroke_width=stroke)
        return
    width = int(font.getlength(text.text)) + 1
    ink = Image.new("L", (width, 2 * size))
    ImageDraw.Draw(ink).text((0, size), text.text, 255, font, "lm")
    corner = round(text.x * scale - size), round(text.y * scale - width)
    picture.paste(colour, corner, ink.rotate(90, expand=True))


def _font_for(text: str) -> str | None:
    """Return the file name of a font with every character of a text; None for Pillow's default font."""
    is_right_to_left = any(unicodedata.bidirectional(letter) in {"R", "AL"} for letter in text)
    reason = "Pillow cannot lay out right-to-left text without Raqm:"
    if not is_right_to_left or features.check("raqm"):
        reason = "None of the fonts tried has all characters of"
        for name in (None, *_FONTS):
            if all(letter.isspace() or _has_glyph(name, letter) for letter in text):
                return name
    raise AttnvizError(f"{reason} {quoted(text)}. Save the figure as .svg.")


@lru_cache(4096)
def _has_glyph(name: str | None, letter: str) -> bool:
    try:
        font = _font(name, 16)
    except OSError:  # the font is not installed
        return False
    return bytes(font.getmask(letter)) != bytes(font.getmask("\U0010ffff"))


@lru_cache(32)
def _font(name: str | None, size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size) if name is None else ImageFont.truetype(name, size)
