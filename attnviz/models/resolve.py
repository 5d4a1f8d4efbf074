"""Resolve names of models: entries in the catalogue, folders on this machine, and Hugging Face ids."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from attnviz.errors import AttnvizError, ModelNotSupported, UnknownModel, quoted
from attnviz.models import allowed, catalogue, folder, hub
from attnviz.models.catalogue import Entry
from attnviz.models.limits import BYTES_PER_PARAMETER, DType

KindOfName = Literal["catalogue", "folder", "id", "unknown"]

_SETTING = re.compile(
    rf"#(?:(?P<dtype>{'|'.join(BYTES_PER_PARAMETER)})|(?P<device>cpu|mps|(?:cuda|xpu)(?::\d+)?))$"
)
_POSSIBLE = {
    "dtype": " or ".join(BYTES_PER_PARAMETER),
    "device": "cpu, cuda, xpu or mps, or a device with a number, such as cuda:1",
}

_URL = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)  # file:, https://, but also C:\
_HUB_PAGE = re.compile(
    r"(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co)/(?P<id>[^/?#\s]+/[^/?#\s]+)"
    r"(?:/(?:tree|blob|resolve)/(?P<revision>[^/?#\s]+))?\S*",
    re.IGNORECASE,
)

BORROWED: dict[str, Entry] = {}
"""Entries of a Python program's model objects, by their names in a `loading.borrowed` block."""


def kind_of_name(name: str) -> KindOfName:
    """Return the kind of a name. This reads no files; it only checks whether a folder exists."""
    if name in catalogue.names():
        return "catalogue"
    expanded = _expanded(name)
    if expanded is not None and (expanded.is_dir() or _is_path_like(name)):
        return "folder"
    return "id" if hub.is_id(name) else "unknown"


class Target(NamedTuple):
    """A resolved name.

    Attributes:
        model: a name in the catalogue, a folder or an id.
        dtype: the dtype in which it runs.
        device: the device on which it runs, in torch's notation.
    """

    model: str
    dtype: DType = "float32"
    device: str = "cpu"


def target(name: str) -> Target:
    """Resolve a name to a model, a dtype and a device; float32 on the CPU by default.

    Raises:
        UnknownModel, WrongSetting: as for `allowed.check`.
    """
    model, settings = parts_of(allowed.target(name))
    return Target(model, **settings)


def with_settings(name: str, dtype: object = None, device: object = None) -> str:
    """Return a model's name with this dtype and device; None keeps the setting in the name.

    Raises:
        AttnvizError: there is no such dtype or device, or the name has a different setting.
    """
    if dtype is None and device is None:
        return name
    model, settings = parts_of(name)
    requested = {"dtype": dtype, "device": device}
    for setting, value in requested.items():
        if value is None:
            continue
        text = str(value).removeprefix("torch.")
        match = _SETTING.fullmatch(f"#{text}")
        if match is None or match[setting] is None:
            raise AttnvizError(f"{setting} must be {_POSSIBLE[setting]}, not {quoted(text)}.")
        if settings.setdefault(setting, text) != text:
            raise AttnvizError(
                f"{quoted(name)} has #{settings[setting]}, but {setting} is {text}. Remove one of them."
            )
    return model + "".join(
        f"#{settings[setting]}"
        for setting in requested
        if settings.get(setting, "cpu") not in {"float32", "cpu"}
    )


def parts_of(name: str) -> tuple[str, dict[str, Any]]:
    """Split a name into the model and the settings after "#" at its end."""
    settings: dict[str, Any] = {}
    while (match := _SETTING.search(name)) and match.start() and match.lastgroup not in settings:
        settings[str(match.lastgroup)] = match[0].removeprefix("#")
        name = name[: match.start()]
    return name, settings


def clean_name(text: str) -> str:
    """Clean a pasted name: remove quotation marks, and convert the URL of a page on the hub to an id."""
    name = text.strip().strip("\"'“”‘’").strip()
    page = _HUB_PAGE.fullmatch(name)
    if page is None or not hub.is_id(page["id"]):
        return name
    return page["id"] if page["revision"] in (None, "main") else f"{page['id']}@{page['revision']}"


def entry(name: str) -> Entry:
    """Return the description of a model, without loading its weights.

    Args:
        name: a name in the catalogue, a folder, or a Hugging Face id "owner/name", optionally "@revision";
            after a folder or an id, "#bfloat16" or "#float16" sets the dtype, and "#cuda" or similar the
            device. If the operator has set a list of models, a name on that list.

    Raises:
        UnknownModel: there is no model of this name, or it is not on the operator's list.
        ModelFilesDamaged, ModelNotSupported, ModelTooLarge: the model cannot be opened.
        ModelNotReachable: it is not on this machine, and the hub does not provide it.
        WrongSetting: the operator's list or limit is invalid.
    """
    if name in BORROWED:
        return BORROWED[name]
    model, dtype, device = target(name)
    kind = kind_of_name(model)
    if kind == "catalogue":
        if dtype != "float32":
            raise ModelNotSupported(f"{quoted(model)} is a bundled model and runs in float32. Omit {dtype}.")
        found = catalogue.entry(model)
        if device != "cpu" and found.engine != "transformers":
            raise ModelNotSupported(f"{quoted(model)} runs on the CPU. Omit {device}.")
        return found if name == model else replace(found, name=name, title=name, device=device)
    if kind == "folder":
        expanded = _expanded(model)
        assert expanded is not None  # noqa: S101 - its kind is folder; for the type checker
        return replace(folder.entry(expanded, name, dtype), device=device)
    if kind == "id":
        return replace(hub.entry(model, name, dtype), device=device)
    raise UnknownModel(_unknown(name))


def _expanded(name: str) -> Path | None:
    """Return the expanded path of a folder; None if the name is not valid for a folder."""
    if "\0" in name or not name.strip() or (_URL.match(name) and "\\" not in name):
        return None
    path = Path(os.path.expanduser(name))  # noqa: PTH111 - Path.expanduser raises for an unknown user
    try:
        os.stat(path)  # noqa: PTH116 - raises for names that are too long or have lone surrogates
    except FileNotFoundError:
        return path
    except (OSError, ValueError):
        return None
    return path


def _is_path_like(name: str) -> bool:
    return name.startswith((".", "~", "/")) or "\\" in name or name.endswith("/") or name.count("/") > 1


def _unknown(name: str) -> str:
    if _URL.match(name):
        suggestion = clean_name(name)
        hint = f" Did you mean {suggestion}?" if _HUB_PAGE.fullmatch(name) and suggestion != name else ""
        return f"{quoted(name)} is a URL. Enter only the model's id: owner/name.{hint}"
    settings = " After a name, only #bfloat16, #float16 and a device, such as #cuda, are valid."
    return (
        f"{catalogue.unknown_message(name)} Open other models by folder (./my-model) or by Hugging "
        "Face id with the owner, such as openai-community/gpt2 or google-bert/bert-base-uncased."
        f"{settings if '#' in name else ''}"
    )
