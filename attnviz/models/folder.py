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
    *config.IMAGE_PROCESSOR_FILES,
)
"""Optional files that are read in addition to config, weights and tokenizer; none of them is code."""


def entry(folder: Path, name: str, dtype: DType = "float32") -> Entry:
    """Return the description of the model in a folder without loading its weights.

    The result is cached until a file in the folder changes.

    Args:
        name: the model's name in the entry and in messages.

    Raises:
        UnknownModel: there is no such folder.
        ModelFilesDamaged: a file is missing, damaged, or a link to a place outside the folder.
        ModelNotSupported: the model is not supported; see the message.
        ModelTooLarge: it is larger than `limits.max_bytes`.
    """
    if not folder.is_dir():
        raise UnknownModel(f"There is no folder {quoted(name)}. Check its path, or choose another model.")
    found = _entry(folder, name, fingerprint(folder, name), dtype)
    limits.check(found.parameters or 0, dtype)
    return found


def fingerprint(folder: Path, name: str) -> str:
    """Return a digest of the names, sizes and modification times of the files in a folder.

    It is part of the key of everything that is cached for a model (its entry, tokenizer, weights, traces).

    Raises:
        ModelFilesDamaged: the folder cannot be read.
    """
    try:
        files = [(file.name, file.stat()) for file in sorted(folder.iterdir()) if file.is_file()]
    except OSError as error:
        raise ModelFilesDamaged(f"The folder {quoted(name)} cannot be read ({error.strerror}).") from error
    lines = (f"{file} {stat.st_size} {stat.st_mtime_ns}" for file, stat in files)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def described(
    name: str, title: str, facts: Facts, counts: Counter[str], dtype: DType, origin: Folder | Hub | Borrowed
) -> Entry:
    """Return the entry of a model with these facts; `pairs`, which depends on the tokenizer, is False.

    Args:
        counts: the number of parameters, by stored dtype.
    """
    stored = " and ".join(kind for kind, count in counts.most_common() if count) or dtype
    return Entry(
        name=name,
        title=title,
        description=_description(facts, counts.total(), stored, dtype),
        engine="transformers",
        parameters=counts.total(),
        stored=stored,
        dtype=dtype,
        origin=origin,
        **vars(facts),
    )


@lru_cache(maxsize=32)
def _entry(folder: Path, name: str, digest: str, dtype: DType) -> Entry:
    files = {file.name for file in folder.iterdir() if file.is_file()}
    for file in sorted(files & {config.FILE, weights.FILE, weights.INDEX, *tokenizer.FILES, *SETTINGS}):
        _check_links(folder, file, name)
    if weights.ADAPTER in files:  # transformers would load another model, which the adapter names
        raise weights.missing_weights_error({weights.ADAPTER}, name)
    if config.FILE not in files:
        raise ModelFilesDamaged(
            f"The folder {quoted(name)} has no {config.FILE}, so it is not a transformers model. "
            "Choose a folder written by save_pretrained."
        )
    facts = config.facts(folder, name)
    counts: Counter[str] = Counter()
    for file in weights.weight_files(files, folder, name):
        _check_links(folder, file, name)
        counts += weights.count_parameters(folder / file, f"{file} of {quoted(name)}", facts.part)
    found = described(name, Path(name).name or name, facts, counts, dtype, Folder(folder, digest))
    if not facts.is_vision_model:
        tokenizer.check_files(files, folder, name)
    if found.is_text_model:
        found = replace(found, pairs=facts.may_read_pairs and reads_pairs(tokenizer.tokenizer_of(found)))
    return found


def _check_links(folder: Path, file: str, name: str) -> None:
    """Raise unless a file is in the folder, or is a link from the folder to the hub's cache."""
    own, target = folder.resolve(), (folder / file).resolve()
    cache = own.parent.parent / "blobs" if own.parent.name == "snapshots" else own
    if not (target.is_relative_to(own) or target.is_relative_to(cache)):
        raise ModelFilesDamaged(
            f"{file} in {quoted(name)} links to a file outside the folder. Replace the link with the file."
        )


def reads_pairs(text_tokenizer: tokenizer.TextTokenizer) -> bool:
    """Return whether the tokenizer adds special tokens for a second sentence, as BERT's does."""
    for sample in ("a", "ACGTACGT"):  # tokenizers for DNA and proteins drop lower-case letters
        try:
            one, two = (
                sum(token.special for token in text_tokenizer.tokens(sample, second))
                for second in (None, sample)
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
        count = len(facts.without_weights)
        layers = f"{layers} ({count} of them without attention weights)"
    note = families.NOTES.get(facts.family, "")
    return (
        f"A model of the family {facts.family}: {layers} with {plural(facts.heads, 'head')} each, "
        f"{rounded_count(parameters)} parameters{_precision(stored, dtype)}. {note}"
    ).rstrip()


def _precision(stored: str, dtype: DType) -> str:
    """Return a text about the stored dtype and the dtype in which the model runs, unless both are float32."""
    if stored == dtype == "float32":
        return ""
    dtypes = f", stored in {stored} and run in {dtype}"
    if dtype == "float32":
        return dtypes
    return f"{dtypes}: values that a page recomputes can differ from the model's own values"
