"""Single files of the Hugging Face hub: listed, read in part, or downloaded into this machine's cache."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnviz.errors import quoted
from attnviz.models import headers
from attnviz.models.hub_words import in_our_words

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PATIENCE_SECONDS = 5.0
"""How long the hub may take to answer before it counts as out of reach."""

Came = Callable[[int], None]
"""Told how many bytes of a file have come; what it raises ends the download."""

_WHO_ASKS = "attnviz"
_FIRST_BYTES = 100_000  # of a weights file, asked for at once: most headers are shorter
_A_PART = 206  # HTTP's status for an answer with a part of a file


def endpoint() -> str:
    """Where the hub answers: at huggingface.co, or where HF_ENDPOINT says."""
    from huggingface_hub import constants

    return constants.ENDPOINT


def listed(repository: str, revision: str, name: str) -> tuple[str, dict[str, int]]:
    """(commit, bytes of each file) of a repository, as the hub says.

    Args:
        repository: "owner/name".
        revision: a branch, a tag or a commit.
        name: what messages call it.

    Raises:
        UnknownModel, ModelNotReachable: see `in_our_words`.
    """
    from huggingface_hub import HfApi

    with in_our_words(name):
        api = HfApi(endpoint=endpoint(), library_name=_WHO_ASKS)
        found = api.model_info(repository, revision=revision, files_metadata=True, timeout=PATIENCE_SECONDS)
    return str(found.sha), {file.rfilename: file.size or 0 for file in found.siblings or ()}


def cached(repository: str, file: str, revision: str) -> Path | None:
    """Where a file of that revision lies on this machine; None: it does not. Asks nobody."""
    from huggingface_hub import constants, try_to_load_from_cache

    found = try_to_load_from_cache(repository, file, constants.HF_HUB_CACHE, revision)
    return Path(found) if isinstance(found, str) else None


def fetched(repository: str, file: str, revision: str, name: str, came: Came | None = None) -> Path:
    """Where a file of that revision lies on this machine, downloaded if it is not there yet.

    Raises:
        UnknownModel, ModelNotReachable: see `in_our_words`.
    """
    from huggingface_hub import constants, hf_hub_download

    with in_our_words(name), _by_plain_http:
        found = hf_hub_download(
            repository,
            file,
            revision=revision,
            cache_dir=constants.HF_HUB_CACHE,
            endpoint=endpoint(),
            library_name=_WHO_ASKS,
            etag_timeout=PATIENCE_SECONDS,
            tqdm_class=_bar(came),
        )
    return Path(found)


def learned(repository: str, file: str, size: int, commit: str, name: str) -> int:
    """How many numbers a file of weights on the hub holds; only its header comes.

    Raises:
        ModelFilesDamaged: it is no safetensors file; see `headers.read`.
        UnknownModel, ModelNotReachable: see `in_our_words`.
    """
    from huggingface_hub import hf_hub_url

    with in_our_words(name):
        url = hf_hub_url(repository, file, revision=commit, endpoint=endpoint())
        with io.BufferedReader(_Remote(url, size), _FIRST_BYTES) as start:
            return headers.read(start, size, f"{file} of {quoted(name)}").parameters


class _ByPlainHttp:
    """Inside, files come by plain HTTP: the hub's faster way has threads of its own, which nothing stops."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = False

    def __enter__(self) -> None:
        from huggingface_hub import constants

        with self._lock:
            if not self._inside:
                self._before, constants.HF_HUB_DISABLE_XET = constants.HF_HUB_DISABLE_XET, True
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        from huggingface_hub import constants

        with self._lock:
            self._inside -= 1
            if not self._inside:
                constants.HF_HUB_DISABLE_XET = self._before


_by_plain_http = _ByPlainHttp()


def _bar(came: Came | None) -> type[Any]:
    """What huggingface_hub takes for a progress bar: it draws nothing, and passes on how far the file is."""

    class Bar:
        def __init__(self, **_: object) -> None:
            self._bytes = 0

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def update(self, more: int) -> None:
            self._bytes += more
            if came is not None:
                came(self._bytes)

    return Bar


class _Remote(io.RawIOBase):
    """A file on the hub, of which only those bytes come that are read."""

    def __init__(self, url: str, size: int) -> None:
        self._url = url
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        from huggingface_hub import get_session, hf_raise_for_status
        from huggingface_hub.utils._headers import build_hf_headers

        wanted = memoryview(buffer).cast("B")
        end = min(self._at + len(wanted), self._size)
        if end == self._at:
            return 0
        asked = {
            **build_hf_headers(library_name=_WHO_ASKS),
            "Range": f"bytes={self._at}-{end - 1}",
            "Accept-Encoding": "identity",
        }
        came = 0
        with get_session().stream("GET", self._url, headers=asked, timeout=PATIENCE_SECONDS) as answer:
            hf_raise_for_status(answer)
            if answer.status_code != _A_PART:  # but the whole file, which may have gigabytes
                raise OSError("the hub does not send parts of files")
            for chunk in answer.iter_bytes():
                piece = chunk[: len(wanted) - came]
                wanted[came : came + len(piece)] = piece
                came += len(piece)
        self._at += came
        return came
