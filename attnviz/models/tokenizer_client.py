"""A tokenizer that runs in a separate process, because its files are untrusted; see `tokenizer_worker`."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

from attnviz.errors import AttnvizError, ModelFilesDamaged, ModelNotSupported, UnreadableText
from attnviz.models.wrapped_tokenizer import Encoded

TIMEOUT_SECONDS = 10.0
"""The wall time after which a request fails and the process is killed."""

_START_SECONDS = 120.0  # importing transformers is slow on a busy machine
_MAX_ANSWER_BYTES = 64 * 1024**2
_ERRORS: dict[str, type[AttnvizError]] = {
    error.__name__: error for error in (AttnvizError, ModelFilesDamaged, ModelNotSupported)
}
# The process imports the same modules as this one.
_COMMAND = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "from attnviz.models.tokenizer_worker import main; main()"
)


class _Ended(Exception):
    """The process has ended or was killed."""


class Client:
    """The process for the tokenizer of one folder; if it has ended, the next request restarts it.

    Attributes:
        described: the result of `TextTokenizer.described`.
    """

    def __init__(self, folder: Path, token_limit: int) -> None:
        self._folder, self._token_limit = folder, token_limit
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        with self._lock:
            self.described = self._start()

    def call(self, method: str, *arguments: object) -> Any:
        """Return the result of a method of `tokenizer_worker.Worker`.

        Raises:
            UnreadableText: the method fails, or takes too much time or memory.
        """
        with self._lock:
            if self._process is None:
                self._start()
            try:
                state, *result = self._ask(TIMEOUT_SECONDS, method, *arguments)
            except _Ended as error:
                raise UnreadableText(
                    "This model's tokenizer takes too much time or memory for the text. Shorten the text, or "
                    "choose another model."
                ) from error
        if state != "done":
            name, message = result
            raise _ERRORS.get(name, UnreadableText)(
                message
                or "This model's tokenizer failed on the text: a rule in its tokenizer.json fails or takes "
                "too long. Shorten the text, or choose another model."
            )
        return result[0]

    def _start(self) -> list[Any]:
        """Start the process and open the tokenizer in it."""
        command = [sys.executable, "-c", _COMMAND, json.dumps(sys.path)]
        # If memory runs out, Rust's error messages may quote the text.
        self._process = subprocess.Popen(  # noqa: S603 - our own code
            [*command, str(self._folder), str(self._token_limit)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._end = weakref.finalize(self, _end, self._process)
        try:
            self._receive(_START_SECONDS)
            state, *result = self._ask(TIMEOUT_SECONDS, "open")
        except _Ended as error:
            raise ModelFilesDamaged(
                "The tokenizer of this model cannot be opened: it takes too much time or memory. Save or "
                "download the model again, or choose another model."
            ) from error
        if state != "done":
            self._kill()
            name, message = result
            raise _ERRORS.get(name, ModelFilesDamaged)(
                message or "The tokenizer of this model cannot be opened: its files are damaged."
            )
        described: list[Any] = result[0]
        return described

    def _ask(self, seconds: float, *request: object) -> list[Any]:
        assert self._process is not None  # noqa: S101 - for the type checker
        assert self._process.stdin is not None  # noqa: S101 - likewise
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            self._kill()
            raise _Ended from error
        return self._receive(seconds)

    def _receive(self, seconds: float) -> list[Any]:
        assert self._process is not None  # noqa: S101 - for the type checker
        assert self._process.stdout is not None  # noqa: S101 - likewise
        line = b""
        timer = threading.Timer(seconds, self._process.kill)
        timer.start()
        try:
            line = self._process.stdout.readline(_MAX_ANSWER_BYTES)
        finally:
            timer.cancel()
            # Also after a KeyboardInterrupt: otherwise the next request would read this answer.
            if not line.endswith(b"\n"):
                self._kill()
        if not line.endswith(b"\n"):
            raise _Ended
        answer: list[Any] = json.loads(line)
        return answer

    def _kill(self) -> None:
        self._end()
        self._process = None


class RemoteTokenizer:
    """A tokenizer in a separate process, with the methods that `TextTokenizer` calls.

    Attributes:
        special: the ids of the special tokens.
        mask, types: as for `TextTokenizer`.
    """

    def __init__(self, folder: Path, token_limit: int) -> None:
        self.client = Client(folder, token_limit)
        self.special, self.mask, self.types = self.client.described
        self._spellings: dict[int, str | None] = {}

    def encode(self, *texts: str) -> Encoded:
        """Encode a text or a pair; if there are too many tokens, return only their ids."""
        return Encoded(*self.client.call("encode", False, *texts))

    def encode_target(self, text: str) -> Encoded:
        """Encode a decoder's text, as `encode` does."""
        return Encoded(*self.client.call("encode", True, text))

    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str:
        """Decode ids; special tokens are always skipped."""
        assert skip_special_tokens  # noqa: S101 - as `TextTokenizer` calls it
        text: str = self.client.call("decode", [int(each) for each in ids])
        return text

    def token_to_id(self, spelling: str) -> int | None:
        """Return the id of a token; None if the vocabulary does not contain it."""
        number: int | None = self.client.call("token_to_id", spelling)
        return number

    def id_to_token(self, number: int) -> str | None:
        """Return the token of an id; None if the vocabulary does not contain it."""
        if number not in self._spellings:
            self._spellings[number] = self.client.call("id_to_token", int(number))
        return self._spellings[number]


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # raised if a request is still buffered
                pipe.close()
    process.wait()
