"""Check budget.toml: the lines of Python, JavaScript and CSS in each folder. Run by `make check`."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
CODE = {".py", ".js", ".css"}
BUNDLES = "attnviz/widgets/bundle/"


def lines_by_file(root: Path = ROOT) -> dict[str, int]:
    """Return the number of lines of each code file that git tracks or would add, except built bundles."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=root, check=True, capture_output=True, text=True).stdout.splitlines()
    return {
        name: len((root / name).read_text("utf-8").splitlines())
        for name in names
        if Path(name).suffix in CODE and not name.startswith(BUNDLES) and (root / name).is_file()
    }


def lines_of(folders: list[str], lines: dict[str, int]) -> int:
    """Return the number of lines in these files and folders."""
    return sum(
        count
        for name, count in lines.items()
        if any(name == folder or name.startswith(f"{folder}/") for folder in folders)
    )


def exceeded(budget: dict[str, dict[str, int | list[str]]], lines: dict[str, int]) -> list[str]:
    """Return a message for each part of the code that has more lines than its maximum."""
    found = []
    for part, limit in budget.items():
        folders, maximum = limit["folders"], limit["max_lines"]
        assert isinstance(folders, list)
        assert isinstance(maximum, int)
        if (count := lines_of(folders, lines)) > maximum:
            found.append(
                f"{part}: {count:,} lines, {count - maximum:,} more than budget.toml allows ({maximum:,}). "
                "Remove as many lines as you add: merge duplicates, use a library, or delete a feature."
            )
    return found


def main() -> int:
    """Print the parts that exceed the budget, and return the exit status."""
    found = exceeded(tomllib.loads((ROOT / "budget.toml").read_text("utf-8")), lines_by_file())
    for sentence in found:
        sys.stderr.write(f"{sentence}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
