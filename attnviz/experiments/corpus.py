"""A text of many sentences, one per line: read line by line, and refused if it is not a text file."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from attnviz.errors import AttnvizError, EmptyText, UnreadableText, quoted

Source = str | bytes | Path
"""A text, the bytes of a file, or the path of a file."""

MAX_DAMAGED_SHARE = 0.1
"""Maximum fraction of lines with bytes that are not UTF-8; above it the file is in another encoding."""

MAX_MEGABYTES = 8
"""Maximum size of an upload."""

MAX_CHARACTERS = 200_000
"""Maximum length of annotated examples."""

NOT_UTF_8 = "This line has bytes that are not UTF-8. Save the file as UTF-8."

FILE = Path(__file__).with_name("sentences.txt")
"""The bundled sentences."""

_CHUNK = 1 << 16
_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_HALF = re.compile("[\ud800-\udfff]")

# First bytes of files that are not plain text, and what to do with them.
_KNOWN = (
    (b"%PDF", "a PDF. Copy its text into a plain text file"),
    (b"PK\x03\x04", "a ZIP archive, like .docx and .xlsx. Save it as plain text (.txt)"),
    (b"\xd0\xcf\x11\xe0", "an old Office document. Save it as plain text (.txt)"),
    (b"{\\rtf", "rich text (RTF). Save it as plain text (.txt)"),
    (b"\x1f\x8b", "compressed. Unpack it first"),
    (b"\xff\xfe", "in UTF-16, which some editors call “Unicode”. Save it as UTF-8"),
    (b"\xfe\xff", "in UTF-16. Save it as UTF-8"),
)


@dataclass(frozen=True)
class Corpus:
    """A text of many sentences, one per line, read line by line without a second copy in memory.

    Created by `from_text` (pasted), `from_bytes` (an upload) or `from_file`; iteration yields the lines.

    Attributes:
        name: Name in messages.
        lines: Number of lines, empty ones included.
        key: Hash of the text: the beginning of its SHA-256.
        source: Source of the lines.
    """

    name: str
    lines: int
    key: str
    source: Source = field(repr=False)

    @classmethod
    def from_text(cls, text: str, name: str = "the text", maximum: int | None = None) -> Corpus:
        """Create a corpus from a pasted text. Arguments and errors as for `from_bytes`."""
        return cls._checked(text, name, maximum)

    @classmethod
    def from_bytes(cls, content: bytes, name: str, maximum: int | None = None) -> Corpus:
        """Create a corpus from an uploaded file.

        Args:
            maximum: Maximum number of lines; None for no limit.

        Raises:
            UnreadableText: the file is not text, not UTF-8, or larger than `MAX_MEGABYTES`.
            EmptyText: the file has no sentence.
            AttnvizError: the file has too many lines.
        """
        refuse_other_files(content, name, MAX_MEGABYTES)
        return cls._checked(content, name, maximum)

    @classmethod
    def from_file(cls, file: Path) -> Corpus:
        """Create a corpus from a file, which each iteration reads again.

        Raises:
            UnreadableText, EmptyText: as for `from_bytes`.
            OSError: the file cannot be read.
        """
        refuse_other_files(file, file.name)
        return cls._checked(file, file.name, None)

    @classmethod
    def _checked(cls, source: Source, name: str, maximum: int | None) -> Corpus:
        lines = filled = damaged = 0
        for line in lines_of(source):
            lines += 1
            filled += bool(line.strip())
            damaged += broken(line)
        if damaged > MAX_DAMAGED_SHARE * lines:
            raise UnreadableText(
                f"{quoted(name)} is not in UTF-8: {damaged:,} of its {lines:,} lines have other bytes. It "
                "may be in Latin-1 (Windows-1252). Open it in an editor, save it as UTF-8, and try again."
            )
        if not filled:
            raise EmptyText(f"There is no sentence in {quoted(name)}. Write one on each line, and try again.")
        if maximum is not None and lines > maximum:
            raise AttnvizError(
                f"{quoted(name)} has {lines:,} lines; this page reads at most {maximum:,}. Shorten it, "
                "or use the command line, which reads any number."
            )
        digest = hashlib.sha256()
        for chunk in _chunks(source):
            digest.update(chunk)
        return cls(name, lines, digest.hexdigest()[:16], source)

    def __iter__(self) -> Iterator[str]:
        return lines_of(self.source)

    @property
    def text(self) -> str:
        """The whole text, for formats that are not read line by line.

        Raises:
            AttnvizError: it has more than `MAX_CHARACTERS`, or a line is not in UTF-8.
        """
        lines, length = [], 0
        for number, line in enumerate(self, 1):
            length += len(line)
            if broken(line):
                raise AttnvizError(f"Line {number} of {quoted(self.name)}: {NOT_UTF_8}")
            if length > MAX_CHARACTERS:
                raise AttnvizError(f"{quoted(self.name)} has more than {MAX_CHARACTERS:,} characters.")
            lines.append(line)
        return "\n".join(lines)


def bundled() -> str:
    """Return the bundled sentences, one per line."""
    return FILE.read_text("utf-8")


def lines_of(source: Source) -> Iterator[str]:
    """Yield the lines without line ends; bytes that are not UTF-8 become surrogates.

    Only one line is in memory at a time, beside the source itself.
    """
    if isinstance(source, str):
        for match in _LINE.finditer(source):
            if match.start() < len(source):
                yield match[1]
        return
    with _opened(source) as file:
        for line in file:
            yield line.removesuffix("\n")


def broken(line: str) -> bool:
    """Return whether a line has bytes that are not UTF-8."""
    return _HALF.search(line) is not None


def refuse_other_files(source: Source, name: str, megabytes: int | None = None) -> None:
    """Refuse a file that is not plain text, by its first bytes or by null bytes.

    Args:
        megabytes: Maximum size of an upload; only browsers enforce the limit of the upload control.

    Raises:
        UnreadableText: the file is not plain text in UTF-8, or too large.
        OSError: the file cannot be read.
    """
    if megabytes and not isinstance(source, Path) and len(source) > megabytes * 2**20:
        raise UnreadableText(f"{quoted(name)} is larger than {megabytes} MB. Upload a part of it.")
    begun = False
    for chunk in _chunks(source):
        if not begun:
            what = next((what for sign, what in _KNOWN if chunk.startswith(sign)), None)
            if what is not None:
                raise UnreadableText(f"{quoted(name)} is {what}, and try again.")
        begun = True
        if b"\0" in chunk:
            raise UnreadableText(
                f"{quoted(name)} is not text in UTF-8: it has null bytes, like images, programs and texts in "
                "UTF-16. Save it as plain text in UTF-8, and try again."
            )


def _chunks(source: Source) -> Iterator[bytes]:
    if isinstance(source, Path):
        with source.open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk
        return
    for start in range(0, len(source), _CHUNK):
        part = source[start : start + _CHUNK]
        yield part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part


def _opened(source: bytes | Path) -> TextIO:
    if isinstance(source, Path):
        return source.open(encoding="utf-8-sig", errors="surrogateescape")
    return io.TextIOWrapper(io.BytesIO(source), encoding="utf-8-sig", errors="surrogateescape")
