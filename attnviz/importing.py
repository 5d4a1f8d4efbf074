"""Which versions of other packages attnviz runs with, and how the large ones are first imported."""

import threading
import warnings
from functools import cache
from importlib import metadata

from attnviz.errors import AttnvizError
from attnviz.text import joined

# transformers' progress bars ask for a part of Jupyter that few have; here no such bar is drawn.
warnings.filterwarnings("ignore", message="IProgress not found")

CORE = ("torch>=2.13,<3", "transformers>=5.18,<6")
EXTRAS = {
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
"""The requirements of pyproject.toml that are checked where a package is first imported."""


@cache
def need(*requirements: str, extra: str | None = None) -> None:
    """Check that these packages are installed; warn about a version with which attnviz is not tested.

    Args:
        requirements: such as "torch>=2.13,<3".
        extra: the extra of attnviz that they belong to; None: attnviz always needs them.

    Raises:
        AttnvizError: one is missing.
    """
    from packaging.requirements import Requirement

    missing = []
    for requirement in requirements:
        wanted = Requirement(requirement)
        try:
            found = metadata.version(wanted.name)
        except metadata.PackageNotFoundError:
            missing.append(requirement)
            continue
        if not wanted.specifier.contains(found, prereleases=True):
            untested = f"attnviz is tested with {requirement}, and {wanted.name} {found} is installed."
            warnings.warn(untested, stacklevel=2)
    if missing:
        who = "attnviz" if extra is None else f"This part of attnviz, its extra [{extra}],"
        install = " ".join(f'"{requirement}"' for requirement in missing)
        raise AttnvizError(
            f"{who} needs {joined(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed. "
            f"Install with: python -m pip install {install}"
        )


def need_extra(name: str) -> None:
    """`need` what an extra of attnviz brings.

    Raises:
        AttnvizError: as `need` does.
    """
    need(*EXTRAS[name], extra=name)


class _Gate:
    """A lock that whoever has it may take again, and that opens only where `CORE` is installed."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        need(*CORE)
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


gate = _Gate()
"""Hold this around any first import of torch or transformers, and nothing slow besides.

Two threads that import transformers for the first time at once end in an ImportError: its modules are
filled in on first use, and the second thread finds them half filled.

Raises:
    AttnvizError: they are missing.
"""
