"""The `attnviz` command line, one command per file; `attnviz/__main__.py` lists the files."""

import typer

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,  # help as plain text, also in a pipe
    help="Visualize attention. `app` starts the web app.",
    epilog="`python -m attnviz COMMAND --help` describes a command.",
)
