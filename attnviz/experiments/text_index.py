"""An index of a text: what every token does in every head, so that those can be found that are alike.

It lies in memory, or in a folder: `header.json` (what was read with what, and how far) and an array of NumPy
for each thing that is kept, which are read as memory maps. Nothing in the folder is run.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.analysis.entropy import bits
from attnviz.analysis.words import classes
from attnviz.atomic_file import atomic_file
from attnviz.capture import loading
from attnviz.capture.model import Model, ModelInput
from attnviz.capture.states import hearing
from attnviz.errors import AttnvizError, quoted
from attnviz.experiments.corpus import Corpus, broken
from attnviz.experiments.progress import Progress
from attnviz.experiments.sentences import (
    SkippedSentence,
    need_some,
    reader,
    return_freed_memory,
    self_attention,
)
from attnviz.models import resolve
from attnviz.models.catalogue import Entry
from attnviz.text import plural
from attnviz.trace import Block, Counts, Floats, Mask, Token, Trace

Halves = NDArray[np.float16]
Share = Callable[[Callable[[Any], Any], Iterator[Any]], Iterator[Any]]
"""Does a piece of work with each of what is given, as `map` does, in any order."""

MOST_LINES = 10_000
"""How many lines an index has at most."""

MOST_TOKENS = 256
"""How many tokens a line has at most; longer ones are left out."""

VECTORS = ("output", "query", "key", "state")
"""By which of its vectors a token is found: the output is the head's mix of values, the state the layer's."""

HEADER = "header.json"
"""The file that says what an index is of, and how far."""

_AT_ONCE = 16  # lines; more are read no faster
_PART = 64  # lines; those of like length are read at once, so that little is padded
_KEEP_LINES = 512  # after so many the header says how far it is
_FORMAT, _VERSION = "attnviz index", 3
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError)
_MOST_HALF = float(np.finfo(np.float16).max)


@dataclass(frozen=True)
class IndexKey:
    """What is indexed: two of the same hold the same.

    Attributes:
        model: the model's name.
        files: short, and another one as soon as the model's files are others.
        text: the `key` of the corpus.
        layers: which layers are kept, from 0.
    """

    model: str
    files: str
    text: str
    layers: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class TextIndex:
    """What every token of a text does in the heads of some layers; tokens stand in the order of the lines.

    Attributes:
        key: what was read with what.
        lines: the lines that the model reads.
        starts: [line + 1], where the tokens of each line begin, and where the last ones end.
        ids: int32 [token], rows of the vocabulary.
        special: bool [token], whether it was added by the tokenizer.
        classes: int8 [token], to which of `analysis.words.CLASSES` its word belongs, from 1; 0: to none.
        output, query, key_vectors: float16 [layer, head, token, d_head].
        states: float16 [layer, 1, token, d_model], what the layer's attention reads; with d_model 0 where the
            model does not tell it.
        reads: int16 [layer, head, token], the token of its line, from 0, that it looks at most; special ones
            are left out, where many heads rest.
        weight: float16 [layer, head, token], how much it looks there.
        to_special: float16 [layer, head, token], how much it looks at special tokens.
        entropy: float16 [layer, head, token], of its whole row, in bits.
        done: how many lines are read; what belongs to the others is 0.
        skipped: the lines that were left out.
    """

    key: IndexKey
    lines: tuple[str, ...]
    starts: Counts
    ids: NDArray[np.int32]
    special: Mask
    classes: NDArray[np.int8]
    output: Halves
    query: Halves
    key_vectors: Halves
    states: Halves
    reads: NDArray[np.int16]
    weight: Halves
    to_special: Halves
    entropy: Halves
    done: int
    skipped: tuple[SkippedSentence, ...] = field(default=(), repr=False)

    @property
    def tokens(self) -> int:
        """How many tokens are read."""
        return int(self.starts[self.done])

    @property
    def nbytes(self) -> int:
        """How much the arrays take."""
        return sum(getattr(self, name).nbytes for name in _ARRAYS)

    def vectors(self, by: str) -> Halves:
        """[layer, head, token, d_head], one of `VECTORS`; of "state", [layer, 1, token, d_model].

        Raises:
            AttnvizError: there are none.
        """
        found: Halves = getattr(self, {"key": "key_vectors", "state": "states"}.get(by, by))
        if not found.shape[-1]:
            raise AttnvizError(f"{quoted(self.key.model)} does not tell its hidden states.")
        return found

    def line_of(self, token: int) -> tuple[int, int]:
        """In which line a token stands, and as which of its tokens; both from 0."""
        line = int(np.searchsorted(self.starts, token, side="right")) - 1
        return line, token - int(self.starts[line])

    def layer(self, layer: int) -> int:
        """The place of a layer, from 0, in the arrays.

        Raises:
            AttnvizError: it was not kept.
        """
        if layer not in self.key.layers:
            kept = ", ".join(str(each + 1) for each in self.key.layers)
            raise AttnvizError(f"This index has no layer {layer + 1}. It has {kept}.")
        return self.key.layers.index(layer)


_TOKENS = {"ids": np.int32, "special": np.bool_, "classes": np.int8}
_IN_HEADS = {"reads": np.int16, **dict.fromkeys(("weight", "to_special", "entropy"), np.float16)}
_VECTORS = ("output", "query", "key_vectors", "states")
_ARRAYS = (*_TOKENS, *_IN_HEADS, *_VECTORS)


def index(
    corpus: Corpus,
    model: str,
    folder: Path | None = None,
    layers: Sequence[int] | None = None,
    most_bytes: int | None = None,
    share: Share = map,
) -> Iterator[Progress[TextIndex]]:
    """Read a text with a model and keep what its tokens do; `done` and `total` count lines.

    Each step's index is complete in itself for the lines that are read. Memory does not grow with the text
    if it is written to a folder. Broken off, the same call goes on there.

    Whoever reads it, each part stands in its place of the same arrays, so that nothing is merged later.

    Args:
        corpus: one sentence a line; empty lines count for nothing.
        model: as `loading.load` takes it.
        folder: where it is written; None: in memory.
        layers: which are kept, from 0; None: all.
        most_bytes: how much its arrays may take.
        share: who reads the parts of the text, as `on_ray.share` shares them out; `map`: this process.

    Raises:
        AttnvizError: the model cannot be used or reads no line; the text is too long, or the index too large;
            or the folder holds something else.
        OSError: the folder cannot be written, or the disk is full.
    """
    entry, loaded = resolve.entry(model), loading.load(model)
    kind = self_attention(entry)
    loaded.need_vectors()
    kept = tuple(range(entry.layers_of(kind)) if layers is None else sorted(set(layers)))
    _check_layers(entry, kept)
    key = IndexKey(entry.name, entry.files_digest, corpus.key, kept)
    if folder is not None and _begun(folder):
        found = opened(folder, writing=True)
        if found.key != key:
            raise AttnvizError(
                f"{folder} holds the index of another text, or by another model. Choose another folder."
            )
    else:
        found = _tokenized(corpus, loaded, key)
        _, first = _read(model, kept, (0, found.lines[:1]))
        found = _with_room(found, first, folder, most_bytes)
    total, kept_at = len(found.lines), found.done
    yield Progress(found.done, total, found)
    parts = ((start, found.lines[start : start + _PART]) for start in range(found.done, total, _PART))
    ends: dict[int, int] = {}  # of the parts that are read, by where they begin
    try:
        for start, arrays in share(partial(_read, model, kept), parts):
            ends[start] = min(start + _PART, total)
            here = slice(int(found.starts[start]), int(found.starts[ends[start]]))
            for name, array in arrays.items():
                getattr(found, name)[:, :, here] = array
            while found.done in ends:
                found = replace(found, done=ends[found.done])
            return_freed_memory()
            if found.done - kept_at >= _KEEP_LINES:
                _keep(found, folder)
                kept_at = found.done
            yield Progress(found.done, total, found)
    finally:
        _keep(found, folder)


def _tokenized(corpus: Corpus, loaded: Model, key: IndexKey) -> TextIndex:
    """The index without what its tokens do."""
    lines, starts, skipped = list[str](), [0], list[SkippedSentence]()
    ids, special, classed = list[int](), list[bool](), list[int]()
    if corpus.lines > MOST_LINES:
        raise AttnvizError(
            f"{quoted(corpus.name)} has {corpus.lines:,} lines; an index has at most {MOST_LINES:,}. Take a "
            "part of it."
        )
    for line in corpus:
        if not line.strip():
            continue
        try:
            tokens = _tokens(loaded, line)
        except AttnvizError as error:
            skipped.append(SkippedSentence(line, str(error)))
            continue
        lines.append(line)
        starts.append(starts[-1] + len(tokens))
        ids += [token.id for token in tokens]
        special += [token.special for token in tokens]
        classed += classes(tokens, [line]).tolist()
    need_some(len(lines), "lines", skipped)
    nothing: dict[str, Any] = dict.fromkeys((*_IN_HEADS, *_VECTORS), np.zeros((0, 0, 0)))
    return TextIndex(
        key=key,
        lines=tuple(lines),
        starts=np.array(starts, np.int64),
        ids=np.array(ids, np.int32),
        special=np.array(special),
        classes=np.array(classed, np.int8),
        **nothing,  # filled by `_with_room`
        done=0,
        skipped=tuple(skipped),
    )


def _check_layers(entry: Entry, layers: Sequence[int]) -> None:
    every = entry.layers_of(self_attention(entry))
    if not set(layers) <= set(range(every)):
        raise AttnvizError(f"{quoted(entry.name)} has {plural(every, 'layer')}. Choose one of them.")


def _tokens(loaded: Model, line: str) -> tuple[Token, ...]:
    if broken(line):
        raise AttnvizError("This line holds bytes that are not UTF-8.")
    tokens = loaded.tokens(line)
    if len(tokens) > MOST_TOKENS:
        raise AttnvizError(f"This line has {len(tokens):,} tokens; an index takes up to {MOST_TOKENS}.")
    return tokens


def _blocks(entry: Entry, loaded: Model, texts: Sequence[str]) -> Iterator[tuple[Block, ...]]:
    """The attention in each text, layer by layer."""
    traces: Iterator[Trace] = (
        map(reader(entry, loaded), texts)
        if len(entry.kinds) > 1
        else loaded.traces([ModelInput(text) for text in texts])
    )
    return (trace.of_kind(self_attention(entry)) for trace in traces)


def _with_room(
    found: TextIndex, like: dict[str, NDArray[Any]], folder: Path | None, most_bytes: int | None
) -> TextIndex:
    """The index with arrays like those of one line for what all its tokens do, all 0."""
    shapes = {
        name: ((*array.shape[:2], len(found.ids), *array.shape[3:]), array.dtype)
        for name, array in like.items()
    }
    size = sum(int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in shapes.values())
    if most_bytes is not None and size > most_bytes:
        raise AttnvizError(
            f"Of this text {size / 1e6:,.0f} MB would be kept, and here are {most_bytes / 1e6:,.0f} MB. Take "
            f"about {max(1, int(len(found.lines) * most_bytes / size)):,} of its lines."
        )
    arrays: dict[str, Any]
    if folder is None:
        arrays = {name: np.zeros(*each) for name, each in shapes.items()}
        return replace(found, **arrays)
    folder.mkdir(exist_ok=True)
    try:
        for name in _TOKENS:
            np.save(folder / f"{name}.npy", getattr(found, name), allow_pickle=False)
        arrays = {name: _file(folder / f"{name}.npy", *each) for name, each in shapes.items()}
        found = replace(found, **arrays)
        _keep(found, folder)
    except OSError:
        shutil.rmtree(folder)  # which was empty, or not there
        raise
    return found


def _file(file: Path, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """An array of zeros as a file, for which the disk has room: a full disk would end who writes to a map."""
    array = np.lib.format.open_memmap(file, "w+", dtype=dtype, shape=shape)
    if hasattr(os, "posix_fallocate"):
        with file.open("r+b") as opened_file:
            try:
                os.posix_fallocate(opened_file.fileno(), 0, file.stat().st_size)
            except OSError as error:
                error.filename = str(file)
                raise
    return array


def _read(
    model: str, layers: Sequence[int], part: tuple[int, Sequence[str]]
) -> tuple[int, dict[str, NDArray[Any]]]:
    """What the tokens of some lines do.

    Args:
        model: its name.
        part: where the lines begin in the text, and the lines.

    Returns:
        Where they begin, and the arrays of `TextIndex` for these lines alone.
    """
    start, lines = part
    entry, loaded = resolve.entry(model), loading.load(model)
    found: dict[int, dict[str, NDArray[Any]]] = {}
    order = sorted(range(len(lines)), key=lambda at: len(lines[at]))
    for first in range(0, len(order), _AT_ONCE):
        some = order[first : first + _AT_ONCE]
        with hearing() as heard:
            read = list(_blocks(entry, loaded, [lines[at] for at in some]))
        for row, (at, blocks) in enumerate(zip(some, read, strict=True)):
            states = _states(heard, row, blocks, len(some))
            found[at] = _of_line([blocks[layer] for layer in layers], [states[layer] for layer in layers])
    joined = {
        name: np.concatenate([found[at][name] for at in range(len(lines))], axis=2) for name in found[0]
    }
    return start, joined


def _states(heard: Sequence[Any], row: int, blocks: Sequence[Block], rows: int) -> list[Floats]:
    """[1, token, d_model], what each layer read of one of so many lines, read together or one by one."""
    tokens = len(blocks[0].query_tokens)
    if len(heard) < len(blocks):
        return [np.zeros((1, tokens, 0), np.float32)] * len(blocks)
    each, row = (len(heard) // rows * row, 0) if len(heard[0]) < rows else (0, row)
    return [state[row, :tokens].float().cpu().numpy()[None] for state in heard[each : each + len(blocks)]]


def _of_line(blocks: Sequence[Block], states: Sequence[Floats]) -> dict[str, NDArray[Any]]:
    """What one line's tokens do, [layer, head, token, …]."""
    special = np.array([token.special for token in blocks[0].query_tokens])
    pattern = zip(*(patterns(block, special) for block in blocks), strict=True)
    vectors = [[getattr(block, name) for block in blocks] for name in ("output", "query", "key")]
    return {
        **{
            name: np.array(each, dtype)
            for (name, dtype), each in zip(_IN_HEADS.items(), pattern, strict=True)
        },
        **{
            name: np.clip(each, -_MOST_HALF, _MOST_HALF).astype(np.float16)
            for name, each in zip(_VECTORS, (*vectors, states), strict=True)
        },
    }


def patterns(block: Block, special: Mask) -> tuple[NDArray[Any], ...]:
    """What each row of weights comes to, each [head, token]; `special` says which tokens were added.

    Returns:
        `reads`, `weight`, `to_special` and `entropy`, as `TextIndex` has them.
    """
    others = np.where(special, -1, block.weights)
    to_special = block.weights[..., special].sum(axis=-1)
    return others.argmax(axis=-1), np.maximum(others.max(axis=-1), 0), to_special, bits(block.weights)


def _keep(found: TextIndex, folder: Path | None) -> None:
    """Say in the folder how far it is."""
    if folder is None:
        return
    for name in (*_IN_HEADS, *_VECTORS):
        array = getattr(found, name)
        if isinstance(array, np.memmap):
            array.flush()
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "key": asdict(found.key),
        "lines": found.lines,
        "starts": found.starts.tolist(),
        "done": found.done,
        "skipped": [asdict(each) for each in found.skipped],
    }
    with atomic_file(folder / HEADER) as file:
        file.write(json.dumps(header).encode("ascii"))


def _begun(folder: Path) -> bool:
    """Whether an index lies there."""
    if (folder / HEADER).exists():
        return True
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise AttnvizError(f"{folder} is there already and holds no index. Choose another folder.")
    return False


def opened(folder: Path, *, writing: bool = False) -> TextIndex:
    """The index that lies in a folder, as memory maps.

    Raises:
        AttnvizError: there is none, or it is damaged, or of another version.
    """
    called = quoted(folder.absolute().name)  # visitors of a page are not told where it lies
    try:
        header = json.loads((folder / HEADER).read_bytes())
        if header["format"] != _FORMAT:
            raise ValueError(header["format"])
        _check_version(header["version"], called)
        arrays = {
            name: np.load(folder / f"{name}.npy", mmap_mode="r+" if writing else "r", allow_pickle=False)
            for name in _ARRAYS
        }
        key = header["key"]
        found = TextIndex(
            key=IndexKey(key["model"], key["files"], key["text"], tuple(key["layers"])),
            lines=tuple(header["lines"]),
            starts=np.array(header["starts"], np.int64),
            done=int(header["done"]),
            skipped=tuple(SkippedSentence(each["text"], each["why"]) for each in header["skipped"]),
            **arrays,
        )
        _check(found)
    except AttnvizError:
        raise
    except FileNotFoundError as error:
        raise AttnvizError(
            f"{called} holds no index, or not all of one. `attnviz index` makes it."
        ) from error
    except _DAMAGED as error:
        raise AttnvizError(
            f"The index in {called} is damaged. Delete it, and index the text again."
        ) from error
    return found


def _check_version(version: int, called: str) -> None:
    if version != _VERSION:
        raise AttnvizError(f"{called} was written by another version of attnviz. Index the text again.")


def _check(found: TextIndex) -> None:
    """Whether all parts fit each other.

    Raises:
        ValueError, IndexError: they do not.
    """
    tokens, layers = int(found.starts[-1]), len(found.key.layers)
    fits = len(found.starts) == len(found.lines) + 1 and 0 <= found.done <= len(found.lines)
    fits &= bool((np.diff(found.starts) > 0).all())
    fits &= all(getattr(found, name).shape == (tokens,) for name in _TOKENS)
    shape = (layers, found.reads.shape[1], tokens)
    fits &= all(getattr(found, name).shape == shape for name in _IN_HEADS)
    fits &= all(getattr(found, name).shape[:-1] == shape for name in _VECTORS[:-1])
    fits &= found.states.shape[:-1] == (layers, 1, tokens)
    types = {**_TOKENS, **_IN_HEADS, **dict.fromkeys(_VECTORS, np.float16)}
    if not fits or any(getattr(found, name).dtype != dtype for name, dtype in types.items()):
        raise ValueError("The arrays do not fit the header.")


def check_model(found: TextIndex, entry: Entry) -> None:
    """Refuse the index of another model, or of one whose files have changed.

    Raises:
        AttnvizError: it is.
    """
    if entry.files_digest != found.key.files:
        raise AttnvizError(
            f"This index was made with {quoted(found.key.model)}, and not with the files that "
            f"{quoted(entry.name)} has now. Choose that model, or index the text again, to another folder."
        )


def block_of(model: str, text: str, layer: int) -> tuple[Block, Floats]:
    """What one layer, from 0, does in a text, as an index has it, and its states [token, d_model].

    Raises:
        AttnvizError: the model cannot be used or cannot read it, or has no such layer.
    """
    entry, loaded = resolve.entry(model), loading.load(model)
    loaded.need_vectors()
    with hearing() as heard:
        [blocks] = _blocks(entry, loaded, [text])
    _check_layers(entry, [layer])
    return blocks[layer], _states(heard, 0, blocks, 1)[layer][0]
