"""Where the app's own files lie."""

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]

APP = next(
    folder / "app.py" for folder in (_PACKAGE / "served", _PACKAGE.parent) if (folder / "app.py").is_file()
)
"""The app's frame, with pages/ and .streamlit/ beside it: where setup.py has put it, or in the repository."""

PAGES = frozenset(file.stem for file in (APP.parent / "pages").glob("*.py"))
"""The names of all pages."""
