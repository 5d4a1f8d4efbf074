"""A model in a folder, described by its config and the headers of its weights."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from attnviz.errors import AttnvizError, ModelFilesDamaged, UnknownModel, quoted
from attnviz.models import config, families, limits, tokenizer, weights
from attnviz.models.catalogue import Borrowed, Entry, Facts, Folder, Hub
from attnviz.models.limits import DType
from attnviz.text import plural, rounded_count

SETTINGS = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "generation_config.json",
    *config.OF_PICTURES,
)
"""The files that are read besides config, weights and tokenizer, if present. No others are, and no code."""


def entry(folder: Path, name: str, dtype: DType = "float32") -> Entry:
    """Return the description of the model in a folder, without loading its weights, in some milliseconds.

    The result is cached until a file in the folder changes.

    Args:
        name: the model's name in the entry and in messages.

    Raises:
        UnknownModel: there is no such folder.
        ModelFilesDamaged: a file is missing, damaged, or a link to outside of the folder.
        ModelNotSupported: the model is not supported; see the message.
        ModelTooLarge: it is larger than `limits.max_bytes`.
    """
    if not folder.is_dir():
        raise UnknownModel(f"There is no folder {quoted(name)}. Check its path, or choose another model.")
    found = _entry(folder, name, fingerprint(folder, name), dtype)
    limits.check(found.parameters or 0, dtype)
    return found


def fingerprint(folder: Path, name: str) -> str:
    """Return a digest of the names, sizes and times of the files in a folder, which changes with any of them.

    It is part of the key of everything that is cached for a model (its entry, tokenizer, weights, traces).

    Raises:
        ModelFilesDamaged: the folder cannot be read.
    """
    try:
        files = [(file.name, file.stat()) for file in sorted(folder.iterdir()) if file.is_file()]
    except OSError as error:
        raise ModelFilesDamaged(f"The folder {quoted(name)} cannot be read ({error.strerror}).") from error
    lines = (f"{file} {seen.st_size} {seen.st_mtime_ns}" for file, seen in files)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def described(
    name: str, title: str, facts: Facts, learned: Counter[str], dtype: DType, origin: Folder | Hub | Borrowed
) -> Entry:
    """Return the entry of a model with these facts, without those that depend on its tokenizer.

    `learned`: the number of parameters, by the dtype in which they are stored.
    """
    stored = " and ".join(kind for kind, count in learned.most_common() if count) or dtype
    return Entry(
        name=name,
        title=title,
        description=_description(facts, learned.total(), stored, dtype),
        engine="transformers",
        parameters=learned.total(),
        stored=stored,
        dtype=dtype,
        origin=origin,
        **vars(facts),
    )


@lru_cache(maxsize=32)
def _entry(folder: Path, name: str, of_files: str, dtype: DType) -> Entry:
    files = {file.name for file in folder.iterdir() if file.is_file()}
    for file in sorted(files & {config.FILE, weights.FILE, weights.INDEX, *tokenizer.FILES, *SETTINGS}):
        _check_place(folder, file, name)
    if weights.ADAPTER in files:  # transformers would load another model, which it names
        raise weights.without_weights({weights.ADAPTER}, name)
    if config.FILE not in files:
        raise ModelFilesDamaged(
            f"The folder {quoted(name)} has no {config.FILE}, so it is not a transformers model. "
            "Choose the folder that save_pretrained has written."
        )
    facts = config.facts(folder, name)
    learned: Counter[str] = Counter()
    for file in weights.files_of_weights(files, folder, name):
        _check_place(folder, file, name)
        learned += weights.learned_numbers(folder / file, f"{file} of {quoted(name)}", facts.part)
    found = described(name, Path(name).name or name, facts, learned, dtype, Folder(folder, of_files))
    if not facts.sees:
        tokenizer.check_files(files, folder, name)
    if found.reads:
        found = replace(found, pairs=facts.joins and joins(tokenizer.tokenizer_of(found)))
    return found


def _check_place(folder: Path, file: str, name: str) -> None:
    """Raise unless a file is in the folder itself, or is the hub cache's target of a link in it."""
    home, place = folder.resolve(), (folder / file).resolve()
    cached = home.parent.parent / "blobs" if home.parent.name == "snapshots" else home
    if not (place.is_relative_to(home) or place.is_relative_to(cached)):
        raise ModelFilesDamaged(
            f"{file} in {quoted(name)} is a link to outside of the folder. Put the file itself there."
        )


def joins(reads: tokenizer.TextTokenizer) -> bool:
    """Return whether the tokenizer adds special tokens around a second sentence, as BERT's does."""
    for sample in (
        "a",
        "ACGTACGT",
    ):  # the second for tokenizers of DNA and proteins, which drop lower-case letters
        try:
            one, two = (
                sum(token.special for token in reads.tokens(sample, second)) for second in (None, sample)
            )
        except (AttnvizError, TypeError, ValueError):
            continue
        return two > one > 0
    return False


def _description(facts: Facts, parameters: int, stored: str, dtype: DType) -> str:
    """Return the model's description for users."""
    if facts.layers and facts.decoder_layers:
        layers = f"an encoder of {facts.layers} and a decoder of {plural(facts.decoder_layers, 'layer')}"
    else:
        layers = plural(facts.layers or facts.decoder_layers, "layer")
    if facts.without_weights:
        few = len(facts.without_weights)
        layers = f"{layers} ({few} of them without attention weights)"
    note = families.NOTES.get(facts.family, "")
    return (
        f"A model of the family {facts.family}: {layers} with {plural(facts.heads, 'head')} each, "
        f"{rounded_count(parameters)} parameters{_precision(stored, dtype)}. {note}"
    ).rstrip()


def _precision(stored: str, dtype: DType) -> str:
    """Return the dtypes in which it is stored and runs, if either is not float32."""
    if stored == dtype == "float32":
        return ""
    both = f", stored in {stored} and run in {dtype}"
    if dtype == "float32":
        return both
    return f"{both}: what a page recomputes from its vectors can differ from the model's own values"
