"""Single files of the Hugging Face hub: listed, read in part, or downloaded; and what can go wrong then."""

from __future__ import annotations

import json
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attnviz.errors import AttnvizError, ModelFilesDamaged, ModelNotReachable, UnknownModel, quoted
from attnviz.models import weights

TIMEOUT_SECONDS = 5.0
"""How long the hub may take to answer before it counts as out of reach."""

ProgressCallback = Callable[[int], None]
"""Called with the number of bytes received; an exception from it ends the download."""

_LOG_IN = "log in on this machine with “hf auth login”"
_LIBRARY_NAME = "attnviz"
_FIRST_BYTES = 100_000  # of a weights file, in the first request: most headers are shorter
_A_PART = 206  # HTTP's status for an answer with a part of a file


def endpoint() -> str:
    """The hub's address: huggingface.co, or HF_ENDPOINT."""
    from huggingface_hub import constants

    return constants.ENDPOINT


def listed(repository: str, revision: str, name: str) -> tuple[str, dict[str, int]]:
    """(commit, bytes of each file) of a repository, from the hub.

    Args:
        repository: "owner/name".
        revision: a branch, a tag or a commit.
        name: what messages call it.

    Raises:
        UnknownModel, ModelNotReachable: see `in_our_words`.
    """
    from huggingface_hub import HfApi

    with in_our_words(name):
        api = HfApi(endpoint=endpoint(), library_name=_LIBRARY_NAME)
        found = api.model_info(repository, revision=revision, files_metadata=True, timeout=TIMEOUT_SECONDS)
    return str(found.sha), {file.rfilename: file.size or 0 for file in found.siblings or ()}


def cached(repository: str, file: str, revision: str) -> Path | None:
    """The path of a file of that revision on this machine, or None. Makes no request."""
    from huggingface_hub import constants, try_to_load_from_cache

    found = try_to_load_from_cache(repository, file, constants.HF_HUB_CACHE, revision)
    return Path(found) if isinstance(found, str) else None


def fetched(
    repository: str, file: str, revision: str, name: str, came: ProgressCallback | None = None
) -> Path:
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
            library_name=_LIBRARY_NAME,
            etag_timeout=TIMEOUT_SECONDS,
            tqdm_class=_bar(came),
        )
    return Path(found)


def learned_numbers(repository: str, file: str, size: int, commit: str, name: str, part: str) -> Counter[str]:
    """How many learned numbers a file of weights on the hub holds, by precision; only its header comes.

    The header is put before as many empty bytes as the file has (on common disks these take no room), so that
    `weights.learned_numbers` checks it as it checks a whole file.

    Raises:
        ModelFilesDamaged, ModelNotSupported: as `weights.learned_numbers`.
        UnknownModel, ModelNotReachable: see `in_our_words`.
    """
    from huggingface_hub import hf_hub_url

    with in_our_words(name), tempfile.TemporaryDirectory() as folder:
        url = hf_hub_url(repository, file, revision=commit, endpoint=endpoint())
        start = _read_part(url, 0, min(size, _FIRST_BYTES))
        end = 8 + int.from_bytes(start[:8], "little")  # a header begins with its own length
        if end > size:
            raise ModelFilesDamaged(
                f"{file} of {quoted(name)} is damaged: its header claims {end:,} bytes. Download it again."
            )
        if end > weights.MAX_HEADER_BYTES:
            raise weights.too_many_tensors(f"{file} of {quoted(name)}")
        if end > len(start):
            start += _read_part(url, len(start), end)
        copy = Path(folder) / "model.safetensors"
        with copy.open("wb") as opened:
            opened.write(start[:end])
            opened.truncate(size)
        return weights.learned_numbers(copy, f"{file} of {quoted(name)}", part)


def _read_part(url: str, begin: int, end: int) -> bytes:
    """These bytes of a file on the hub, and no others: it may have gigabytes."""
    from huggingface_hub import get_session, hf_raise_for_status
    from huggingface_hub.utils._headers import build_hf_headers

    headers = {
        **build_hf_headers(library_name=_LIBRARY_NAME),
        "Range": f"bytes={begin}-{end - 1}",
        "Accept-Encoding": "identity",
    }
    part = b""
    with get_session().stream("GET", url, headers=headers, timeout=TIMEOUT_SECONDS) as answer:
        hf_raise_for_status(answer)
        if answer.status_code != _A_PART:
            raise OSError("the hub does not send parts of files")
        for chunk in answer.iter_bytes():
            part += chunk
            if len(part) >= end - begin:
                break
    return part[: end - begin]


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


def _bar(came: ProgressCallback | None) -> type[Any]:
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


@contextmanager
def in_our_words(name: str) -> Iterator[None]:
    """What huggingface_hub raises, as errors that a visitor can read.

    Args:
        name: of the requested model.

    Raises:
        UnknownModel: the hub has no such model or revision, or shows it to its owner alone.
        ModelNotReachable: there is no network, or no permission, or the hub fails.
    """
    from huggingface_hub import errors

    model = quoted(name)
    try:
        yield
    except AttnvizError:
        raise
    except errors.GatedRepoError as error:
        raise ModelNotReachable(
            f"{model} is given only to those who have agreed to its conditions. Agree to them on its page on "
            f"the hub, {_LOG_IN}, and try again."
        ) from error
    except errors.RevisionNotFoundError as error:
        raise UnknownModel(f"The hub has this model, but no such revision of it: {model}.") from error
    except errors.RepositoryNotFoundError as error:
        raise UnknownModel(
            f"The hub has no model {model}, or it is private. Check the spelling; for a private one, "
            f"{_LOG_IN}."
        ) from error
    except errors.RemoteEntryNotFoundError as error:
        raise ModelNotReachable(f"A file of {model} has just gone from the hub. Try again.") from error
    except errors.HfHubHTTPError as error:
        raise ModelNotReachable(_refused(model, error.response.status_code)) from error
    except errors.OfflineModeIsEnabled as error:
        raise ModelNotReachable(
            f"{model} is not on this machine, and attnviz is offline (HF_HUB_OFFLINE). "
            "Download it elsewhere and open its folder, or start attnviz without that setting."
        ) from error
    # `errors.HTTPError` is httpx's in huggingface_hub 1 and httpx2's in 2, and is not exported.
    except (errors.HTTPError, errors.LocalEntryNotFoundError) as error:  # type: ignore[attr-defined]
        raise ModelNotReachable(
            f"The hub cannot be reached, so {model} cannot be fetched. Check the network. Without one, "
            "attnviz shows what is on this machine: its own models, folders, and what was downloaded before."
        ) from error
    except (errors.FileMetadataError, json.JSONDecodeError) as error:
        raise ModelNotReachable(
            f"Something else answers in the hub's place, so {model} cannot be fetched. Perhaps this network "
            "wants you to log in first."
        ) from error
    except OSError as error:
        raise ModelNotReachable(
            f"{model} cannot be downloaded: {(error.strerror or str(error)).rstrip('.')}. Its files go to "
            "the folder that HF_HOME names; there must be room, and attnviz must be allowed to write there."
        ) from error


def _refused(model: str, status: int) -> str:
    if status in {401, 403}:
        return f"The hub does not give {model} to this machine. With a token that may read it, {_LOG_IN}."
    if status == 429:
        return f"The hub was asked too often, and does not give {model} now. Wait some minutes."
    return f"The hub fails (error {status}), so {model} cannot be fetched. Try again later."
