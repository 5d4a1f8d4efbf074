"""The picture of a figure as PDF, which LaTeX takes: on paper, as SVG in the light theme draws it."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterable
from xml.etree import ElementTree as ET

from attnviz.export.report.page import STYLE

_SVG = "{http://www.w3.org/2000/svg}"
_ANCHORED = {"start": 0, "middle": 300, "end": 600}  # of a letter's width, which is 600 in all of Courier


def pdf(svg: str) -> bytes | None:
    """A picture that `still` has drawn, as PDF 1.4 (ISO 32000-1).

    Returns:
        None where a name has letters that PDF has no font of its own for (outside of Windows-1252).
    """
    drawing = ET.fromstring(svg)  # noqa: S314 (our own)
    width, height = drawing.attrib["width"], drawing.attrib["height"]
    try:
        painted = [f"1 0 0 -1 0 {height} cm".encode(), *_painted(drawing)]  # from the top, as in SVG
    except UnicodeEncodeError:
        return None
    image = drawing.find(f"{_SVG}mask/{_SVG}image")
    return _file(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] /Contents 4 0 R /Resources << "
        f"/Font << /F 5 0 R >> /XObject << {'' if image is None else '/I 6 0 R'} >> >> >>".encode(),
        _stream("", zlib.compress(b"\n".join(painted))),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>",
        *(() if image is None else (_image(image.attrib["href"]),)),
    )


def _painted(drawing: ET.Element) -> Iterable[bytes]:
    """What the page says, line by line."""
    for group in (drawing, *drawing.iter(f"{_SVG}g")):
        moved = [float(number) for number in re.findall(r"-?[\d.]+", group.attrib.get("transform", ""))]
        for path in group.findall(f"{_SVG}path"):
            strength = float(path.attrib["style"].removeprefix("--s:"))
            left, top, wide, tall = moved
            numbers = [float(number) for number in re.findall(r"[\d.]+", path.attrib["d"])]
            points = [
                f"{left + wide * x} {top + tall * y}" for x, y in zip(*[iter(numbers)] * 2, strict=True)
            ]
            colour = " ".join(f"{part / 255:.3f}" for part in _ink(strength))
            curve = f"{points[0]} m {' '.join(points[1:])} c S"
            yield f"{colour} RG {0.9 + 3.4 * strength:.2f} w {curve}".encode()
        for text in group.findall(f"{_SVG}text"):
            size = int((re.findall(r"\d+", text.attrib.get("style", "")) or [14])[0])
            upright = f"1 0 0 -1 {text.attrib['x']} {text.attrib['y']}"
            matrix = f"0 -1 -1 0 {moved[0]} {moved[1]}" if moved else upright
            name = text.text or ""
            before = _ANCHORED[text.attrib["text-anchor"]] * len(name)
            written = re.sub(rb"[\\()]", rb"\\\g<0>", name.encode("cp1252"))
            begin = f"BT /F {size} Tf {-0.3 * size:.1f} Ts {matrix} Tm [{before} (".encode()
            yield begin + written + b")] TJ ET"
    for image in drawing.iterfind(f"{_SVG}mask/{_SVG}image"):
        x, y, wide, tall = (float(image.attrib[name]) for name in ("x", "y", "width", "height"))
        yield f"q {wide} 0 0 {-tall} {x} {y + tall} cm /I Do Q".encode()


def _ink(strength: float) -> tuple[int, ...]:
    """The colour of a line or cell on white."""
    ink = bytes.fromhex(re.findall(r"--st-primary-color: #(\w+);", STYLE)[0])
    return tuple(round(255 + (part - 255) * strength) for part in ink)


def _image(href: str) -> bytes:
    """Levels in the colours of ink; PDF reads the rows of `still`'s PNG as they are."""
    png = base64.b64decode(href.partition(",")[2])
    width, height = (int.from_bytes(png[at : at + 4]) for at in (16, 20))
    colours = bytes(part for level in range(256) for part in _ink(level / 255)).hex()
    return _stream(
        f"/Type /XObject /Subtype /Image /Width {width} /Height {height} /BitsPerComponent 8 "
        f"/ColorSpace [/Indexed /DeviceRGB 255 <{colours}>] "
        f"/DecodeParms << /Predictor 15 /Columns {width} >>",
        png[41:-16],  # between the headers and the end
    )


def _stream(about: str, packed: bytes) -> bytes:
    header = f"<< {about} /Filter /FlateDecode /Length {len(packed)} >>\nstream\n"
    return header.encode() + packed + b"\nendstream"


def _file(*objects: bytes) -> bytes:
    """Numbered from 1, with the table of where each begins."""
    file, begins = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        begins.append(f"{len(file):010} 00000 n \n")
        file += f"{number} 0 obj\n".encode() + each + b"\nendobj\n"
    size = len(objects) + 1
    table = f"xref\n0 {size}\n0000000000 65535 f \n{''.join(begins)}"
    return file + f"{table}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(file)}\n%%EOF\n".encode()
