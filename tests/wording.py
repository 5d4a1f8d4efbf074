"""Compare the number of phrases and names to avoid with the maxima in wording.toml. Run by `make check`."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENDINGS = {".py", ".js", ".css", ".md"}
BUNDLES = "attnviz/widgets/bundle/"
_NAME = re.compile(r"\b_?[A-Za-z]\w*_\w+\b|\b[A-Z]{2,}\w*\b")


def texts(root: Path = ROOT) -> dict[str, str]:
    """Return the text of each code file and each lesson in attnviz/ and pages/, by path."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "attnviz", "pages"]
    names = subprocess.run(listed, cwd=root, check=True, capture_output=True, text=True).stdout.splitlines()
    return {
        name: (root / name).read_text("utf-8")
        for name in names
        if Path(name).suffix in ENDINGS and not name.startswith(BUNDLES) and (root / name).is_file()
    }


def phrases_in(text: str, avoided: dict[str, str]) -> Counter[str]:
    """Count the phrases to avoid in a text; each phrase is a regular expression."""
    return Counter({phrase: len(re.findall(rf"\b(?:{phrase})\b", text, re.IGNORECASE)) for phrase in avoided})


def names_in(text: str, parts: list[str]) -> Counter[str]:
    """Count the identifiers of several words that contain one of these words."""
    found = Counter(_NAME.findall(text))
    return Counter({name: n for name, n in found.items() if set(name.lower().split("_")) & set(parts)})


def main() -> int:
    """Print the counts, with `--list` also by file and phrase; return 1 if a maximum is exceeded, else 0."""
    rules = tomllib.loads((ROOT / "wording.toml").read_text("utf-8"))
    files = texts()
    lines = sum(len(text.splitlines()) for text in files.values())
    phrases = {file: phrases_in(text, rules["phrases"]) for file, text in files.items()}
    names = {name for text in files.values() for name in names_in(text, rules["names"]["parts"])}
    rate = round(10_000 * sum(sum(found.values()) for found in phrases.values()) / lines)
    if "--list" in sys.argv:
        for file, found in phrases.items():
            for phrase, count in found.most_common():
                if count:
                    sys.stdout.write(f"{file}: {phrase} ({count}): {rules['phrases'][phrase]}\n")
        sys.stdout.write("\n".join(sorted(names)) + "\n")
    sys.stdout.write(f"wording: {rate} phrases to avoid in 10,000 lines, {len(names)} names\n")
    most, most_names = rules["maxima"]["phrases_per_10000_lines"], rules["maxima"]["names"]
    if rate <= most and len(names) <= most_names:
        return 0
    sys.stderr.write(
        f"wording.toml allows {most} phrases in 10,000 lines and {most_names} names. "
        "python -m tests.wording --list shows where they are, and what to write instead.\n"
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
