"""Supported versions of other packages, and a lock for the first import of torch or transformers."""

import re
import threading
import warnings
from functools import cache
from importlib import metadata

from attnviz.errors import AttnvizError
from attnviz.text import joined

# transformers warns if ipywidgets, for progress bars in Jupyter, is missing; attnviz does not need it.
warnings.filterwarnings("ignore", message="IProgress not found")

EXTRAS = {
    "torch": (
        *("torch>=2.6,<3", "transformers>=5.4,<6", "tokenizers>=0.22,<1", "safetensors>=0.5,<1"),
        *("huggingface_hub>=1.5,<3", "jaxtyping>=0.3,<1", "typer>=0.15,<1", "rich>=13.8,<16"),
    ),
    "app": (
        *("streamlit>=1.65,<2", "plotly>=6,<8", "segno>=1.6,<2", "cachetools>=6.0,<9"),
        *("prometheus-client>=0.20,<1", "jinja2>=3.1,<4", "pyyaml>=6,<7"),
    ),
    "notebook": ("pandas>=2.2.3,<4",),
    "pictures": ("pillow>=10.4,<14",),
    "sentencepiece": ("sentencepiece>=0.2,<1", "protobuf>=5,<8"),
    "ray": ("ray>=2.60,<3",),
    "rooms": ("redis>=6,<9",),
}
"""The requirements of pyproject.toml that are checked before a package is first imported."""


@cache
def need(*requirements: str, extra: str | None = None) -> None:
    """Check that these packages are installed; warn about versions that attnviz is not tested with.

    Args:
        requirements: such as "torch>=2.6,<3".
        extra: the extra of attnviz that they belong to.

    Raises:
        AttnvizError: a package is missing.
    """
    missing = []
    for requirement in requirements:
        name = re.split("[<>]", requirement)[0]
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(requirement)
            continue
        if not _satisfies(found, requirement):
            untested = f"attnviz is tested with {requirement}, and {name} {found} is installed."
            warnings.warn(untested, stacklevel=2)
    if missing:
        part = "This part of attnviz" if extra is None else f"This part of attnviz (extra [{extra}])"
        install = " ".join(f'"{requirement}"' for requirement in missing)
        raise AttnvizError(
            f"{part} needs {joined(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed. "
            f"Install with: python -m pip install {install}"
        )


def _satisfies(version: str, requirement: str) -> bool:
    """Return whether a version such as "2.13.0+cpu" satisfies "torch>=2.6,<3"."""
    bounds = dict(re.findall(r"(>=|<)([\d.]+)", requirement))
    release = _release(version)
    return _release(bounds.get(">=", "0")) <= release and (
        "<" not in bounds or release < _release(bounds["<"])
    )


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version: (2, 13, 0) for "2.13.0+cpu"."""
    return tuple(int(number) for number in re.findall(r"\d+", re.split(r"[^\d.]", version)[0]))


def need_extra(name: str) -> None:
    """Check the packages of one of attnviz's extras; see `need`.

    Raises:
        AttnvizError: a package is missing.
    """
    need(*EXTRAS[name], extra=name)


class _Gate:
    """A reentrant lock that raises an error if the extra [torch] is not installed."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        need_extra("torch")
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


gate = _Gate()
"""The lock for the first import of torch or transformers. Do not hold it during other slow work.

If two threads import transformers for the first time at the same time, one of them fails with an
ImportError: transformers loads its modules on first use, and the second thread finds them incomplete.

Raises:
    AttnvizError: a package of the extra is missing.
"""
