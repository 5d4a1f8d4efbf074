"""Text with one sentence per line, validated and read line by line."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from attnviz.errors import AttnvizError, EmptyText, UnreadableText, quoted

MAX_DAMAGED_SHARE = 0.1
"""Maximum fraction of lines with invalid characters; a file with more is rejected."""

MAX_CHARACTERS = 200_000
"""Maximum number of characters of a text with annotated examples."""

NOT_UTF_8 = "This line has null characters or bytes that are not UTF-8. Save the file as UTF-8 text."

FILE = Path(__file__).with_name("sentences.txt")
"""The bundled sentences."""

_DAMAGED = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True)
class Corpus:
    """A text with one sentence per line, read line by line.

    Create it with `from_text` or `from_file`; iteration yields the lines.

    Attributes:
        name: Name of the text in messages.
        lines: Number of lines, including empty lines.
        key: First 16 hexadecimal digits of the SHA-256 hash of the lines.
        source: The text, or the path of a file.
    """

    name: str
    lines: int
    key: str
    source: str | Path = field(repr=False)

    @classmethod
    def from_text(cls, text: str, name: str = "the text", maximum: int | None = None) -> Corpus:
        """Create a corpus from a text.

        Args:
            maximum: Maximum number of lines; None for no limit.

        Raises:
            UnreadableText: the text is not UTF-8.
            EmptyText: the text has no sentence.
            AttnvizError: the text has too many lines.
        """
        return cls._checked(text, name, maximum)

    @classmethod
    def from_file(cls, file: Path) -> Corpus:
        """Create a corpus from a file, which is read again in each iteration.

        Raises:
            UnreadableText, EmptyText: as for `from_text`.
            OSError: the file cannot be read.
        """
        return cls._checked(file, file.name, None)

    @classmethod
    def _checked(cls, source: str | Path, name: str, maximum: int | None) -> Corpus:
        lines = filled = damaged = 0
        digest = hashlib.sha256()
        for line in _lines_of(source):
            lines += 1
            filled += bool(line.strip())
            damaged += is_damaged(line)
            digest.update(f"{line}\n".encode("utf-8", "surrogatepass"))
        if damaged > MAX_DAMAGED_SHARE * lines:
            raise UnreadableText(
                f"{quoted(name)} is not UTF-8 text: {damaged:,} of its {lines:,} lines have invalid bytes. "
                "Open it in an editor, save it as plain text in UTF-8, and try again."
            )
        if not filled:
            raise EmptyText(f"There is no sentence in {quoted(name)}. Enter one per line, and try again.")
        if maximum is not None and lines > maximum:
            raise AttnvizError(
                f"{quoted(name)} has {lines:,} lines; this page accepts at most {maximum:,}. Shorten it, "
                "or use the command line, which has no limit."
            )
        return cls(name, lines, digest.hexdigest()[:16], source)

    def __len__(self) -> int:
        return self.lines

    def __iter__(self) -> Iterator[str]:
        return _lines_of(self.source)

    @property
    def text(self) -> str:
        """The complete text, for formats that are not read line by line.

        Raises:
            AttnvizError: the text has more than `MAX_CHARACTERS` characters, or a line has invalid bytes.
        """
        lines, length = [], 0
        for number, line in enumerate(self, 1):
            length += len(line)
            if is_damaged(line):
                raise AttnvizError(f"Line {number} of {quoted(self.name)}: {NOT_UTF_8}")
            if length > MAX_CHARACTERS:
                raise AttnvizError(f"{quoted(self.name)} has more than {MAX_CHARACTERS:,} characters.")
            lines.append(line)
        return "\n".join(lines)


def bundled() -> str:
    """Return the bundled sentences, one per line."""
    return FILE.read_text("utf-8")


def is_damaged(line: str) -> bool:
    """Return whether a line has null characters, or bytes that are not UTF-8."""
    return _DAMAGED.search(line) is not None


def _lines_of(source: str | Path) -> Iterator[str]:
    """Yield the lines without line ends; bytes that are not UTF-8 become surrogates."""
    with (
        io.StringIO(source, newline=None)
        if isinstance(source, str)
        else source.open(encoding="utf-8-sig", errors="surrogateescape")
    ) as file:
        for line in file:
            yield line.removesuffix("\n")
