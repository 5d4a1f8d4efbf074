"""The browser's code: put together from files, shared parts once, and nothing of it missing."""

import re
from pathlib import Path

import pytest

from attnviz.widgets import code


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders with code; both have a file of one name."""
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, files in (
        (first, {"one.js": "export default 1;", "both.js": "// first"}),
        (second, {"two.js": "export default 2;", "both.js": "// second", "alone.js": "// alone"}),
    ):
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text, "utf-8")
    return first, second


def test_a_file_is_taken_from_the_first_folder_that_has_it(folders: tuple[Path, Path]) -> None:
    assert code.source("js", "both", "two", folders=folders) == "// first\nexport default 2;"
    with pytest.raises(FileNotFoundError, match=r"three\.js"):
        code.source("js", "three", folders=folders)


def test_what_widgets_share_is_there_once_and_outside_of_them(folders: tuple[Path, Path]) -> None:
    library = code.library({"one": ("both", "one"), "two": ("both", "alone", "two")}, folders)
    assert library.count("// first") == 1
    assert library.index("// first") < library.index('attnvizCode["one"]')
    [two] = re.findall(r'attnvizCode\["two"\] \?\?= \(\(\) => \{\n(.*?)\n\}\)\(\);', library, re.DOTALL)
    assert two == "// alone\nreturn 2;"


@pytest.mark.parametrize("name", ["store", "atlas", "head_view"])
def test_every_widget_has_its_code_and_its_style(name: str) -> None:
    parts = {"store": code.STORE, "atlas": code.ATLAS, "head_view": code.HEAD_VIEW}[name]
    assert code.source("js", "shared", *parts, name).count("export default ") == 1
    assert code.source("css", "shared", name)
