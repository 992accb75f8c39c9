"""Text files of users, and text on terminals of other encodings."""

from __future__ import annotations

import codecs
import io
import sys
from pathlib import Path

MOST_BYTES = 1 << 30
"""The largest file that is read as text."""


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
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ValueError("it is in UTF-16, as some programs of Windows write: save it as UTF-8")
    try:
        # Line ends as of a file in text mode.
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"it is not in UTF-8 (byte {error.start}, in line {line}): save it as UTF-8"
        ) from error


_PLAIN = {"±": "+-", "×": "x", "–": "-", "—": "-", "…": "...", "≤": "<=", "≥": ">=", "µ": "u", "→": "->"}


def _transliterated(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_PLAIN.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


def make_printable() -> None:
    """Lets standard output and error print any text in the encoding that they have.

    Signs that the encoding lacks, as ASCII lacks `±`, are written with others.
    """
    codecs.register_error("whimbrel", _transliterated)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="whimbrel")
