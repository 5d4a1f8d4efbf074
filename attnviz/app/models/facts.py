"""Descriptions of a model, made before it is loaded."""

from __future__ import annotations

from attnviz.app import markdown
from attnviz.models import limits
from attnviz.models.catalogue import Borrowed, Downloaded, Entry, Folder, Hub, Package, Trained
from attnviz.text import in_bytes, plural, rounded_count


def summary(entry: Entry) -> str:
    """Return the most important facts, as one line of Markdown."""
    parts = (
        f"{_parts(entry)}, {_layers(entry)} × {_heads(entry)}",
        _size(entry),
        reads(entry),
        ", ".join(abilities(entry)),
    )
    return " · ".join(filter(None, parts))


def as_list(entry: Entry) -> str:
    """Return all facts, as a list in Markdown."""
    parts = {
        "Family": f"{markdown.code(entry.family)}, {_parts(entry)}",
        "Shape": shape(entry),
        "Size": f"{_size(entry) or 'unknown'}; the maximum is {in_bytes(limits.max_bytes())}",
        "Reads": reads(entry),
        "What it does": ", ".join(abilities(entry)),
        "Files": _origin(entry),
    }
    return "\n".join(f"- **{name}:** {words}" for name, words in parts.items() if words)


def shape(entry: Entry) -> str:
    """Return the numbers of layers and heads, and the lengths of the vectors, in Markdown."""
    sizes = f"$d_{{model}}$ = {entry.d_model}, $d_{{head}}$ = {entry.d_head}"
    return f"{_layers(entry)} × {_heads(entry)}, {sizes}"


def abilities(entry: Entry) -> tuple[str, ...]:
    """Return the tasks that the model supports."""
    translates = bool(entry.is_text_model and entry.layers and entry.decoder_layers and not entry.pairs)
    parts = (
        (translates, "turns one text into another"),
        (entry.is_text_model and entry.expects == "next" and not translates, "continues texts"),
        (entry.expects == "masked", "predicts masked tokens"),
        (entry.pairs, "also reads pairs of sentences"),
        (entry.is_vision_model, "reads pictures"),
    )
    return tuple(words for can, words in parts if can)


def _parts(entry: Entry) -> str:
    if entry.layers and entry.decoder_layers:
        return "encoder–decoder"
    return "encoder" if entry.layers else "decoder"


def _layers(entry: Entry) -> str:
    counts = [count for count in (entry.layers, entry.decoder_layers) if count]
    return f"{' + '.join(map(str, counts))} layer{'s' if sum(counts) > 1 else ''}"


def _heads(entry: Entry) -> str:
    return plural(entry.heads, "head")


def _size(entry: Entry) -> str:
    """Return the number of parameters and their size; "" if unknown."""
    if entry.parameters is None:
        return ""
    size = in_bytes(limits.in_memory(entry.parameters, entry.dtype))
    return f"{rounded_count(entry.parameters)} parameters, {size}"


def reads(entry: Entry) -> str:
    """Return the model's kind of input, and its maximum length."""
    inputs = "pictures with a text, up to" if entry.images else "texts of up to"
    shown = f"{'a picture as' if entry.is_vision_model else inputs} {entry.token_limit:,} tokens"
    if entry.window is None or entry.window >= entry.token_limit:
        return shown
    return f"{shown}, with an attention window of {entry.window:,} tokens"


def _origin(entry: Entry) -> str:
    match entry.origin:
        case Package(requirement=requirement):
            return f"included in attnviz, in the package {markdown.code(requirement)}"
        case Trained():
            return "included in attnviz, and trained for it"
        case Downloaded(folder=folder, repository=repository, commit=commit):
            source = f"{markdown.code(repository)}, revision {markdown.code(commit[:12])}"
            return f"downloaded from Hugging Face: {source}, in {markdown.code(str(folder))}"
        case Borrowed():
            return "none: the model is an object in memory"
        case Folder(folder=folder):
            return f"in {markdown.code(str(folder))}"
        case Hub(repository=repository, commit=commit, size=size):
            source = f"{markdown.code(repository)}, revision {markdown.code(commit[:12])}"
            return f"to be downloaded from Hugging Face, {in_bytes(size)}: {source}"
