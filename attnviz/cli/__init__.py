"""The `attnviz` command, each file one or a few of one kind; `attnviz/__main__.py` lists the files."""

import typer

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,  # a pipe, too, gets the help as plain text
    help="See what attention does. `app` serves the pages.",
    epilog="`python -m attnviz COMMAND --help` describes a command.",
)
