"""The models that users may choose: the operator's list, or the bundled models and any others."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from attnviz.errors import UnknownModel, WrongSetting
from attnviz.models import catalogue

SETTING = "ATTNVIZ_MODELS"
"""The environment variable with the operator's list: catalogue names, folders and Hugging Face ids.

Separate them by commas; `name=` before a model sets the name that users see. The default name of a folder is
its last part, which does not reveal its path. With `*` instead of a list, everyone may open any model.
Without the variable, a server allows this only to users on the same machine.
"""

EVERYTHING = "*"
"""The variable's value that lets everyone open any model."""

MAX_OPENED = 32
"""The maximum number of opened models in the list on the page; the oldest are removed first."""

_NAME = re.compile(r"[^\W_][\w .@/+#-]{0,95}", re.ASCII)

_opened: dict[str, None] = {}
_lock = threading.Lock()
_restriction: Callable[[], bool] | None = None


def restrict(may_open: Callable[[], bool]) -> None:
    """Set the function that decides who may open other models if `SETTING` is not set."""
    global _restriction  # noqa: PLW0603 - one server per process
    _restriction = may_open


def may_open() -> bool:
    """Return whether this user may open other models: folders, and ids of the Hugging Face hub."""
    return _setting() == EVERYTHING or (not _setting() and (_restriction is None or _restriction()))


def names() -> tuple[str, ...]:
    """Return the names that a user can choose from: the operator's list, or the catalogue and opened models.

    Raises:
        WrongSetting: the operator's list is invalid.
    """
    if may_open():
        return (*catalogue.names(), *opened())
    return tuple(_listed())


def check(name: str) -> None:
    """Raise unless this user may use this model. This accesses neither files nor the network.

    Raises:
        UnknownModel: the user may not use it. The message is the same for every such name, and reveals
            nothing about this machine.
        WrongSetting: the operator's list is invalid.
    """
    if not may_open() and name not in _listed():
        raise _not_listed()


def target(name: str) -> str:
    """Return the model with this name on the operator's list; the name itself if any model is allowed.

    The names of the catalogue cannot be redefined, because the lessons use these models.

    Raises:
        UnknownModel, WrongSetting: as for `check`.
    """
    if name in catalogue.names() or may_open():
        return name
    model = _listed().get(name)
    if model is None:
        raise _not_listed()
    return model


def check_setting() -> None:
    """Check the operator's list when a server starts: its folders must exist.

    Raises:
        WrongSetting: the list is invalid, or a folder is missing; the message names the folder.
    """
    if _setting() == EVERYTHING:
        return
    for model in _listed().values():
        folder = Path(model).expanduser().absolute()
        if _is_folder(model) and not folder.is_dir():
            raise WrongSetting(f"{SETTING}: there is no folder “{folder}”.")


def opened() -> tuple[str, ...]:
    """Return the models opened on this server that are not in the catalogue, the latest last."""
    with _lock:
        return tuple(_opened)


def remember(name: str) -> None:
    """Add a model to the end of `opened`."""
    if name in catalogue.names():
        return
    with _lock:
        _opened.pop(name, None)
        _opened[name] = None
        while len(_opened) > MAX_OPENED:
            del _opened[next(iter(_opened))]


def _not_listed() -> UnknownModel:
    return UnknownModel(f"This server offers only these models: {', '.join(_listed())}.")


def _setting() -> str:
    return os.environ.get(SETTING, "").strip()


def _listed() -> Mapping[str, str]:
    """Return the models that everyone may use, by the name that users see."""
    return _read(_setting()) if _setting() else {name: name for name in catalogue.names()}


@lru_cache(maxsize=1)
def _read(setting: str) -> Mapping[str, str]:
    """Parse the list, and return its models by the name that users see.

    The errors contain no paths, because the page shows them to users.
    """
    listed: dict[str, str] = {}
    for number, part in enumerate(filter(None, (part.strip() for part in setting.split(","))), start=1):
        name, equals, model = (piece.strip() for piece in part.partition("="))
        if not equals:
            name, model = _default_name(part), part
        if not model or not _NAME.fullmatch(name):
            raise WrongSetting(f"Model {number} of {SETTING} is not a name, a folder, an id or name=model.")
        if name in catalogue.names() and model != name:
            raise WrongSetting(f"{SETTING}: “{name}” is the name of a bundled model. Choose another name.")
        if name in listed:
            raise WrongSetting(
                f"{SETTING} has two models with the name “{name}”. Choose another name for one: name=model."
            )
        listed[name] = model
    if not listed:
        raise WrongSetting(f"{SETTING} lists no model. Set it to * to allow every model.")
    return listed


def _default_name(model: str) -> str:
    """Return the default name: a catalogue name or an id unchanged; for a folder, its last part."""
    return Path(model).name if _is_folder(model) else model


def _is_folder(model: str) -> bool:
    return model.startswith((".", "~", "/")) or model.count("/") > 1 or Path(model).is_dir()
