"""The `attnviz` command, each file one or a few of one kind; `attnviz/__main__.py` lists the files."""

import typer

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,  # a pipe, too, gets the help as plain text
    help="See what attention does. The page itself is served by `make app`, or by "
    "`python -m attnviz.app.serve run app.py`.",
    epilog="`python -m attnviz COMMAND --help` tells more of a command.",
)
