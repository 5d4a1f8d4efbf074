"""Command-line options for model input, shared by all commands that run a model."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from attnviz.capture import loading
from attnviz.capture.model import ModelInput, Writing
from attnviz.capture.selection import EVERYTHING, Selection
from attnviz.cli.output import progress
from attnviz.errors import AttnvizError, UnreadableText, quoted
from attnviz.experiments import on_ray
from attnviz.experiments.scoring import Share
from attnviz.interventions.edit import Edit
from attnviz.trace import Trace

STDIN = "-"
"""Argument that reads the text from standard input."""

TAKES_DASHES = {"ignore_unknown_options": True}
"""Context settings of a `TextCommand`, for texts that begin with a dash, such as "- No, it did not."."""


class TextCommand(TyperCommand):
    """A command with a text argument that may begin with a dash; a single word with a dash is an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reject unknown options, which Typer would parse as a second text."""
        known = {name for param in self.get_params(ctx) for name in (*param.opts, *param.secondary_opts)}
        for word in takewhile("--".__ne__, args):
            if re.match(r"--?[A-Za-z]\S*$", word) and word.partition("=")[0] not in known:
                ctx.fail(f"No such option: {word}")
        return super().parse_args(ctx, args)


_TEXT = typer.Argument(
    metavar="TEXT",
    help=f"Input text, or “{STDIN}” for standard input. For a vision model, an image file.",
)
Text = Annotated[str, _TEXT]
TextOrNone = Annotated[str | None, _TEXT]

Model = Annotated[
    str,
    typer.Option(
        metavar="MODEL",
        help="A model name from `models`, a folder, or a Hugging Face id such as owner/name.",
    ),
]
DType = Annotated[
    str | None,
    typer.Option(
        "--dtype",
        metavar="DTYPE",
        help="Data type of a folder or an id: float32 (default), bfloat16 or float16.",
    ),
]
Device = Annotated[
    str | None,
    typer.Option(metavar="DEVICE", help="Device: cpu (default), cuda, cuda:1, xpu or mps."),
]
Ray = Annotated[int | None, typer.Option(metavar="N", min=1, help="Use N processes with Ray.")]
RayAddress = Annotated[
    str | None,
    typer.Option("--address", metavar="HOST:PORT", help="With --ray: address of a running cluster."),
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
Temperature = Annotated[
    float | None,
    typer.Option(
        metavar="T",
        help="With --write: 0 (default) selects the most likely token, 1 samples from the model, "
        "higher values are more random.",
    ),
]
TopK = Annotated[
    int | None,
    typer.Option(metavar="K", help="With --write: sample from the K most likely tokens; 0 (default): all."),
]
TopP = Annotated[
    float | None,
    typer.Option(
        metavar="P", help="With --write: sample from the most likely tokens with total probability P (1)."
    ),
]
Seed = Annotated[int | None, typer.Option(metavar="N", help="With --write: random seed (0).")]


def picture_of(text: str | None) -> list[Path]:
    """Return the file that the text names, if any: an image that must not be overwritten."""
    with suppress(OSError, ValueError):  # a text can be too long for a file name, or have invalid characters
        if text is not None and Path(text).is_file():
            return [Path(text)]
    return []


def writing_of(
    write: int | None, temperature: float | None, top_k: int | None, top_p: float | None, seed: int | None
) -> Writing | None:
    """Return the settings of --write; None without it.

    Raises:
        AttnvizError: a sampling option is used without --write.
    """
    options = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    parts = {name: value for name, value in options.items() if value is not None}
    if write is not None:
        return Writing(write, **parts)  # type: ignore[arg-type]  # each of its own type
    for name in parts:
        option = f"--{name.replace('_', '-')}"
        raise AttnvizError(f"{option} requires --write N.")
    return None


def read(
    model: str,
    text: str,
    second: str | None = None,
    target: str | None = None,
    writing: Writing | None = None,
    edits: Sequence[Edit] = (),
    selection: Selection = EVERYTHING,
) -> Trace:
    """Load the model, with a progress bar in a terminal, and run it on the text.

    For a vision model, the text is the path of an image.

    Raises:
        AttnvizError: the model or the text cannot be used, or the text is the path of a file.
        OSError: there is no such image.
    """
    given = ModelInput(piped_text() if text == STDIN else text, second, target, writing)
    with progress() as report:
        entry = loading.open_model(model, report)
    if entry.sees:
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


def share(ray: int | None, address: str | None) -> Share:
    """Return how parts of a text are distributed.

    Raises:
        AttnvizError: there is an address without `--ray`, or Ray is not installed.
    """
    if ray is not None:
        return on_ray.share(ray, address)
    if address is not None:
        raise AttnvizError("--address requires --ray N.")
    return map


def piped_text() -> str:
    """Read standard input, without the line end that `echo` adds.

    Raises:
        UnreadableText: it is not in UTF-8.
    """
    try:
        return sys.stdin.buffer.read().decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise UnreadableText(
            f"Byte {error.start + 1} of standard input is not UTF-8. Save the text as UTF-8 and try again."
        ) from error
