"""The compiled part and its identity."""

from __future__ import annotations

import functools
import hashlib
import importlib
from importlib import metadata
from pathlib import Path
from types import ModuleType

from whimbrel.errors import WhimbrelError


@functools.cache
def core() -> ModuleType:
    """The compiled extension.

    Raises:
        WhimbrelError: it is not installed, as in an unbuilt source tree.
    """
    try:
        return importlib.import_module("whimbrel._core")
    except ImportError as error:
        raise WhimbrelError(
            f"the compiled part of whimbrel is missing ({error}): build it with `maturin develop --release`"
        ) from error


def version() -> str:
    """The installed version; `0+source` in an unbuilt source tree."""
    try:
        return metadata.version("whimbrel")
    except metadata.PackageNotFoundError:
        return "0+source"


@functools.cache
def engine() -> str:
    """Version and SHA-256 of the extension, which determine a run's outcome besides scenario and seed.

    Runs of another build are never reused.
    """
    file = core().__file__
    content = Path(file).read_bytes() if file else b""
    return f"{version()}+{hashlib.sha256(content).hexdigest()[:16]}"
