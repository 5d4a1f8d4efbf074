"""The path of app.py, and the names of the pages."""

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]

APP = next(
    folder / "app.py" for folder in (_PACKAGE / "served", _PACKAGE.parent) if (folder / "app.py").is_file()
)
"""Path of app.py, beside pages/ and .streamlit/: in the installed package, or in the repository."""

PAGES = frozenset(file.stem for file in (APP.parent / "pages").glob("*.py"))
"""The names of all pages."""
