"""Text files of users, and text on terminals of other encodings."""

from __future__ import annotations

import codecs
import contextlib
import io
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO, cast

from whimbrel.errors import printable

MOST_BYTES = 1 << 30
"""The largest file that is read as text."""
MOST_LINE_BYTES = 1 << 20
"""The longest line of a file that is read line by line."""


def read(path: Path, most: int = MOST_BYTES) -> str:
    """The text of a file in UTF-8, with or without a byte order mark.

    Raises:
        OSError: it cannot be read.
        ValueError: it is in another encoding or too large; the message names the remedy.
    """
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it has more than {most} bytes")
    return _decoded(content)


def lines(path: Path, most: int = MOST_BYTES) -> Iterator[str]:
    """The lines of a text, which is read as they are taken.

    Raises:
        OSError: it cannot be read.
        ValueError: it is in another encoding or too large, or has a line of more than `MOST_LINE_BYTES`.
    """
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MOST_LINE_BYTES + 1):
            number += 1
            if len(line) > MOST_LINE_BYTES:
                raise ValueError(f"line {number} has more than {MOST_LINE_BYTES} bytes")
            if file.tell() > most:
                raise ValueError(f"it has more than {most} bytes")
            # Some programs end a line with a carriage return alone.
            yield from io.StringIO(_decoded(line, number, file.tell() - len(line)))


def _decoded(content: bytes, first: int = 1, start: int = 0) -> str:
    """The text of bytes that begin in the line `first`, at the byte `start` of the file."""
    if first == 1 and content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ValueError("it is in UTF-16, as some programs of Windows write: save it as UTF-8")
    try:
        # Line ends as of a file in text mode.
        text = content.decode("utf-8-sig" if first == 1 else "utf-8")
    except UnicodeDecodeError as error:
        line = first + content.count(b"\n", 0, error.start)
        raise ValueError(
            f"it is not in UTF-8 (byte {start + error.start}, in line {line}): save it as UTF-8"
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


_PLAIN = {"±": "+-", "×": "x", "–": "-", "—": "-", "…": "...", "≤": "<=", "≥": ">=", "µ": "u", "→": "->"}


def _transliterated(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_PLAIN.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


class _Guarded:
    """A stream to which only printable text is written."""

    def __init__(self, stream: TextIO) -> None:
        self.unguarded = stream

    def write(self, text: str) -> int:
        """Writes the text, and returns its length as of a plain stream."""
        self.unguarded.write(printable(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Writes the lines."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - everything else of the stream
        return getattr(self.unguarded, name)


def unguarded(stream: TextIO) -> TextIO:
    """The stream itself, for code whose own escape sequences colour the text."""
    return stream.unguarded if isinstance(stream, _Guarded) else stream


@contextlib.contextmanager
def printable_streams() -> Iterator[None]:
    """Lets standard output and error print any text in the encoding that they have, without obeying it.

    Signs that the encoding lacks, as ASCII lacks `±`, are written with others. What a terminal would obey is
    escaped: a message may quote a file.
    """
    codecs.register_error("whimbrel", _transliterated)
    before = sys.stdout, sys.stderr
    for stream in before:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="whimbrel")
    sys.stdout, sys.stderr = (cast(TextIO, _Guarded(unguarded(stream))) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
