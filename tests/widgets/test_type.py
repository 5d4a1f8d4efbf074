"""Letters in pictures have the sizes that one file names."""

import re
from pathlib import Path

import attnviz

HOUSE = Path(attnviz.__file__).parent
PROJECTED = "teachers_view.css"
STYLES = ("*.css", "app/**/*.py")


def test_no_picture_has_a_size_of_its_own() -> None:
    files = [file for kind in STYLES for file in HOUSE.rglob(kind) if file.name != PROJECTED]
    sizes = {
        file.name: found
        for file in files
        if (found := re.findall(r"font(?:-size)?: [^;(]*?\b([0-9.]+(?:px|rem))", file.read_text("utf-8")))
    }
    assert sizes == {
        "steps.css": ["13px"],
        "architecture.py": ["13px", "12px"],
        "translation.css": ["0.625rem"],  # names of tokens that stand on end
        "lesson.py": ["0.6875rem"],  # tables on a phone
    }
