"""The command line: any model's attention in a file or on a page, and how our own translators were made."""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Any, TextIO

import typer
from typer.core import TyperGroup

from attnviz.analysis.display_tokens import visible_text
from attnviz.cli import app
from attnviz.errors import AttnvizError
from attnviz.models import allowed

# In the order of the help. Each file in `cli` adds its commands to `app`, and imports torch only to run one.
MODULES = ("trace", "report", "models", "heads", "pronouns", "relations", "verdicts", "translators")

BROKEN_OFF = 130
"""What a shell says of a command that Ctrl-C ended."""


class Commands(TyperGroup):
    """All commands; what goes wrong in one of them is said in a sentence on standard error."""

    def invoke(self, ctx: Any) -> None:
        """Run the command that was chosen.

        Raises:
            typer.Exit: with 2 if what was asked for does not exist, or cannot be read or written; with 130
                after Ctrl-C.
        """
        try:
            super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:  # `| head` has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except KeyboardInterrupt:
            sys.stderr.write("\nBroken off.\n")
            raise typer.Exit(BROKEN_OFF) from None
        except AttnvizError as error:
            raise _refused(str(error)) from error
        except OSError as error:
            if error.filename is None and error.errno != errno.ENOSPC:
                raise
            raise _refused(f"{error.filename or 'What is printed here'}: {error.strerror}.") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: what follows `python -m attnviz`; None: what was typed there.

    Returns:
        0; 2 if what was asked for does not exist, or cannot be read or written; 130 after Ctrl-C.
    """
    for name in MODULES:
        importlib.import_module(f"attnviz.cli.{name}")
    os.environ.pop(allowed.SETTING, None)  # that list binds the visitors of a server, not its owner
    streams: tuple[TextIO, TextIO] = (sys.stdout, sys.stderr)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # every token may be printed
    app.info.cls = Commands
    try:
        typer.main.get_command(app).main(arguments, prog_name="python -m attnviz")
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def _refused(why: str) -> typer.Exit:
    """Say why on standard error; what a text or a file smuggled into it never commands the terminal."""
    sys.stderr.write(f"{visible_text(why)}\n")
    return typer.Exit(2)


if __name__ == "__main__":
    sys.exit(main())
