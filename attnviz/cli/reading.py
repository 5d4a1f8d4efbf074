"""Command-line options for model input, shared by all commands that run a model."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from attnviz.capture import loading
from attnviz.capture.model import ModelInput, Writing
from attnviz.capture.selection import EVERYTHING, Selection
from attnviz.cli.output import progress
from attnviz.errors import AttnvizError, UnreadableText, quoted
from attnviz.interventions.edit import Edit
from attnviz.trace import Trace

STDIN = "-"
"""The value of TEXT that selects standard input."""

_TEXT = typer.Argument(
    metavar="TEXT",
    help=f"Input text, or “{STDIN}” for standard input. For a vision model, an image file.",
)
Text = Annotated[str, _TEXT]
TextOrNone = Annotated[str | None, _TEXT]

_MODEL = typer.Option(
    metavar="MODEL", help="A model name from `models`, a folder, or a Hugging Face id such as owner/name."
)
Model = Annotated[str, _MODEL]
ModelOrNone = Annotated[str | None, _MODEL]
DType = Annotated[
    str | None,
    typer.Option(
        "--dtype",
        metavar="DTYPE",
        help="Data type of the weights of a folder or hub model: float32 (default), bfloat16 or float16.",
    ),
]
Device = Annotated[
    str | None,
    typer.Option(metavar="DEVICE", help="Device: cpu (default), cuda, cuda:1, xpu or mps."),
]
Second = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Second sentence of a pair (BERT and similar models)."),
]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT", help="Target text of an encoder–decoder (default: the text that it generates)."
    ),
]
Write = Annotated[
    int | None,
    typer.Option(metavar="N", help="Generate up to N tokens (causal language models such as GPT-2)."),
]


def read(
    model: str,
    text: str,
    second: str | None = None,
    target: str | None = None,
    writing: Writing | None = None,
    edits: Sequence[Edit] = (),
    selection: Selection = EVERYTHING,
) -> Trace:
    """Load the model, showing a progress bar in a terminal, and run it on the text.

    For a vision model, the text is the path of an image.

    Raises:
        AttnvizError: the model, text or image cannot be used, or a text model was given the path of a file.
    """
    given = ModelInput(piped_text() if text == STDIN else text, second, target, writing)
    with progress() as report:
        entry = loading.open_model(model, report)
    if entry.is_vision_model:
        if edits or given != ModelInput(given.text) or selection != EVERYTHING:
            raise AttnvizError(
                f"{quoted(model)} is a vision model and does not support --second, --target, --write, "
                "--edit, --layer or --head."
            )
        picture = Path(given.text)
        return loading.look(model, picture, picture.name)
    if text != STDIN and os.path.isfile(given.text):  # noqa: PTH113 - a text may be an invalid path
        raise AttnvizError(
            f"{quoted(given.text)} is a file, but {quoted(model)} expects text. Pass the text itself, or use "
            f"“{STDIN}” to read standard input."
        )
    return loading.trace(model, given, edits, selection)


def piped_text() -> str:
    """Read standard input, without the line end that `echo` adds.

    Raises:
        UnreadableText: the input is not in UTF-8.
    """
    try:
        return sys.stdin.buffer.read().decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise UnreadableText(
            f"Byte {error.start + 1} of standard input is not UTF-8. Save the text as UTF-8 and try again."
        ) from error
