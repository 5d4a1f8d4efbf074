"""Describe models on the Hugging Face hub without their weights, and download them."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from attnviz.errors import ModelFilesDamaged, ModelNotReachable, ModelNotSupported, quoted
from attnviz.models import config, folder, hub_files, limits, tokenizer, weights
from attnviz.models.catalogue import Downloaded, Entry, Facts, Hub
from attnviz.models.limits import DType

Progress = Callable[[int, int], None]
"""Called with the received bytes and the total; an exception from it stops the download."""

_ID = re.compile(r"[^\W_][\w.-]{0,95}/[^\W_][\w.-]{0,95}", re.ASCII)
_REVISION = re.compile(r"[^\W_][\w./-]{0,99}", re.ASCII)
_LATEST = "main"

_download_lock = threading.Lock()  # held during a download


@dataclass(frozen=True)
class Listing:
    """The hub's record of a model.

    Attributes:
        commit: the commit of the repository.
        facts: the facts from the config of the model.
        small, weights: names and sizes in bytes of the files to download.
        parameters: the number of parameters by dtype, from the headers of the weight files.
        snapshot: the folder in the cache for all files; it already has some of `small`.
    """

    commit: str
    facts: Facts
    small: tuple[tuple[str, int], ...]
    weights: tuple[tuple[str, int], ...]
    parameters: Counter[str]
    snapshot: Path

    @property
    def files(self) -> tuple[tuple[str, int], ...]:
        """All files to download, the weights last."""
        return self.small + self.weights


def is_id(name: str) -> bool:
    """Return whether a name has the form of a model id: "owner/name", optionally with "@revision"."""
    repository, at, revision = name.partition("@")
    return (
        _ID.fullmatch(repository) is not None
        and not any(part in repository for part in ("..", "--"))
        and not repository.endswith((".", "-", ".git"))
        and (not at or _REVISION.fullmatch(revision) is not None)
        and not any(part in revision for part in ("..", "//"))
    )


def entry(identifier: str, name: str, dtype: DType = "float32") -> Entry:
    """Return the description of a model by id, before its weights are downloaded or loaded.

    The hub is queried only if files are missing on this machine: a downloaded model does not change and needs
    no network.

    Args:
        identifier: "owner/name" or "owner/name@revision".
        name: the model's name in the entry and in messages.

    Raises:
        UnknownModel: the hub has no such model or revision, or it is private.
        ModelNotReachable: there is no network or no permission, or the hub fails.
        ModelFilesDamaged, ModelNotSupported, ModelTooLarge: the model cannot be opened; see the message.
    """
    repository, revision = _parts(identifier)
    cached = _cached(repository, revision)
    if cached is not None:
        found = folder.entry(cached, name, dtype)
        downloaded = Downloaded(cached, found.fingerprint, repository, cached.name)
        return replace(found, title=name, origin=downloaded)
    listing = _listing(repository, revision, name, dtype)
    limits.check(listing.parameters.total(), dtype)
    size = sum(size for file, size in listing.files if not (listing.snapshot / file).exists())
    found = folder.described(
        name, name, listing.facts, listing.parameters, dtype, Hub(repository, listing.commit, size)
    )
    return replace(found, pairs=listing.facts.may_read_pairs)  # may be wrong: it depends on the tokenizer


def download(identifier: str, name: str, progress: Progress, dtype: DType = "float32") -> None:
    """Download a model's files into the cache that all Hugging Face libraries share.

    Args:
        identifier: "owner/name" or "owner/name@revision".
        name: the model's name, for messages.
        progress: called with the progress; an exception from it stops the download and leaves no partial
            file.

    Raises:
        AttnvizError: as for `entry`.
    """
    repository, revision = _parts(identifier)
    listing = _listing(repository, revision, name, dtype)
    limits.check(listing.parameters.total(), dtype)
    total, before = sum(size for _, size in listing.files), 0

    def report(received: int) -> None:
        progress(before + received, total)

    while not _download_lock.acquire(timeout=0.2):
        report(0)  # lets the user stop a waiting download
    try:
        with hub_files.plain_http():
            for file, size in listing.files:
                report(0)
                if (file, size) == listing.weights[0] and not listing.facts.is_vision_model:
                    # Check that the tokenizer can be opened before downloading gigabytes.
                    tokenizer.guarded_in_folder(listing.snapshot, listing.facts.token_limit)
                hub_files.fetch(repository, file, listing.commit, name, report)
                before += size
        report(0)
    finally:
        _download_lock.release()


@lru_cache(maxsize=32)
def fetch_listing(repository: str, revision: str, name: str, dtype: DType = "float32") -> Listing:
    """Fetch a model's list of files, its config and the headers of its weights: a few kilobytes in total.

    Raises:
        AttnvizError: as for `entry`.
    """
    commit, sizes = hub_files.list_files(repository, revision, name)
    if weights.FILE not in sizes and weights.INDEX not in sizes:
        raise weights.missing_weights_error(sizes, name)
    if config.FILE not in sizes:
        raise ModelFilesDamaged(f"{quoted(name)} has no {config.FILE}, and is not a transformers model.")
    small = (config.FILE, "tokenizer_config.json", *config.IMAGE_PROCESSOR_FILES, weights.INDEX)
    for file in small:
        if sizes.get(file, 0) > config.MAX_BYTES:
            raise ModelFilesDamaged(f"{file} of {quoted(name)} is too large: {sizes[file]:,} bytes.")
    # The config is fetched by the revision's name, so that the cache stores the commit for that name.
    snapshot = hub_files.fetch(repository, config.FILE, revision, name).parent
    if snapshot.name != commit:
        raise ModelNotReachable(f"{quoted(name)} has just changed on the hub. Try again.")
    for file in small[1:]:
        if file in sizes:
            hub_files.fetch(repository, file, commit, name)
    parts = weights.weight_files(sizes, snapshot, name)
    # A stored parameter takes at most 4 bytes, so models that are far too large are rejected here.
    limits.check(sum(sizes[file] for file in parts) // limits.BYTES_PER_PARAMETER["float32"], dtype)
    facts = config.facts(snapshot, name)
    if not facts.is_vision_model:
        tokenizer.check_files(sizes, snapshot, name)
    tokenizers = (tokenizer.FILE,) if tokenizer.FILE in sizes else tokenizer.FILES
    return Listing(
        commit=commit,
        facts=facts,
        small=tuple(
            (file, sizes[file]) for file in (config.FILE, *tokenizers, *folder.SETTINGS) if file in sizes
        ),
        weights=tuple((file, sizes[file]) for file in parts),
        parameters=sum(
            (hub_files.count_parameters(repository, file, commit, name, facts.part) for file in parts),
            Counter(),
        ),
        snapshot=snapshot,
    )


def _parts(identifier: str) -> tuple[str, str]:
    """Return (repository, revision)."""
    repository, _, revision = identifier.partition("@")
    return repository, revision or _LATEST


def _listing(repository: str, revision: str, name: str, dtype: DType) -> Listing:
    """Return the hub's record of a model, cached until its files are deleted."""
    listing = fetch_listing(repository, revision, name, dtype)
    if not (listing.snapshot / config.FILE).exists():
        fetch_listing.cache_clear()
        listing = fetch_listing(repository, revision, name, dtype)
    return listing


def _cached(repository: str, revision: str) -> Path | None:
    """Return the folder in the cache with all files of a model; None if a file is missing."""
    found = hub_files.cached(repository, config.FILE, revision)
    if found is None:
        return None
    files = {file.name for file in found.parent.iterdir() if file.exists()}
    if files.isdisjoint({*tokenizer.FILES, *config.IMAGE_PROCESSOR_FILES}):
        return None
    try:
        weights.weight_files(files, found.parent, repository)
    except (ModelFilesDamaged, ModelNotSupported):
        return None
    return found.parent
