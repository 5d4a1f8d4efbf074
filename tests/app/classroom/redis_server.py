"""Start a Redis or Valkey server for the tests of rooms; as a script, install Redis if neither is found."""

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
    """Return the path of the server's executable, or None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def running(folder: Path | None = None) -> Iterator[str]:
    """Start a new Redis server and yield its URL; stop it after the block.

    Args:
        folder: the folder for its data and socket; None for a temporary folder, without stored data.

    Raises:
        RuntimeError: Redis is not installed, or did not start.
    """
    program = find()
    if program is None:
        raise RuntimeError(ADVICE)
    with tempfile.TemporaryDirectory() as temporary:
        directory = folder or Path(temporary)
        path = directory / "socket"
        options = (
            *("--port", "0", "--unixsocket", path, "--save", ""),
            *("--appendonly", "yes" if folder else "no", "--dir", directory),
        )
        process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
        try:
            while not answers(path):
                if process.poll() is not None:
                    raise RuntimeError("Redis did not start.")
            yield f"unix://{path}"
        finally:
            process.terminate()
            process.wait(10)


def answers(path: Path) -> bool:
    """Return whether the server answers on this socket."""
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
