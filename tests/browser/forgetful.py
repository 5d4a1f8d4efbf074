"""`attnviz app`, but for one thing: at a signal, the server forgets all who ever opened a page."""

import signal
import sys

from streamlit.runtime.pages_manager import PagesManager

from attnviz.__main__ import main

FORGET = signal.SIGUSR1
FORGOTTEN = "Nobody has visited this server.\n"


def _forget(*_: object) -> None:
    # Until app.py has run for the first time, Streamlit runs the files of the folder `pages` on their own.
    # It notes for the whole process whether that is so; each new visit looks again where nothing is noted.
    PagesManager.uses_pages_directory = None
    sys.stdout.write(FORGOTTEN)
    sys.stdout.flush()


if __name__ == "__main__":
    signal.signal(FORGET, _forget)
    sys.exit(main(["app", *sys.argv[1:]]))
