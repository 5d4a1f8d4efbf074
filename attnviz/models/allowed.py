"""Which models visitors may choose: the operator's list, or those that come with attnviz and their own."""

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

They are separated by commas; `name=` before one sets the name that visitors see. A folder is otherwise called
by its last part, so that no visitor learns where it lies. `*` in place of a list: everybody may open any
model. Without the variable, a server lets only visitors at its own machine do that.
"""

EVERYTHING = "*"
"""The variable's value with which everybody may open any model."""

MAX_OPENED = 32
"""How many opened models the choice on the page lists; the one that was opened longest ago goes first."""

_NAME = re.compile(r"[^\W_][\w .@/+#-]{0,95}", re.ASCII)

_opened: dict[str, None] = {}
_lock = threading.Lock()
_restriction: Callable[[], bool] | None = None


def restrict(may_open: Callable[[], bool]) -> None:
    """Let a function decide, where the operator has set nothing, who may open models of their own."""
    global _restriction  # noqa: PLW0603 - one server a process
    _restriction = may_open


def may_open() -> bool:
    """Whether this visitor may open models of their own: folders, and ids of the Hugging Face hub."""
    return _setting() == EVERYTHING or (not _setting() and (_restriction is None or _restriction()))


def names() -> tuple[str, ...]:
    """What a visitor chooses from: the operator's list, or else the catalogue and what was opened here.

    Raises:
        WrongSetting: the operator's list cannot be read.
    """
    if may_open():
        return (*catalogue.names(), *opened())
    return tuple(_listed())


def check(name: str) -> None:
    """Check that a visitor may use this model. Reads the list only, no file, no network.

    Raises:
        UnknownModel: the visitor may not. The sentence is the same for whatever else was typed, so that
            it reveals nothing about this machine.
        WrongSetting: the operator's list cannot be read.
    """
    if not may_open() and name not in _listed():
        raise _not_listed()


def target(name: str) -> str:
    """Return the model of a name on the operator's list; the name itself if there is no list.

    The names of the catalogue cannot be redefined: the lessons use these models, whatever the
    visitors may choose elsewhere.

    Raises:
        UnknownModel, WrongSetting: as `check`.
    """
    if name in catalogue.names() or may_open():
        return name
    behind = _listed().get(name)
    if behind is None:
        raise _not_listed()
    return behind


def check_setting() -> None:
    """Check the operator's list when a server starts: what is written as a folder must be one.

    Raises:
        WrongSetting: the list cannot be read, or a folder is missing. It names the folder, for the operator.
    """
    if _setting() == EVERYTHING:
        return
    for behind in _listed().values():
        folder = Path(behind).expanduser().absolute()
        if _is_folder(behind) and not folder.is_dir():
            raise WrongSetting(f"{SETTING}: there is no folder “{folder}”.")


def opened() -> tuple[str, ...]:
    """The models opened on this server besides the catalogue's, the latest one last."""
    with _lock:
        return tuple(_opened)


def remember(name: str) -> None:
    """Add a model to `opened`, at its end."""
    if name in catalogue.names():
        return
    with _lock:
        _opened.pop(name, None)
        _opened[name] = None
        while len(_opened) > MAX_OPENED:
            del _opened[next(iter(_opened))]


def _not_listed() -> UnknownModel:
    return UnknownModel(f"This server offers these models and no others: {', '.join(_listed())}.")


def _setting() -> str:
    return os.environ.get(SETTING, "").strip()


def _listed() -> Mapping[str, str]:
    """The models that everybody may use, by the name that visitors see."""
    return _read(_setting()) if _setting() else {name: name for name in catalogue.names()}


@lru_cache(maxsize=1)
def _read(setting: str) -> Mapping[str, str]:
    """The models of the list, by the name that visitors see.

    Its errors quote no path: the page shows them to visitors.
    """
    listed: dict[str, str] = {}
    for number, part in enumerate(filter(None, (part.strip() for part in setting.split(","))), start=1):
        name, equals, behind = (piece.strip() for piece in part.partition("="))
        if not equals:
            name, behind = _called(part), part
        if not behind or not _NAME.fullmatch(name):
            raise WrongSetting(
                f"Model {number} of {SETTING} is neither a name, a folder, an id, nor name=model."
            )
        if name in catalogue.names() and behind != name:
            raise WrongSetting(
                f"{SETTING}: “{name}” is a model that comes with attnviz. Call yours otherwise."
            )
        if name in listed:
            raise WrongSetting(
                f"{SETTING} has two models that are called “{name}”. Call one otherwise: name=model."
            )
        listed[name] = behind
    if not listed:
        raise WrongSetting(f"{SETTING} names no model. Set it to *, and every model may be opened.")
    return listed


def _called(behind: str) -> str:
    """A catalogue name or an id as it is; a folder by its last part."""
    return Path(behind).name if _is_folder(behind) else behind


def _is_folder(behind: str) -> bool:
    return behind.startswith((".", "~", "/")) or behind.count("/") > 1 or Path(behind).is_dir()
