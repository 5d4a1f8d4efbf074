"""Finds the Redis or Valkey that the tests of rooms start, and installs one where there is none."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from tests.debian import install

NAMES = ("valkey-server", "redis-server")
ADVICE = "The tests of rooms need Redis or Valkey. Install one (on Debian: apt-get install redis-server)."


def find() -> str | None:
    """The path of the server's program."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def running(folder: Path | None = None) -> Iterator[str]:
    """The address of a new Redis, which ends with the block.

    Args:
        folder: what it knew is kept there, with its socket, for the next; None: it keeps nothing.

    Raises:
        RuntimeError: there is no Redis on this machine.
    """
    program = find()
    if program is None:
        raise RuntimeError(ADVICE)
    with tempfile.TemporaryDirectory() as passing:
        here = folder or Path(passing)
        path = here / "socket"
        kept = "yes" if folder else "no"
        options = ("--port", "0", "--unixsocket", path, "--save", "", "--appendonly", kept, "--dir", here)
        process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
        try:
            while not answers(path):
                if process.poll() is not None:
                    raise RuntimeError("Redis does not start.")
            yield f"unix://{path}"
        finally:
            process.terminate()
            process.wait(10)


def answers(path: Path) -> bool:
    """Whether it does already."""
    try:
        with redis.Redis(unix_socket_path=str(path)) as client:
            return bool(client.ping())
    except redis.ConnectionError:
        return False


if __name__ == "__main__":
    if find() is None:
        install("redis-server")
    if find() is None:
        sys.exit(ADVICE)
