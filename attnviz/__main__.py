"""The command line: any model's attention in a file or on a page, and how our own translators were made."""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import os
import sys
from collections.abc import Sequence

from attnviz.analysis.shown import visible_text
from attnviz.errors import AttnvizError
from attnviz.models import allowed

# Each adds its commands by `add_command(commands)`, and imports what is slow to import only to run them.
WITH_COMMANDS = (
    "attnviz.cli.trace",
    "attnviz.cli.report",
    "attnviz.cli.models",
    "attnviz.cli.heads",
    "attnviz.cli.pronouns",
    "attnviz.cli.relations",
    "attnviz.cli.corpus",
    "attnviz.cli.train",
    "attnviz.cli.measure",
    "attnviz.trained.translator.live",
    "attnviz.trained.translator.learning",
    "attnviz.trained.translator.distance",
)

BROKEN_OFF = 130
"""What a shell says of a command that Ctrl-C ended."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: what follows `python -m attnviz`; None: what was typed there.

    Returns:
        0; 2 if what was asked for does not exist, or cannot be read or written; 130 after Ctrl-C.
    """
    parser = argparse.ArgumentParser(
        "python -m attnviz",
        description="See what attention does. The page itself is served by `make app`, or by "
        "`python -m attnviz.app.serve run app.py`.",
        epilog="`python -m attnviz COMMAND --help` tells more of a command.",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name in WITH_COMMANDS:
        importlib.import_module(name).add_command(commands)
    parsed = parser.parse_args(arguments)
    prepare()
    try:
        parsed.run(parsed)
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        sys.stderr.write("\nBroken off.\n")
        return BROKEN_OFF
    except AttnvizError as error:
        return refuse(str(error))
    except OSError as error:
        if error.filename is None and error.errno != errno.ENOSPC:
            raise
        return refuse(f"{error.filename or 'What is printed here'}: {error.strerror}.")
    return 0


def prepare() -> None:
    """Make the process the owner's own: every model may be named, and every token may be printed."""
    os.environ.pop(allowed.SETTING, None)  # the list is for visitors of a server
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def refuse(why: str) -> int:
    """Say why on standard error; what a text or a file smuggled into it never commands the terminal."""
    sys.stderr.write(f"{visible_text(why)}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
