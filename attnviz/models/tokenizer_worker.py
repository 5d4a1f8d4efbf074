"""A process that opens the tokenizer of one folder and applies it to texts, within limits.

`tokenizer.json` is a program: a chain of `Replace` normalizers can expand one letter to any length, when a
text is read or already when the file is opened. `tokenizer_client` starts this process and talks to it by
lines of JSON: a request is [method, *arguments], an answer is ["done", result] or ["failed", error, message].
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from attnviz.errors import AttnvizError
from attnviz.models import tokenizer
from attnviz.models.tokenizer import TextTokenizer
from attnviz.models.tokenizer_client import Side

CPU_SECONDS = 10
"""Processor time of one request."""

MEMORY_BYTES = 2 * 10**9
"""Memory that the process may allocate after its imports."""


def main() -> None:
    """Serve requests from standard input until it is closed."""
    folder, token_limit = Path(sys.argv[1]), int(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints is no answer

    def answer(*message: object) -> None:
        print(json.dumps(message), file=answers, flush=True)

    tokenizer.import_for(folder)
    _limit_memory()
    answer("done", None)  # the imports are done: from here on, the client measures the time
    worker = Worker(folder, token_limit)
    for line in sys.stdin:
        method, *arguments = json.loads(line)
        _limit_processor_time()
        try:
            answer("done", getattr(worker, method)(*arguments))
        except AttnvizError as error:
            answer("failed", type(error).__name__, str(error))
        except MemoryError:
            raise  # the client sees that the process has ended
        except BaseException as error:  # noqa: BLE001 - a panic in Rust is not an `Exception`
            answer("failed", type(error).__name__, "")


class Worker:
    """The methods that a client may call, `open` first."""

    def __init__(self, folder: Path, token_limit: int) -> None:
        self._folder, self._token_limit = folder, token_limit
        self._sides: list[TextTokenizer] = []

    def open(self) -> list[Side]:
        """Open the tokenizer, and describe each of its sides."""
        found = tokenizer.in_folder(self._folder, self._token_limit)
        self._sides = [found] if found.of_target is found else [found, found.of_target]
        return [side.side() for side in self._sides]

    def encode(self, side: int, *texts: str) -> list[Any]:
        """Encode a text or a pair; of too many tokens, return their number alone."""
        found = self._sides[side].inner.encode(*texts)
        if len(found) > self._token_limit:
            return [len(found)]
        return [
            *(len(found), found.ids, found.offsets, found.word_ids, found.sequence_ids),
            *(found.special_tokens_mask, found.type_ids),
        ]

    def reference(self, side: int, *texts: str) -> dict[str, list[int]]:
        """Return what transformers' own tokenizer makes of a text."""
        reads = self._sides[side].reads
        assert reads is not None  # noqa: S101 - as `Side.reads`
        found = reads(*texts)
        return {name: list(found[name]) for name in ("input_ids", "token_type_ids") if name in found}

    def decode(self, side: int, ids: list[int]) -> str:
        """Decode ids without special tokens."""
        return str(self._sides[side].inner.decode(ids, skip_special_tokens=True))

    def token_to_id(self, side: int, spelling: str) -> int | None:
        """Return the id of a token; None if the vocabulary does not contain it."""
        found: int | None = self._sides[side].inner.token_to_id(spelling)
        return found

    def id_to_token(self, side: int, number: int) -> str | None:
        """Return the token of an id; None if the vocabulary does not contain it."""
        found: str | None = self._sides[side].inner.id_to_token(number)
        return found


def _limit_memory() -> None:
    """Limit the address space, and let the kernel end this process first when memory is short."""
    with suppress(ImportError, OSError, ValueError):  # Linux alone has all of this
        import resource

        Path("/proc/self/oom_score_adj").write_text("1000")
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + MEMORY_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _limit_processor_time() -> None:
    with suppress(ImportError, OSError, ValueError):  # Windows has no limits
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + CPU_SECONDS + 1, hard))
