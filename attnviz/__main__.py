"""The command line of attnviz."""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TextIO

try:
    import typer
    from typer.core import TyperGroup
except ModuleNotFoundError:
    sys.exit('The attnviz command needs the extra [torch]: python -m pip install "attnviz[torch]"')

import attnviz
from attnviz import importing
from attnviz.analysis.display_tokens import visible_text
from attnviz.cli import app
from attnviz.cli.output import saved_line
from attnviz.errors import AttnvizError
from attnviz.models import allowed

# Modules with commands, in the order of the help. Importing them adds the commands without importing torch.
MODULES = (
    "trace",
    "report",
    "models",
    "heads",
)

INTERRUPTED = 130
"""The exit status after Ctrl-C, as in a shell."""


class Commands(TyperGroup):
    """The group of all commands; it prints each error as one line on standard error."""

    def invoke(self, ctx: Any) -> None:
        """Run the chosen command.

        Raises:
            typer.Exit: with 2 if the input is invalid, or a file cannot be read or written; with 130 after
                Ctrl-C.
        """
        try:
            super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:  # for example with `| head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except KeyboardInterrupt:
            sys.stderr.write("\nInterrupted.\n")
            raise typer.Exit(INTERRUPTED) from None
        except AttnvizError as error:
            raise _failed(str(error)) from error
        except OSError as error:
            if error.filename is None and error.errno != errno.ENOSPC:
                raise
            raise _failed(f"{error.filename or 'standard output'}: {error.strerror}.") from error


def _print_version(requested: bool) -> None:
    if requested:
        sys.stdout.write(f"attnviz {attnviz.__version__}\n")
        raise typer.Exit


@app.callback()
def remove_server_setting(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - the callback prints it
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Remove the environment variable that restricts a server's models, unless the command is `app`."""
    if context.invoked_subcommand != "app":
        os.environ.pop(allowed.SETTING, None)


@app.command("app")
def serve_app(
    port: Annotated[int, typer.Option(metavar="N", help="The port to listen on.")] = 8501,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="The address to listen on, such as 127.0.0.1. Default: all addresses of this machine.",
        ),
    ] = None,
) -> None:
    """Serve all pages of the app.

    This command runs `streamlit run` with the app. For other options, use Streamlit's environment variables,
    such as STREAMLIT_SERVER_BASE_URL_PATH, or .streamlit/config.toml.
    """
    importing.need_extra("app")
    importing.need_extra("pictures")
    from attnviz.app.server import serving

    serving.run(port, host)


@app.command("site")
def write_site(
    out: Annotated[Path, typer.Option(metavar="DIR", help="A new folder, or the folder of an earlier site.")],
) -> None:
    """Write Explore as static files that need no server: the bundled BERT runs in the visitor's browser.

    Any static host can serve them, including under a sub-path. The page links to the documentation if it is
    in DIR/docs.
    """
    importing.need_extra("app")
    from attnviz.site.build import build

    build(out)
    sys.stdout.write(saved_line(out / "index.html"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: the arguments after `python -m attnviz`; None: `sys.argv[1:]`.

    Returns:
        The exit status: 0; 2 if the input is invalid, or a file cannot be read or written; 130 after
            Ctrl-C.
    """
    for name in MODULES:
        importlib.import_module(f"attnviz.cli.{name}")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    streams: tuple[TextIO, TextIO] = (sys.stdout, sys.stderr)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # for characters that the terminal cannot show
    app.info.cls = Commands
    try:
        typer.main.get_command(app).main(arguments, prog_name="python -m attnviz")
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def _failed(message: str) -> typer.Exit:
    """Print an error on standard error, without control characters; return an exit with status 2."""
    sys.stderr.write(f"{visible_text(message)}\n")
    return typer.Exit(2)


if __name__ == "__main__":
    sys.exit(main())
