"""Loads a script of the repository as a module, for its tests."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def load(script: str) -> ModuleType:
    """The module of a script, whose path is relative to the root of the repository."""
    name = Path(script).stem
    spec = importlib.util.spec_from_file_location(name, ROOT / script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by its name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
