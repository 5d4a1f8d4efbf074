"""Letters in pictures have the sizes that one file names."""

import re
from pathlib import Path

import attnviz

HOUSE = Path(attnviz.__file__).parent
PAGE_LEVEL = {"copy_link.css", "printing.css", "teachers_view.css", "report.css"}  # outside of the widgets


def test_no_picture_has_a_size_of_its_own() -> None:
    files = [
        file for file in HOUSE.rglob("*.css") if "bundle" not in file.parts and file.name not in PAGE_LEVEL
    ]
    sizes = {
        file.name: found
        for file in files
        if (found := re.findall(r"font-size: ([1-9][0-9.]*(?:px|rem))", file.read_text("utf-8")))
    }
    assert sizes == {"walk.css": ["10px", "9px"]}  # numbers inside of a badge
