"""Files on the Hugging Face hub: listing, reading headers, downloading, and translating errors."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attnviz.errors import AttnvizError, ModelFilesDamaged, ModelNotReachable, UnknownModel, quoted
from attnviz.models import weights

TIMEOUT_SECONDS = 5.0
"""Timeout of requests to the hub."""

ProgressCallback = Callable[[int], None]
"""Called with the number of received bytes; an exception from it stops the download."""

_LOG_IN = "log in on this machine with “hf auth login”"
_LIBRARY_NAME = "attnviz"


def endpoint() -> str:
    """Return the hub's URL: HF_ENDPOINT, or huggingface.co."""
    from huggingface_hub import constants

    return constants.ENDPOINT


def list_files(repository: str, revision: str, name: str) -> tuple[str, dict[str, int]]:
    """Return the commit of a repository on the hub, and the size of each file in bytes.

    Args:
        repository: "owner/name".
        revision: a branch, a tag or a commit.
        name: the model's name, for messages.

    Raises:
        UnknownModel, ModelNotReachable: see `translated_errors`.
    """
    from huggingface_hub import HfApi

    with translated_errors(name):
        api = HfApi(endpoint=endpoint(), library_name=_LIBRARY_NAME)
        found = api.model_info(repository, revision=revision, files_metadata=True, timeout=TIMEOUT_SECONDS)
    return str(found.sha), {file.rfilename: file.size or 0 for file in found.siblings or ()}


def cached(repository: str, file: str, revision: str) -> Path | None:
    """Return the path of a file of that revision on this machine, or None; makes no request."""
    from huggingface_hub import constants, try_to_load_from_cache

    found = try_to_load_from_cache(repository, file, constants.HF_HUB_CACHE, revision)
    return Path(found) if isinstance(found, str) else None


def fetch(
    repository: str, file: str, revision: str, name: str, received: ProgressCallback | None = None
) -> Path:
    """Download a file of a revision if necessary, and return its path on this machine.

    Raises:
        UnknownModel, ModelNotReachable: see `translated_errors`.
    """
    from huggingface_hub import constants, hf_hub_download

    with translated_errors(name):
        found = hf_hub_download(
            repository,
            file,
            revision=revision,
            cache_dir=constants.HF_HUB_CACHE,
            endpoint=endpoint(),
            library_name=_LIBRARY_NAME,
            etag_timeout=TIMEOUT_SECONDS,
            tqdm_class=_bar(received),
        )
    return Path(found)


def count_parameters(repository: str, file: str, commit: str, name: str, part: str) -> Counter[str]:
    """Return the number of parameters by dtype in a file of weights on the hub, from its header only.

    Raises:
        ModelFilesDamaged, ModelNotSupported: as for `weights.count_parameters`.
        UnknownModel, ModelNotReachable: see `translated_errors`.
    """
    from huggingface_hub import HfApi, errors

    title = f"{file} of {quoted(name)}"
    with translated_errors(name):
        api = HfApi(endpoint=endpoint(), library_name=_LIBRARY_NAME)
        try:
            header = api.parse_safetensors_file_metadata(repository, file, revision=commit)
        except errors.SafetensorsParsingError as error:
            raise ModelFilesDamaged(
                f"{title} is damaged on the hub. Use another revision or model."
            ) from error
    if len(header.tensors) > weights.MAX_TENSORS:
        raise weights.too_many_tensors(title)
    tensors = ((array, found.dtype, found.parameter_count) for array, found in header.tensors.items())
    return weights.parameter_counts(tensors, title, part)


@contextmanager
def plain_http() -> Iterator[None]:
    """Use plain HTTP for downloads inside this block; only one thread at a time may enter it.

    The hub's faster protocol uses its own threads, which cannot be stopped.
    """
    from huggingface_hub import constants

    before, constants.HF_HUB_DISABLE_XET = constants.HF_HUB_DISABLE_XET, True
    try:
        yield
    finally:
        constants.HF_HUB_DISABLE_XET = before


def _bar(received: ProgressCallback | None) -> type[Any]:
    """Return a progress bar class for huggingface_hub that draws nothing and reports the bytes received."""

    class Bar:
        def __init__(self, **_: object) -> None:
            self._bytes = 0

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def update(self, more: int) -> None:
            self._bytes += more
            if received is not None:
                received(self._bytes)

    return Bar


@contextmanager
def translated_errors(name: str) -> Iterator[None]:
    """Convert errors of huggingface_hub to messages for users.

    Args:
        name: the requested model.

    Raises:
        UnknownModel: the hub has no such model or revision, or it is private.
        ModelNotReachable: there is no network or no permission, or the hub fails.
    """
    from huggingface_hub import errors

    model = quoted(name)
    try:
        yield
    except AttnvizError:
        raise
    except errors.GatedRepoError as error:
        raise ModelNotReachable(
            f"{model} requires agreement to its conditions. Accept them on its page on "
            f"the hub, {_LOG_IN}, and try again."
        ) from error
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError) as error:
        raise UnknownModel(
            f"The hub has no model or revision {model}, or it is private. Check the spelling; "
            f"for a private model, {_LOG_IN}."
        ) from error
    except errors.HfHubHTTPError as error:
        raise ModelNotReachable(
            f"The hub returned error {error.response.status_code} for {model}. If the "
            f"model requires a token with read access, {_LOG_IN}; otherwise, try again later."
        ) from error
    except errors.OfflineModeIsEnabled as error:
        raise ModelNotReachable(
            f"{model} is not on this machine, and attnviz is offline (HF_HUB_OFFLINE). "
            "Download it elsewhere and open its folder, or start attnviz without that setting."
        ) from error
    # `errors.HTTPError` is httpx's in huggingface_hub 1, and httpx2's in 2.
    except (
        errors.HTTPError,  # type: ignore[attr-defined]  # imported there, but not exported
        errors.LocalEntryNotFoundError,
        errors.FileMetadataError,
        json.JSONDecodeError,
    ) as error:
        raise ModelNotReachable(
            f"{model} cannot be downloaded: the Hugging Face hub cannot be reached. Check the network and "
            "its proxy. Without the hub, attnviz can open bundled models, folders and earlier downloads."
        ) from error
    except OSError as error:
        raise ModelNotReachable(
            f"{model} cannot be downloaded: {(error.strerror or str(error)).rstrip('.')}. Its files are "
            "stored in the folder HF_HOME, which must be writable and have enough free space."
        ) from error
