"""Build the static site: its pages, their initial contents, and the model."""

from __future__ import annotations

import html
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from string import Template

import numpy as np

from attnviz.analysis.display_tokens import MIN_SHOWN_SHARE
from attnviz.app.examples import OPENING, introduction
from attnviz.app.lessons.document import document
from attnviz.capture import stored
from attnviz.errors import AttnvizError
from attnviz.export.report.page import STYLE
from attnviz.models.catalogue import MINILM, Entry
from attnviz.models.resolve import entry
from attnviz.site import weights
from attnviz.widgets import code

_HERE = Path(__file__).parent
_MODEL = "minilm"
_MARKER = "service_worker.js"  # marks a folder as an earlier site
_DOCUMENTATION = Path("docs", "index.html")
_ARRAYS = ("weights", "query", "key")


def build(out: Path) -> None:
    """Write the site; replace an earlier site, but keep its documentation.

    Args:
        out: New or empty folder, earlier site, or folder that contains only `docs`, the documentation.

    Raises:
        AttnvizError: the folder contains something else.
    """
    _clear(out)
    model = entry(_MODEL)
    name = weights.write(MINILM.folder, out)
    files = {**_pages(out, model.title), **_opening(model, name)}
    settings = {"FILES": ["./", *files], "MODEL": name, "VERSION": f"page-{weights.digest(files)}"}
    constants = f"self.site = {json.dumps(settings)};\n"
    files[_MARKER] = (constants + _text(_MARKER)).encode()
    for file, data in files.items():
        (out / file).write_bytes(data)


def _clear(out: Path) -> None:
    """Remove the model of an earlier site; raise if the folder contains something else."""
    names = {path.name for path in out.iterdir()} if out.is_dir() else set()
    if names - {_DOCUMENTATION.parts[0]} and _MARKER not in names:
        raise AttnvizError(f"{out} contains other files. Choose a new folder.")
    for folder in out.glob("model-*"):
        shutil.rmtree(folder)


def _pages(out: Path, model: str) -> dict[str, bytes]:
    """Return the pages, their scripts and their style sheet."""
    is_documented = (out / _DOCUMENTATION).is_file()
    lesson = document("masks")
    options = [
        ("", lesson.label("none")),
        ("causal", lesson.label("causal")),
        ("by hand", lesson.label("by hand")),
    ]
    link = f'<a href="{_DOCUMENTATION.as_posix()}">Documentation</a>' if is_documented else ""
    page = Template(_text("index.html"))
    explore = {
        "page": "explore",
        "title": "Explore",
        "lead": f"<strong>Attention</strong> in {html.escape(model)}: which word attends to which.",
        "controls": _text("explore.html"),
        "remark": "",
    }
    masks = {
        "page": "masks",
        "title": html.escape(lesson.title),
        "lead": html.escape(f"{lesson.question} {lesson.summary}"),
        "controls": f'<label>{html.escape(lesson.label("mask"))} <select id="mask">'
        + "".join(f'<option value="{value}">{html.escape(label)}</option>' for value, label in options)
        + "</select></label>\n  <button>Read</button>",
        "remark": html.escape(lesson.label("edit")),
    }
    return {
        "index.html": page.substitute(explore, documentation=link).encode(),
        "masks.html": page.substitute(masks, documentation=link).encode(),
        "site.js": code.bundle("site").encode(),
        "worker.js": code.bundle("worker").encode(),
        "style.css": (STYLE + _text("site.css")).encode(),
    }


def _opening(model: Entry, folder: str) -> dict[str, bytes]:
    """Return the data of the first example, which the page shows before the model is loaded."""
    first = introduction(model)
    found = [stored.find(model.name, text) for text in (OPENING.text, OPENING.other)]
    traces = [trace for trace in found if trace]
    facts = {
        "model": folder,
        "sizes": {"model": model.title, "layers": model.layers, "heads": model.heads, "d_head": model.d_head},
        "min_kept": MIN_SHOWN_SHARE,
        "head": first.head,
        "examples": [asdict(example) for example in first.examples],
        "labels": {name: document("masks").label(name) for name in ("before", "masked")},
        "runs": [
            {
                "text": trace.text,
                "tokens": [asdict(token) for token in trace.of_kind("encoder")[0].query_tokens],
            }
            for trace in traces
        ],
    }
    arrays = [
        np.stack([getattr(block, name) for block in trace.blocks]) for trace in traces for name in _ARRAYS
    ]
    return {
        "example.json": json.dumps(facts, ensure_ascii=False).encode(),
        "example.bin": b"".join(array.astype("<f4").tobytes() for array in arrays),
    }


def _text(name: str) -> str:
    return (_HERE / name).read_text("utf-8")
