"""What a model reads, as it is typed on the command line: the same for every command that runs one."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from pathlib import Path

from attnviz.capture import loading
from attnviz.capture.model import ModelInput, Writing
from attnviz.cli.telling import progress
from attnviz.errors import AttnvizError, UnreadableText, quoted
from attnviz.trace import Trace

STDIN = "-"
"""Typed for a text that comes through the pipe."""

_DRAWING = ("temperature", "top_k", "top_p", "seed")  # settings that mean nothing where nothing is written


def picture_of(arguments: argparse.Namespace) -> list[Path]:
    """The file that the text names, if it names one: a picture that must not be written over."""
    with suppress(
        OSError, ValueError
    ):  # a text can be too long for a file's name, or hold signs that none has
        if arguments.text is not None and Path(arguments.text).is_file():
            return [Path(arguments.text)]
    return []


def add_reading(command: argparse.ArgumentParser, *, needed: bool = True) -> None:
    """Let a command take a text, which may be `needed` or not, a model, and how it reads the text."""
    command.add_argument(
        "text",
        nargs=None if needed else "?",
        help=f"what the model reads; {STDIN}: standard input. A model that sees pictures takes a file",
    )
    command.add_argument(
        "--model",
        default="minilm",
        metavar="MODEL",
        help="a name that `models` lists, a folder, or a Hugging Face id like owner/name (minilm)",
    )
    command.add_argument(
        "--second", metavar="TEXT", help="a second sentence, read together with the first (BERT and the like)"
    )
    command.add_argument(
        "--target",
        metavar="TEXT",
        help="what the decoder of an encoder–decoder reads (what it writes itself)",
    )
    writing = command.add_argument_group(
        "writing", "Models like GPT-2 write on, token by token; --seed makes it repeatable."
    )
    writing.add_argument("--write", type=int, metavar="N", help="write up to N tokens")
    writing.add_argument(
        "--temperature",
        type=float,
        metavar="T",
        help="0 takes the likeliest token each time, 1 draws as the model says, more is wilder (0)",
    )
    writing.add_argument(
        "--top-k",
        type=int,
        metavar="K",
        help="draw among the K likeliest; 0: among all (0)",
    )
    writing.add_argument(
        "--top-p",
        type=float,
        metavar="P",
        help="draw among the likeliest that together have the probability P (1)",
    )
    writing.add_argument("--seed", type=int, metavar="N", help="of the random numbers (0)")


def read(arguments: argparse.Namespace) -> Trace:
    """Load the model, with a bar where somebody watches, and let it read what was typed.

    For a model that sees pictures the text is the name of a file.

    Raises:
        AttnvizError: the model or the text cannot be used, or the text is a file's name.
        OSError: there is no such picture.
    """
    given = _given(arguments)
    with progress() as tell:
        entry = loading.open_model(arguments.model, tell)
    if entry.sees:
        picture = Path(given.text)
        return loading.look(arguments.model, picture, picture.name)
    if arguments.text != STDIN and os.path.isfile(given.text):  # noqa: PTH113 - a text may be no path at all
        raise AttnvizError(
            f"{quoted(given.text)} is a file, and {quoted(arguments.model)} reads what is typed. Type the "
            f"text itself, or send it through the pipe: {STDIN} reads from there."
        )
    return loading.trace(arguments.model, given)


def _given(arguments: argparse.Namespace) -> ModelInput:
    return ModelInput(
        text=_piped() if arguments.text == STDIN else arguments.text,
        second=arguments.second,
        target=arguments.target,
        writing=_writing(arguments),
    )


def _writing(arguments: argparse.Namespace) -> Writing | None:
    drawing = {name: value for name in _DRAWING if (value := getattr(arguments, name)) is not None}
    if arguments.write is not None:
        return Writing(arguments.write, **drawing)
    for name in drawing:
        option = f"--{name.replace('_', '-')}"
        raise AttnvizError(f"{option} says how to write on: it needs --write, and how many tokens.")
    return None


def _piped() -> str:
    """What comes through the pipe, without the line end that `echo` adds."""
    try:
        return sys.stdin.buffer.read().decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise UnreadableText(
            f"Byte {error.start + 1} of standard input is not UTF-8. Save the text as UTF-8 and try again."
        ) from error
