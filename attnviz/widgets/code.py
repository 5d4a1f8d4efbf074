"""What the browser runs: plain JavaScript and CSS, put together without a build step."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

FOLDER = Path(__file__).parent

# What stands in front of each shared widget's own code, after "shared".
STORE: tuple[str, ...] = ()
ATLAS = ("palette",)
HEAD_VIEW = ("palette", "pens", "lines", "matrix")


def source(kind: Literal["js", "css"], *names: str, folders: Sequence[Path] = (FOLDER,)) -> str:
    """The text of these files, one after the other; each is looked for in one folder after the other.

    Raises:
        FileNotFoundError: there is no such file in any of the folders.
    """
    return "\n".join(_find(f"{name}.{kind}", folders).read_text("utf-8") for name in names)


def library(parts: Mapping[str, Sequence[str]], folders: Sequence[Path] = (FOLDER,)) -> str:
    """A script that puts every widget's code into `window.attnvizCode`, each in a scope of its own.

    What several widgets are made of is there once, in a scope around theirs.

    Args:
        parts: of each widget, the files that its code consists of, in order, its own last.
        folders: where they are.
    """
    uses = Counter(part for files in parts.values() for part in files)
    common = [part for part, count in uses.items() if count > 1]
    widgets = []
    for name, files in parts.items():
        own = source("js", *(part for part in files if uses[part] == 1), folders=folders)
        code = own.replace("export default ", "return ")
        widgets.append(f"window.attnvizCode[{json.dumps(name)}] ??= (() => {{\n{code}\n}})();")
    return "\n".join(
        [
            "window.attnvizCode ??= {};",
            "(() => {",
            source("js", *common, folders=folders),
            *widgets,
            "})();",
        ]
    )


def styles(parts: Sequence[str], folders: Sequence[Path] = (FOLDER,)) -> str:
    """The CSS of a widget: what all share, then what belongs to those of its parts that draw, then its own.

    Args:
        parts: the files that its code consists of, as `library` takes them.
        folders: where they are.
    """
    drawing = [name for name in parts if any((folder / f"{name}.css").exists() for folder in folders)]
    return source("css", *drawing, folders=folders)


def _find(name: str, folders: Sequence[Path]) -> Path:
    for folder in folders:
        if (folder / name).exists():
            return folder / name
    raise FileNotFoundError(name)
