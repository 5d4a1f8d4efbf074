"""A process that opens the tokenizer of one folder and applies it to texts, within limits.

`tokenizer.json` is effectively a program: a chain of `Replace` normalizers can expand one letter to any
length, when a text is tokenized or even when the file is opened. `tokenizer_client` starts this process and
exchanges JSON lines with it: a request is [method, *arguments], an answer is ["done", result] or ["failed",
error, message].
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

CPU_SECONDS = 10
"""The CPU time limit of one request."""

MEMORY_BYTES = 2 * 10**9
"""The memory that the process may allocate after its imports."""


def main() -> None:
    """Serve requests from standard input until it is closed."""
    folder, token_limit = Path(sys.argv[1]), int(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # keeps the output of libraries out of the answers

    def answer(*message: object) -> None:
        print(json.dumps(message), file=answers, flush=True)

    tokenizer.import_for(folder)
    _limit_memory()
    answer("done", None)  # the imports are done; the client's timeout starts now
    worker = Worker(folder, token_limit)
    for line in sys.stdin:
        method, *arguments = json.loads(line)
        _limit_cpu_time()
        try:
            answer("done", getattr(worker, method)(*arguments))
        except AttnvizError as error:
            answer("failed", type(error).__name__, str(error))
        except MemoryError:
            raise  # the client notices the end of the process
        except BaseException as error:  # noqa: BLE001 - a panic in Rust is not an `Exception`
            answer("failed", type(error).__name__, "")


class Worker:
    """The methods that a client may call; `open` must be called first."""

    def __init__(self, folder: Path, token_limit: int) -> None:
        self._folder, self._token_limit = folder, token_limit

    def open(self) -> tuple[object, ...]:
        """Open the tokenizer, and return its description."""
        self._tokenizer = tokenizer.in_folder(self._folder, self._token_limit)
        return self._tokenizer.described()

    def encode(self, target: bool, *texts: str) -> list[list[Any]]:
        """Return a text or a pair as the fields of `Encoded`; only the ids if there are too many tokens."""
        found = self._tokenizer.encoded(*texts, target=target)
        if len(found) > self._token_limit:
            return [found.ids]
        return [
            *(found.ids, found.type_ids, found.offsets),
            *(found.word_ids, found.sequence_ids, found.special_tokens_mask),
        ]

    def decode(self, ids: list[int]) -> str:
        """Decode ids without special tokens."""
        return str(self._tokenizer.inner.decode(ids, skip_special_tokens=True))

    def token_to_id(self, spelling: str) -> int | None:
        """Return the id of a token; None if the vocabulary does not contain it."""
        found: int | None = self._tokenizer.inner.token_to_id(spelling)
        return found

    def id_to_token(self, number: int) -> str | None:
        """Return the token of an id; None if the vocabulary does not contain it."""
        found: str | None = self._tokenizer.inner.id_to_token(number)
        return found


def _limit_memory() -> None:
    """Limit the address space, and let the kernel end this process first when memory is short."""
    with suppress(ImportError, OSError, ValueError):  # only Linux supports all of this
        import resource

        Path("/proc/self/oom_score_adj").write_text("1000")
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + MEMORY_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _limit_cpu_time() -> None:
    with suppress(ImportError, OSError, ValueError):  # Windows has no `resource`
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + CPU_SECONDS + 1, hard))
