"""A model that somebody saved in a folder, known from its config and the headers of its weights."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from attnviz.errors import AttnvizError, ModelFilesDamaged, ModelNotSupported, UnknownModel, quoted
from attnviz.models import config, headers, limits
from attnviz.models.catalogue import Entry, Folder, Hub
from attnviz.models.config import Facts
from attnviz.models.text import Reader, reader
from attnviz.text import plural, rounded_count

WEIGHTS = "model.safetensors"
SHARDS = "model.safetensors.index.json"
"""Which part of the weights lies in which file, where one file would be too large."""

TOKENIZER = "tokenizer.json"

TOKENIZERS = (
    TOKENIZER,
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
    "tokenizer.model",
    "sentencepiece.bpe.model",
    "source.spm",
    "target.spm",
)
"""What tokenizers are saved as; one of these is needed, and all that are there are read."""

SETTINGS = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "generation_config.json",
    "preprocessor_config.json",
)
"""What else is read, where it is there. Nothing else in a folder is, and no code."""

_ADAPTER = "adapter_config.json"
_SHARD = re.compile(r"\w[\w.-]*\.safetensors", re.ASCII)

# Weights that attnviz does not read, by the ends of their files' names.
_PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")
_OF_OTHERS = {".gguf": "llama.cpp", ".h5": "TensorFlow", ".msgpack": "JAX", ".onnx": "ONNX", ".npz": "numpy"}


def entry(folder: Path, name: str) -> Entry:
    """What is known of the model in a folder, before its weights are loaded: some milliseconds.

    What was found is kept until a file in the folder changes.

    Args:
        folder: where the model lies.
        name: what the entry and every message call it.

    Raises:
        UnknownModel: there is no such folder.
        ModelFilesDamaged: a file is missing, damaged, or a link that leads out of the folder.
        ModelNotSupported: the model cannot be shown; the message says why.
        ModelTooLarge: it is larger than `limits.most_bytes`.
    """
    if not folder.is_dir():
        raise UnknownModel(f"There is no folder {quoted(name)}. Check its path, or choose another model.")
    found = _known(folder, name, stamp(folder, name))
    limits.check(found.parameters or 0)
    return found


def stamp(folder: Path, name: str) -> str:
    """A digest of the names, sizes and times of the files in a folder.

    Raises:
        ModelFilesDamaged: the folder cannot be looked into.
    """
    try:
        files = [(file.name, file.stat()) for file in sorted(folder.iterdir()) if file.is_file()]
    except OSError as error:
        raise ModelFilesDamaged(f"The folder {quoted(name)} cannot be read ({error.strerror}).") from error
    lines = (f"{file} {seen.st_size} {seen.st_mtime_ns}" for file, seen in files)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def described(
    name: str, title: str, facts: Facts, parameters: int, pairs: bool, origin: Folder | Hub
) -> Entry:
    """The entry of a model of which these facts are known."""
    return Entry(
        name=name,
        title=title,
        description=_description(facts, parameters),
        engine="transformers",
        family=facts.family,
        layers=facts.layers,
        decoder_layers=facts.decoder_layers,
        heads=facts.heads,
        d_model=facts.d_model,
        d_head=facts.d_head,
        token_limit=facts.token_limit,
        window=facts.window,
        parameters=parameters,
        pairs=pairs,
        expects=facts.expects,
        sees=facts.sees,
        origin=origin,
    )


def shards(index: Path, name: str) -> tuple[str, ...]:
    """The files that the index lists, each once.

    Raises:
        ModelFilesDamaged: it lists none, or something that is no plain name of a safetensors file.
    """
    places = config.read_json(index, name).get("weight_map")
    files = {str(file) for file in places.values()} if isinstance(places, dict) else set()
    if not files or not all(_SHARD.fullmatch(file) for file in files):
        raise ModelFilesDamaged(
            f"{SHARDS} of {quoted(name)} does not name the files of its weights. Save or download it again."
        )
    return tuple(sorted(files))


def without_weights(
    files: Iterable[str], name: str, facts: Facts | None = None
) -> ModelFilesDamaged | ModelNotSupported:
    """What to say of a model among whose files there are no safetensors.

    Args:
        files: the names of those that there are.
        name: what the message calls the model.
        facts: what its config says, where that was read.
    """
    ends = {Path(file).suffix.lower() for file in files}
    if _ADAPTER in files:
        return ModelNotSupported(
            f"{quoted(name)} is an adapter, which changes another model. Merge the two (merge_and_unload in "
            "peft), save the result, and open that."
        )
    if ends & set(_PICKLES):
        return ModelNotSupported(
            f"The weights of {quoted(name)} are a pickle, which can run any code when it is read, so attnviz "
            f"reads none. Look for a version with {WEIGHTS}. Or, if you trust this one, convert it once in "
            f"Python, from the old folder or id to a new folder: {conversion(facts)}"
        )
    others = sorted(_OF_OTHERS[end] for end in ends & set(_OF_OTHERS))
    if others:
        return ModelNotSupported(
            f"The weights of {quoted(name)} are made for {others[0]}. attnviz reads {WEIGHTS}; look for a "
            "version that has it."
        )
    return ModelFilesDamaged(
        f"There are no weights in {quoted(name)}: no {WEIGHTS}. Save the model there with save_pretrained."
    )


def conversion(facts: Facts | None) -> str:
    """Python code that saves the model `old` in the folder `new` with all that it needs, its head too.

    Args:
        facts: what its config says; None: the code itself asks the config.
    """
    save = "{}.from_pretrained(old).save_pretrained(new)"
    if facts is None:
        begin = "import transformers; kind = transformers.AutoConfig.from_pretrained(old).architectures[0]"
        names = ["getattr(transformers, kind)", "transformers.AutoTokenizer"]
    else:
        names = [_auto_class(facts), "AutoImageProcessor" if facts.sees else "AutoTokenizer"]
        begin = f"from transformers import {', '.join(names)}"
    return "; ".join([begin, *(save.format(name) for name in names)])


def _auto_class(facts: Facts) -> str:
    """The class of transformers that reads a model together with the head with which it was saved."""
    if facts.expects is None:
        return "AutoModel"
    if facts.expects == "masked":
        return "AutoModelForMaskedLM"
    return "AutoModelForSeq2SeqLM" if facts.layers else "AutoModelForCausalLM"


def check_tokenizer(files: Iterable[str], name: str) -> None:
    """Whether there is a tokenizer among the files.

    Raises:
        ModelFilesDamaged: there is none.
    """
    if not set(files) & set(TOKENIZERS):
        raise ModelFilesDamaged(
            f"There is no tokenizer in {quoted(name)}: no {TOKENIZER}. Save it there too: "
            "AutoTokenizer.from_pretrained(…).save_pretrained(folder)."
        )


@lru_cache(maxsize=32)
def _known(folder: Path, name: str, stamped: str) -> Entry:
    files = {file.name for file in folder.iterdir() if file.is_file()}
    for file in sorted(files & {config.FILE, WEIGHTS, SHARDS, *TOKENIZERS, *SETTINGS}):
        _check_place(folder, file, name)
    if _ADAPTER in files:  # transformers would follow it to another model
        raise without_weights({_ADAPTER}, name)
    if config.FILE not in files:
        raise ModelFilesDamaged(
            f"The folder {quoted(name)} has no {config.FILE}, so it is no transformers model. "
            "Choose the folder that save_pretrained has written."
        )
    facts = config.facts(folder, name)
    parameters = _parameters(folder, files, name, facts)
    pairs = False
    if not facts.sees:
        check_tokenizer(files, name)
        pairs = _joins(reader(folder, facts.token_limit, stamped)) and facts.joins
    return described(name, Path(name).name or name, facts, parameters, pairs, Folder(folder, stamped))


def _parameters(folder: Path, files: set[str], name: str, facts: Facts) -> int:
    """How many numbers the model has learned, from the headers of its weights."""
    if WEIGHTS in files:
        weights: tuple[str, ...] = (WEIGHTS,)
    elif SHARDS in files:
        weights = shards(folder / SHARDS, name)
    else:
        raise without_weights(files, name, facts)
    counted = 0
    for file in weights:
        if file not in files:
            raise ModelFilesDamaged(
                f"{file} is missing in {quoted(name)}: a part of its weights. Copy or download it again."
            )
        _check_place(folder, file, name)
        try:
            with (folder / file).open("rb") as opened:
                size = (folder / file).stat().st_size
                counted += headers.read(opened, size, f"{file} of {quoted(name)}").parameters
        except OSError as error:
            raise ModelFilesDamaged(f"{file} of {quoted(name)} cannot be read ({error.strerror}).") from error
    return counted


def _check_place(folder: Path, file: str, name: str) -> None:
    """Whether a file lies in the folder itself, or where the hub's cache keeps what its folders link to."""
    home, place = folder.resolve(), (folder / file).resolve()
    cached = home.parent.parent / "blobs" if home.parent.name == "snapshots" else home
    if not (place.is_relative_to(home) or place.is_relative_to(cached)):
        raise ModelFilesDamaged(
            f"{file} in {quoted(name)} is a link that leads out of the folder. Put the file itself there."
        )


def _joins(read: Reader) -> bool:
    """Whether the tokenizer sets special tokens of its own around a second sentence, as BERT's does."""
    try:
        one, two = (sum(token.special for token in read.tokens("a", second)) for second in (None, "a"))
    except AttnvizError:
        return False  # a tokenizer of its own kind, which drops letters
    return two > one > 0


def _description(facts: Facts, parameters: int) -> str:
    """What a visitor reads first."""
    if facts.layers and facts.decoder_layers:
        layers = f"an encoder of {facts.layers} and a decoder of {plural(facts.decoder_layers, 'layer')}"
    else:
        layers = plural(facts.layers or facts.decoder_layers, "layer")
    return (
        f"A model of the family {facts.family}: {layers} with {plural(facts.heads, 'head')} each, "
        f"{rounded_count(parameters)} learned numbers."
    )
