"""The picture of a figure as PDF: it has the lines, cells and names of the SVG."""

import re
import zlib
from typing import Any

import numpy as np
import pytest
from IPython.core.formatters import DisplayFormatter

from attnviz.export.report.notebook import show
from tests.export.report.made import encoder
from tests.export.report.test_still import cells, drawing, lines

INK = (0x43, 0x38, 0xCA)


def drawn(**chosen: Any) -> bytes:
    found = show(encoder(), **chosen)._repr_pdf_()
    assert found
    return found


def streams(file: bytes) -> list[bytes]:
    found = re.findall(rb"/Length (\d+) >>\nstream\n", file)
    starts = [match.end() for match in re.finditer(rb"stream\n(?!endobj)", file)]
    return [zlib.decompress(file[at : at + int(size)]) for at, size in zip(starts, found, strict=True)]


@pytest.mark.parametrize("view", ["lines", "matrix"])
def test_its_table_says_where_everything_is(view: Any) -> None:
    file = drawn(view=view)
    at = int(file.split()[-2])
    assert file[at:].startswith(b"xref\n")
    begins = [int(line) for line in re.findall(rb"(\d{10}) 00000 n \n", file[at:])]
    assert all(file[place:].startswith(b"%d 0 obj\n" % number) for number, place in enumerate(begins, 1))
    assert f"/Size {len(begins) + 1} ".encode() in file[at:]


def test_its_lines_are_those_of_the_svg() -> None:
    [page] = streams(drawn(view="lines"))
    colours, found = [], {}
    for line in page.decode().splitlines():
        if line.endswith(" c S"):
            red, green, blue, _, width, _, *points, _, _ = line.replace(" m ", " ").split()
            places = np.array(points, float).reshape(4, 2)
            assert places[:, 0].tolist() == [190, 320, 320, 450]
            key, query = places[-1, 1] / 26 - 0.5, places[0, 1] / 26 - 0.5  # 26 pixels a row
            found[round(query), round(key)] = (float(width) - 0.9) / 3.4
            colours.append((float(width), *map(float, (red, green, blue))))
    assert found == pytest.approx(lines(encoder()), abs=2e-3)
    strongest = max(colours)
    weight = (strongest[0] - 0.9) / 3.4
    assert strongest[1:] == pytest.approx([1 + (part / 255 - 1) * weight for part in INK], abs=4e-3)


def test_its_cells_are_those_of_the_svg() -> None:
    file = drawn(view="matrix", layer=1, head=2)
    _, rows = streams(file)
    expected = cells(drawing(encoder(), view="matrix", layer=1, head=2))
    found = np.frombuffer(rows, np.uint8).reshape(len(expected), -1)
    assert found[:, 0].tolist() == [0] * len(expected)  # no row is told by its differences from another
    assert found[:, 1:].tolist() == expected.tolist()
    [colours] = re.findall(rb"/Indexed /DeviceRGB 255 <(\w+)>", file)
    palette = bytes.fromhex(colours.decode())
    assert (palette[:3], palette[-3:]) == (b"\xff\xff\xff", bytes(INK))


def test_names_are_written_as_they_are() -> None:
    weights = np.full((1, 1, 3, 3), 1 / 3)
    names = ["(dog", "back\\slash", "éß…"]
    file = show(weights, names, view="lines")._repr_pdf_()
    assert file
    [page] = streams(file)
    written = re.findall(rb"\[(\d+) (\(.*\))\] TJ", page)
    assert [name for _, name in written] == [rb"(\(dog)", rb"(back\\slash)", b"(\xe9\xdf\x85)"] * 2
    assert [int(before) for before, _ in written] == [*(600 * len(name) for name in names), 0, 0, 0]


def test_a_notebook_keeps_it_where_its_font_has_all_letters() -> None:
    notebook: Any = DisplayFormatter()
    formatted, _ = notebook.format(show(encoder()))
    assert set(formatted) == {"text/plain", "text/html", "application/pdf"}
    formatted, _ = notebook.format(show([[[[1.0]]]], ["狗"]))
    assert set(formatted) == {"text/plain", "text/html"}
