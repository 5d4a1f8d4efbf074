"""A tokenizer from untrusted files, in a process of its own; see `tokenizer_worker`."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from attnviz.errors import AttnvizError, ModelFilesDamaged, ModelNotSupported, UnreadableText

TIMEOUT_SECONDS = 10.0
"""Wall time of one request, after which the process is killed."""

_START_SECONDS = 120.0  # transformers is slow to import on a busy machine
_MAX_ANSWER_BYTES = 64 * 1024**2
_ERRORS: dict[str, type[AttnvizError]] = {
    error.__name__: error for error in (AttnvizError, ModelFilesDamaged, ModelNotSupported)
}
# The modules are those of this process, wherever they were found.
_COMMAND = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "from attnviz.models.tokenizer_worker import main; main()"
)


class _Ended(Exception):
    """The process has ended, or was killed."""


@dataclass(frozen=True)
class Encoding:
    """The fields of a `tokenizers.Encoding`; without its lists if there are too many tokens."""

    count: int
    ids: list[int] = field(default_factory=list)
    offsets: list[tuple[int, int]] = field(default_factory=list)
    word_ids: list[int | None] = field(default_factory=list)
    sequence_ids: list[int | None] = field(default_factory=list)
    special_tokens_mask: list[int] = field(default_factory=list)
    type_ids: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return self.count


class Side(NamedTuple):
    """A tokenizer in the process: the only one, or those of a translator's source and target.

    Attributes:
        special: the ids of the special tokens.
        mask, types: as `TextTokenizer` takes them.
        reads: whether transformers' own tokenizer reads each text, too.
        refusal: why it reads no text; "" if it does.
    """

    special: list[int]
    mask: str | None
    types: object
    reads: bool
    refusal: str = ""


class Client:
    """The process of one folder. It is started with the first request, and again after it has ended.

    Attributes:
        sides: the tokenizers in the process.
    """

    def __init__(self, folder: Path, token_limit: int) -> None:
        self._folder, self._token_limit = folder, token_limit
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        with self._lock:
            described = self._start()
        self.sides = [Side(*side) for side in described]

    def call(self, method: str, *arguments: object) -> Any:
        """Return what a method of `tokenizer_worker.Worker` returns.

        Raises:
            UnreadableText: it fails, or takes too much time or memory.
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
            raise UnreadableText(
                "This model's tokenizer gave up on the text: a rule in its tokenizer.json fails, or takes "
                "too long. Shorten the text, or choose another model."
            )
        return result[0]

    def _start(self) -> list[list[Any]]:
        """Start the process and let it open the tokenizer."""
        command = [sys.executable, "-c", _COMMAND, json.dumps(sys.path)]
        # What Rust writes to stderr when memory is short may quote the text.
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
                "download it again, or choose another model."
            ) from error
        if state != "done":
            self._kill()
            name, message = result
            raise _ERRORS.get(name, ModelFilesDamaged)(
                message or "The tokenizer of this model cannot be opened: its files are damaged."
            )
        described: list[list[Any]] = result[0]
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
        killing = threading.Timer(seconds, self._process.kill)
        killing.start()
        try:
            line = self._process.stdout.readline(_MAX_ANSWER_BYTES)
        finally:
            killing.cancel()
            if not line.endswith(
                b"\n"
            ):  # after a KeyboardInterrupt, too: the next request needs its own answer
                self._kill()
        if not line.endswith(b"\n"):
            raise _Ended
        answer: list[Any] = json.loads(line)
        return answer

    def _kill(self) -> None:
        self._end()
        self._process = None


class RemoteTokenizer:
    """What `TextTokenizer` needs of `tokenizers.Tokenizer`, from a process.

    Args:
        client: the process.
        side: 0, or 1 for the target of a translator.
    """

    def __init__(self, client: Client, side: int) -> None:
        self._client, self._side = client, side
        self._spellings: dict[int, str | None] = {}

    def encode(self, *texts: str) -> Encoding:
        """Encode a text or a pair."""
        return Encoding(*self._client.call("encode", self._side, *texts))

    def reference(self, *texts: str) -> dict[str, list[int]]:
        """Return what transformers' own tokenizer makes of a text."""
        found: dict[str, list[int]] = self._client.call("reference", self._side, *texts)
        return found

    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str:
        """Decode ids; special tokens are always skipped."""
        assert skip_special_tokens  # noqa: S101 - as `TextTokenizer` calls it
        text: str = self._client.call("decode", self._side, [int(each) for each in ids])
        return text

    def token_to_id(self, spelling: str) -> int | None:
        """Return the id of a token; None if the vocabulary does not contain it."""
        number: int | None = self._client.call("token_to_id", self._side, spelling)
        return number

    def id_to_token(self, number: int) -> str | None:
        """Return the token of an id; None if the vocabulary does not contain it."""
        if number not in self._spellings:
            self._spellings[number] = self._client.call("id_to_token", self._side, int(number))
        return self._spellings[number]

    @property
    def special_ids(self) -> Sequence[int]:
        """The ids of the special tokens."""
        return self._client.sides[self._side].special


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # a request that was not written yet
                pipe.close()
    process.wait()
