"""Models on the Hugging Face hub: what is known of one before its weights come, and the download."""

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
"""Called with the bytes received and the total; an exception from it ends the download."""

_ID = re.compile(r"[^\W_][\w.-]{0,95}/[^\W_][\w.-]{0,95}", re.ASCII)
_REVISION = re.compile(r"[^\W_][\w./-]{0,99}", re.ASCII)
_LATEST = "main"

_one_at_a_time = threading.Lock()  # one model is downloaded, and the others wait


@dataclass(frozen=True)
class Listing:
    """The hub's record of a model.

    Attributes:
        commit: which state of the repository it is.
        facts: the contents of its config.
        small, weights: (name, bytes) of the files that are downloaded; no others ever are.
        learned: the number of parameters by precision, from the headers of its weights.
        snapshot: where the small files lie needed for this, and where the others will.
    """

    commit: str
    facts: Facts
    small: tuple[tuple[str, int], ...]
    weights: tuple[tuple[str, int], ...]
    learned: Counter[str]
    snapshot: Path

    @property
    def files(self) -> tuple[tuple[str, int], ...]:
        """All of them, the weights last."""
        return self.small + self.weights


def is_id(name: str) -> bool:
    """Whether this has the form of a model's id: "owner/name", perhaps with "@revision"."""
    repository, at, revision = name.partition("@")
    return (
        _ID.fullmatch(repository) is not None
        and not any(part in repository for part in ("..", "--"))
        and not repository.endswith((".", "-", ".git"))
        and (not at or _REVISION.fullmatch(revision) is not None)
        and not any(part in revision for part in ("..", "//"))
    )


def entry(identifier: str, name: str, dtype: DType = "float32") -> Entry:
    """What is known of a model with that id, before its weights are downloaded or loaded.

    The hub is requested only if not all files are on this machine. So a model
    that was downloaded once stays as it is, and needs no network.

    Args:
        identifier: "owner/name" or "owner/name@revision".
        name: what the entry and every message call it.

    Raises:
        UnknownModel: the hub has no such model or revision, or shows it to its owner alone.
        ModelNotReachable: there is no network, or no permission, or the hub fails.
        ModelFilesDamaged, ModelNotSupported, ModelTooLarge: it cannot be shown; see the message.
    """
    repository, revision = _parts(identifier)
    cached = _cached(repository, revision)
    if cached is not None:
        found = folder.entry(cached, name, dtype)
        downloaded = Downloaded(cached, found.fingerprint, repository, cached.name)
        return replace(found, title=name, origin=downloaded)
    listing = _listing(repository, revision, name, dtype)
    limits.check(listing.learned.total(), dtype)
    size = sum(size for file, size in listing.files if not (listing.snapshot / file).exists())
    found = folder.described(
        name, name, listing.facts, listing.learned, dtype, Hub(repository, listing.commit, size)
    )
    return replace(found, pairs=listing.facts.joins)  # as far as is known without its tokenizer


def download(identifier: str, name: str, progress: Progress, dtype: DType = "float32") -> None:
    """Bring a model's files onto this machine, into the cache that all Hugging Face libraries share.

    Args:
        identifier: "owner/name" or "owner/name@revision".
        name: what messages call it.
        progress: called with the state; an exception from it ends the download, and leaves no partial file.

    Raises:
        AttnvizError: as `entry`.
    """
    repository, revision = _parts(identifier)
    listing = _listing(repository, revision, name, dtype)
    limits.check(listing.learned.total(), dtype)
    total, before = sum(size for _, size in listing.files), 0

    def report(came: int) -> None:
        progress(before + came, total)

    while not _one_at_a_time.acquire(timeout=0.2):
        report(0)  # may end it while it waits
    try:
        with hub_files.plain_http():
            for file, size in listing.files:
                report(0)
                if (file, size) == listing.weights[0] and not listing.facts.sees:
                    # Before gigabytes come for nothing: can the model's texts be read?
                    tokenizer.guarded_in_folder(listing.snapshot, listing.facts.token_limit)
                hub_files.fetched(repository, file, listing.commit, name, report)
                before += size
        report(0)
    finally:
        _one_at_a_time.release()


@lru_cache(maxsize=32)
def look(repository: str, revision: str, name: str, dtype: DType = "float32") -> Listing:
    """Fetch a model's files, its config and the headers of its weights: some kilobytes.

    Raises:
        AttnvizError: as `entry`.
    """
    commit, sizes = hub_files.listed(repository, revision, name)
    if weights.FILE not in sizes and weights.INDEX not in sizes:
        raise weights.without_weights(sizes, name)
    if config.FILE not in sizes:
        raise ModelFilesDamaged(f"{quoted(name)} has no {config.FILE}, so it is no transformers model.")
    small = (config.FILE, "tokenizer_config.json", *config.OF_PICTURES, weights.INDEX)
    for file in small:
        if sizes.get(file, 0) > config.MAX_BYTES:
            raise ModelFilesDamaged(f"{file} of {quoted(name)} is too large: {sizes[file]:,} bytes.")
    # The first one under the revision's own name: the cache then stores which commit that name means.
    snapshot = hub_files.fetched(repository, config.FILE, revision, name).parent
    if snapshot.name != commit:
        raise ModelNotReachable(f"{quoted(name)} has just been changed on the hub. Try again.")
    for file in small[1:]:
        if file in sizes:
            hub_files.fetched(repository, file, commit, name)
    parts = weights.files_of_weights(sizes, snapshot, name)
    # In a file a number takes at most four bytes: what is far too large in memory is known already now.
    limits.check(sum(sizes[file] for file in parts) // limits.BYTES_PER_PARAMETER["float32"], dtype)
    facts = config.facts(snapshot, name)
    if not facts.sees:
        tokenizer.check_files(sizes, snapshot, name)
    tokenizers = (tokenizer.FILE,) if tokenizer.FILE in sizes else tokenizer.FILES
    return Listing(
        commit=commit,
        facts=facts,
        small=tuple(
            (file, sizes[file]) for file in (config.FILE, *tokenizers, *folder.SETTINGS) if file in sizes
        ),
        weights=tuple((file, sizes[file]) for file in parts),
        learned=sum(
            (hub_files.learned_numbers(repository, file, commit, name, facts.part) for file in parts),
            Counter(),
        ),
        snapshot=snapshot,
    )


def _parts(identifier: str) -> tuple[str, str]:
    """(repository, revision)."""
    repository, _, revision = identifier.partition("@")
    return repository, revision or _LATEST


def _listing(repository: str, revision: str, name: str, dtype: DType) -> Listing:
    """The hub's cached record of a model; fetched again after the cache was cleared."""
    listing = look(repository, revision, name, dtype)
    if not (listing.snapshot / config.FILE).exists():
        look.cache_clear()
        listing = look(repository, revision, name, dtype)
    return listing


def _cached(repository: str, revision: str) -> Path | None:
    """The folder in the cache with all files of that model; None where one is missing."""
    found = hub_files.cached(repository, config.FILE, revision)
    if found is None:
        return None
    files = {file.name for file in found.parent.iterdir() if file.exists()}
    if files.isdisjoint({*tokenizer.FILES, *config.OF_PICTURES}):
        return None
    try:
        weights.files_of_weights(files, found.parent, repository)
    except (ModelFilesDamaged, ModelNotSupported):
        return None
    return found.parent
