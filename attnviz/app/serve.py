"""Serves the app as `streamlit run app.py` does, corrected before anybody comes."""

from pathlib import Path

from streamlit.web import cli

from attnviz.app import patches

_PACKAGE = Path(__file__).parents[1]

APP = next(
    folder / "app.py" for folder in (_PACKAGE / "served", _PACKAGE.parent) if (folder / "app.py").is_file()
)
"""The app's frame, with pages/ and .streamlit/ beside it: where setup.py has put it, or in the repository."""


def run(port: int, host: str | None) -> None:
    """Serve it until the process is told to stop.

    Args:
        port: where it answers.
        host: the address that it listens at; None: all of this machine.
    """
    patches.apply()
    address = [f"--server.address={host}"] if host else []
    cli.main(["run", str(APP), f"--server.port={port}", *address], prog_name="streamlit")
