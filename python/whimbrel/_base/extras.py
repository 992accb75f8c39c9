"""Optional dependencies: the extras of the package, and clear errors where one is missing."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

from whimbrel.errors import MissingExtra

MODULES = {
    "charts": ("scipy", "vl_convert"),
    "video": ("imageio_ffmpeg", "PIL", "scipy"),
    "tables": ("pandas", "polars"),
    "cluster": ("distributed",),
    "learning": ("gymnasium",),
}
"""The modules of each extra of `pyproject.toml` that Whimbrel imports."""


def load(module: str, extra: str, purpose: str) -> ModuleType:
    """Imports a module of an extra.

    Args:
        module: its full name, such as `scipy.special`.
        extra: the extra that installs it, a key of `MODULES`.
        purpose: the subject of the error's sentence, such as `whimbrel reproduce`.

    Raises:
        MissingExtra: the extra is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise _missing(package, extra, purpose) from error


def check(extra: str, purpose: str) -> None:
    """Checks that an extra is installed, without importing it.

    Raises:
        MissingExtra: one of its modules cannot be imported.
    """
    for module in MODULES[extra]:
        if not is_installed(module):
            raise _missing(module, extra, purpose)


def is_installed(module: str) -> bool:
    """True if a module can be imported; it is not imported."""
    return importlib.util.find_spec(module) is not None


def _missing(module: str, extra: str, purpose: str) -> MissingExtra:
    return MissingExtra(f"{purpose} needs {module}, which is not installed: pip install 'whimbrel[{extra}]'")
