"""Transfer of a scenario to another machine, with the files that it refers to.

A scenario may refer to files: traces, loss masks, video schedules. They are a part of it, as in its digest,
and are sent with it, so that other machines need no shared file system. The receiver lays them out in a
directory of their own in the same places relative to each other, under their original names.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from whimbrel._base import documents
from whimbrel._simulate.scenario import Scenario, override_value, toml_value


@dataclass(frozen=True)
class NamedFile:
    """A file that a scenario refers to.

    Attributes:
        name: as given in the scenario.
        place: the same as an absolute path, on the machine that it comes from.
        digest: SHA-256 of its content.
    """

    name: str
    place: str
    digest: str


@dataclass(frozen=True)
class Packed:
    """A scenario of plain values, and the files that it refers to.

    Attributes:
        scenario: equal to the one that was packed; its `base` is absolute.
        files: that it refers to, without their content.
    """

    scenario: Scenario
    files: tuple[NamedFile, ...] = ()


def pack(scenario: Scenario) -> tuple[Packed, dict[str, bytes]]:
    """A scenario packed for transfer, and the content of its files by digest."""
    base = os.path.abspath(scenario.base)  # noqa: PTH100 - `resolve` would follow links
    files: list[NamedFile] = []
    contents: dict[str, bytes] = {}
    for name in dict.fromkeys(scenario.files()):
        content = (scenario.base / name).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        contents[digest] = content
        files.append(NamedFile(name, os.path.normpath(os.path.join(base, name)), digest))  # noqa: PTH118
    plain = Scenario(documents.json_value(scenario.whole_text()), scenario.overrides, Path(base))
    return Packed(plain, tuple(files)), contents


def unpack(packed: Packed, contents: Mapping[str, bytes], directory: Path) -> Scenario:
    """Lays out the files of a scenario.

    Args:
        packed: the scenario.
        contents: of its files, by digest.
        directory: everything is written below it; other scenarios may have been laid out in it.

    Returns:
        The scenario with its files there.
    """

    def below(place: str) -> str:
        return f"{directory}{os.sep}{place.lstrip(os.sep)}"

    base = below(str(packed.scenario.base))
    moved: dict[str, str] = {}
    for file in packed.files:
        path = Path(below(file.place))
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_bytes(contents[file.digest])
        if os.path.isabs(file.name):  # noqa: PTH117 - of a name, not a path
            moved[file.name] = str(path)
        else:
            # A name such as `traces/../walk.csv` passes through a directory with no file in it.
            os.makedirs(os.path.dirname(f"{base}{os.sep}{file.name}"), exist_ok=True)  # noqa: PTH103, PTH120
    scenario = replace(packed.scenario, base=Path(base))
    return renamed(scenario, moved) if moved else scenario


def renamed(scenario: Scenario, moved: Mapping[str, str]) -> Scenario:
    """A scenario whose strings that are keys of `moved` are replaced by its values."""

    def override(text: str) -> str:
        value = override_value(text)
        renamed = _replaced(value, moved)
        return text if renamed == value else f"{text.partition('=')[0]}={toml_value(renamed)}"

    return replace(
        scenario,
        document=_replaced(scenario.document, moved),
        overrides=tuple(override(each) for each in scenario.overrides),
    )


def _replaced(value: Any, moved: Mapping[str, str]) -> Any:  # noqa: ANN401 - any TOML value
    if isinstance(value, str):
        return moved.get(value, value)
    if isinstance(value, Mapping):
        return {key: _replaced(item, moved) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_replaced(item, moved) for item in value]
    return value
