"""mkdocs hooks: add figures to the examples in `gallery.md`, and a style sheet of font sizes and spacing."""

import re
from doctest import DocTestParser
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

LOOK = Path(__file__).parent.parent / "attnviz/widgets/look.css"
EXAMPLE = re.compile(r"^```pycon\n(.+?)^```\n", re.MULTILINE | re.DOTALL)


def on_files(files: Any, config: Any) -> None:
    """Add the style sheet with font sizes and spacing; mkdocs calls this with the site's files."""
    files.append(File.generated(config, LOOK.name, abs_src_path=str(LOOK)))


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Add a figure below each example of `gallery.md`; mkdocs calls this for each page."""
    if page.file.src_uri != "gallery.md":
        return markdown
    names: dict[str, Any] = {}

    def with_figure(found: re.Match[str]) -> str:
        *before, last = DocTestParser().get_examples(found[1])
        for example in before:
            exec(example.source, names)  # noqa: S102 (our own page's code)
        return f"{found[0]}\n{eval(last.source, names)._repr_html_()}\n"  # noqa: S307

    return EXAMPLE.sub(with_figure, markdown)
