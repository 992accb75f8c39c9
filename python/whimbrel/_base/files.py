"""Files that are written whole or not at all, and the directory of what can be made again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def replace_text(path: Path, text: str) -> None:
    """Writes a text file atomically."""
    replace_bytes(path, text.encode())


def replace_bytes(path: Path, content: bytes) -> None:
    """Writes a file atomically."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def cache_directory() -> Path:
    """`$WHIMBREL_CACHE`, `$XDG_CACHE_HOME/whimbrel`, or `~/.cache/whimbrel`."""
    named = os.environ.get("WHIMBREL_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "whimbrel"


def cached_text(name: str, make: Callable[[], str]) -> str:
    """A text that takes long to make, from the cache if it is there. A cache that cannot be used is ignored.

    Args:
        name: of its file; it contains what changes the text, such as a version.
        make: makes the text.
    """
    # Without a home directory, `Path.home` raises a RuntimeError.
    with suppress(OSError, RuntimeError, UnicodeDecodeError):
        return (cache_directory() / name).read_bytes().decode()
    text = make()
    with suppress(OSError, RuntimeError):
        cache_directory().mkdir(parents=True, exist_ok=True)
        replace_text(cache_directory() / name, text)
    return text
