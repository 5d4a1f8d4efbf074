"""What a model reads, as it is typed on the command line: the same for every command that runs one."""

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
from attnviz.interventions.edit import Edit
from attnviz.trace import Trace

STDIN = "-"
"""Typed for a text that comes through the pipe."""

TAKES_DASHES = {"ignore_unknown_options": True}
"""The setting of a `TextCommand`, for a text that may begin with a dash, such as "- No, it did not."."""


class TextCommand(TyperCommand):
    """A command that takes a text; one word that begins with a dash is an option of it, or of none."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As Typer does; it would take an unknown option for a second text."""
        known = {name for param in self.get_params(ctx) for name in (*param.opts, *param.secondary_opts)}
        for word in takewhile("--".__ne__, args):
            if re.match(r"--?[A-Za-z]\S*$", word) and word.partition("=")[0] not in known:
                ctx.fail(f"No such option: {word}")
        return super().parse_args(ctx, args)


_TEXT = typer.Argument(
    metavar="TEXT",
    help=f"What the model reads; {STDIN}: standard input. A model that sees takes a file.",
)
Text = Annotated[str, _TEXT]
TextOrNone = Annotated[str | None, _TEXT]

Model = Annotated[
    str,
    typer.Option(
        metavar="MODEL",
        help="A name that `models` lists, a folder, or a Hugging Face id like owner/name.",
    ),
]
Numbers = Annotated[
    str | None,
    typer.Option(
        "--dtype",
        metavar="DTYPE",
        help="In which numbers a folder or an id runs: float32 (the default), bfloat16 or float16.",
    ),
]
Device = Annotated[
    str | None,
    typer.Option(metavar="DEVICE", help="Where it runs: cpu (the default), cuda, cuda:1, xpu or mps."),
]
Second = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="A second sentence, read together with the first (BERT and the like)."),
]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT", help="What the decoder of an encoder–decoder reads; without it, what it writes."
    ),
]
Write = Annotated[
    int | None,
    typer.Option(metavar="N", help="Models like GPT-2 write on, token by token: write up to N tokens."),
]
Temperature = Annotated[
    float | None,
    typer.Option(
        metavar="T",
        help="Of --write: 0 (the default) takes the likeliest token each time, 1 samples from the model, "
        "more is wilder.",
    ),
]
TopK = Annotated[
    int | None,
    typer.Option(metavar="K", help="Of --write: draw among the K likeliest; 0 (the default): among all."),
]
TopP = Annotated[
    float | None,
    typer.Option(
        metavar="P", help="Of --write: draw among the likeliest that together have the probability P (1)."
    ),
]
Seed = Annotated[
    int | None, typer.Option(metavar="N", help="Of --write: the seed of the random numbers (0).")
]


def picture_of(text: str | None) -> list[Path]:
    """The file that the text names, if it names one: a picture that must not be written over."""
    with suppress(
        OSError, ValueError
    ):  # a text can be too long for a file's name, or hold signs that none has
        if text is not None and Path(text).is_file():
            return [Path(text)]
    return []


def writing_of(
    write: int | None, temperature: float | None, top_k: int | None, top_p: float | None, seed: int | None
) -> Writing | None:
    """How a model writes on; None: it only reads.

    Raises:
        AttnvizError: options of --write without it.
    """
    options = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    parts = {name: value for name, value in options.items() if value is not None}
    if write is not None:
        return Writing(write, **parts)  # type: ignore[arg-type]  # each of its own type
    for name in parts:
        option = f"--{name.replace('_', '-')}"
        raise AttnvizError(f"{option} needs --write and a number of tokens.")
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

    For a model that sees pictures the text is the name of a file.

    Raises:
        AttnvizError: the model or the text cannot be used, or the text is a file's name.
        OSError: there is no such picture.
    """
    given = ModelInput(piped_text() if text == STDIN else text, second, target, writing)
    with progress() as report:
        entry = loading.open_model(model, report)
    if entry.sees:
        if edits or given != ModelInput(given.text) or selection != EVERYTHING:
            raise AttnvizError(
                f"{quoted(model)} sees a picture, and takes no --second, --target, --write, --edit, --layer "
                "or --head."
            )
        picture = Path(given.text)
        return loading.look(model, picture, picture.name)
    if text != STDIN and os.path.isfile(given.text):  # noqa: PTH113 - a text may be no path at all
        raise AttnvizError(
            f"{quoted(given.text)} is a file, and {quoted(model)} reads what is typed. Type the "
            f"text itself, or send it through the pipe: {STDIN} reads from there."
        )
    return loading.trace(model, given, edits, selection)


def piped_text() -> str:
    """What comes through the pipe, without the line end that `echo` adds.

    Raises:
        UnreadableText: it is not in UTF-8.
    """
    try:
        return sys.stdin.buffer.read().decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise UnreadableText(
            f"Byte {error.start + 1} of standard input is not UTF-8. Save the text as UTF-8 and try again."
        ) from error
