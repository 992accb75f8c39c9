"""Identity of the code that makes a run."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from whimbrel._base import ffmpeg
from whimbrel._base.compiled import engine
from whimbrel.errors import MissingExtra


def engine_of(function: Callable[..., Any]) -> str:
    """Identity of a custom run function: Whimbrel as a whole, and the function's file.

    Decoding and scoring are written in Python, so every Python file of the package counts, and the ffmpeg in
    use.
    """
    digest = hashlib.sha256()
    # A function that decodes reports the missing extra itself.
    with contextlib.suppress(MissingExtra):
        digest.update(ffmpeg.version().encode())
    package = Path(__file__).parents[1]
    own = inspect.getsourcefile(function)
    files = sorted(path for path in package.rglob("*.py") if "papers" not in path.relative_to(package).parts)
    for path in [*files, *([Path(own)] if own else [])]:
        digest.update(path.read_bytes())
    return f"{engine()}+{digest.hexdigest()[:16]}"
