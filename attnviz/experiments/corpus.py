"""A text of many sentences, one a line: read line by line, and refused if it is no text."""

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
"""A text, the bytes of a file, or where a file lies."""

MAX_DAMAGED_SHARE = 0.1
"""Which share of its lines may hold bytes that are no UTF-8; with more the file is in another encoding."""

MAX_MEGABYTES = 8
"""The largest file that may be uploaded."""

MAX_CHARACTERS = 200_000
"""The longest text of annotated examples."""

NOT_UTF_8 = "This line holds bytes that are not UTF-8. Save the file as UTF-8 to keep it."

FILE = Path(__file__).with_name("sentences.txt")
"""The sentences that come with attnviz."""

_CHUNK = 1 << 16
_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_HALF = re.compile("[\ud800-\udfff]")

# How files begin that are no plain text, and what to do with them.
_KNOWN = (
    (b"%PDF", "a PDF. Copy its text into a plain text file"),
    (b"PK\x03\x04", "packed, as .docx, .xlsx and .zip are. Save it as plain text (.txt)"),
    (b"\xd0\xcf\x11\xe0", "an old Office document. Save it as plain text (.txt)"),
    (b"{\\rtf", "rich text (RTF). Save it as plain text (.txt)"),
    (b"\x1f\x8b", "compressed. Unpack it first"),
    (b"\xff\xfe", "in UTF-16, which some editors call “Unicode”. Save it as UTF-8"),
    (b"\xfe\xff", "in UTF-16. Save it as UTF-8"),
)


@dataclass(frozen=True)
class Corpus:
    """A text of many sentences, one a line, read line by line and never held twice.

    Made by `from_text` (pasted), `from_bytes` (an upload) or `from_file`; iterating it gives the lines.

    Attributes:
        name: what messages call it.
        lines: how many lines it has, empty ones included.
        key: short and of its own for every text: the beginning of its SHA-256.
        source: where the lines come from.
    """

    name: str
    lines: int
    key: str
    source: Source = field(repr=False)

    @classmethod
    def from_text(cls, text: str, name: str = "the text", maximum: int | None = None) -> Corpus:
        """A pasted text. Arguments and errors as for `from_bytes`."""
        return cls._checked(text, name, maximum)

    @classmethod
    def from_bytes(cls, content: bytes, name: str, maximum: int | None = None) -> Corpus:
        """The bytes of an uploaded file.

        Args:
            maximum: how many lines it may have; None: any number.

        Raises:
            UnreadableText: it is no text, no UTF-8, or larger than `MAX_MEGABYTES`; see the message.
            EmptyText: there is no sentence in it.
            AttnvizError: it has too many lines.
        """
        refuse_other_files(content, name, MAX_MEGABYTES)
        return cls._checked(content, name, maximum)

    @classmethod
    def from_file(cls, file: Path) -> Corpus:
        """A file, which is read as often as it is iterated, and never held.

        Raises:
            UnreadableText, EmptyText: as for `from_bytes`.
            OSError: it cannot be read.
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
                f"{quoted(name)} is not in UTF-8: {damaged:,} of its {lines:,} lines hold other bytes. It "
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
        """The whole text, for those that are not read line by line.

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
    """The sentences that ship with attnviz, of our own writing, one a line."""
    return FILE.read_text("utf-8")


def lines_of(source: Source) -> Iterator[str]:
    """Line by line, without the line ends; bytes that are no UTF-8 come as half characters (surrogates).

    Only one line is held beside the source itself, and none of a file that lies somewhere.
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
    """Whether a line holds what is no character."""
    return _HALF.search(line) is not None


def refuse_other_files(source: Source, name: str, megabytes: int | None = None) -> None:
    """Check the beginning of a file, and for the zeros that no text has.

    Args:
        megabytes: the maximum size of an upload: other programs can ignore the browser's limit
            may send more.

    Raises:
        UnreadableText: it is no plain text in UTF-8, or too large; see the message.
        OSError: it cannot be read.
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
                f"{quoted(name)} is no text in UTF-8: it holds zeros, as pictures, programs and texts in "
                "UTF-16 do. Save it as plain text in UTF-8, and try again."
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
