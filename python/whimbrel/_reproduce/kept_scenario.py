"""The scenario of a sweep, kept with its results: results outlive the place of the file that they are of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from whimbrel._base import documents
from whimbrel._base.files import replace_text
from whimbrel._campaigns import travel
from whimbrel._simulate.scenario import Scenario
from whimbrel.errors import PaperError

FOLDER = "scenario"
"""Name of the folder, within the sweep's folder."""
_FILES = "files"
_NAMES = f"{_FILES}/names.json"


def keep(scenario: Scenario, group: Path) -> Scenario:
    """Writes a scenario and the files that it refers to, and returns it as it is read from there.

    Args:
        scenario: of the sweep, with its changes.
        group: folder of the sweep, whose name the file gets.
    """
    folder = group / FOLDER
    packed, contents = travel.pack(scenario)
    names = {file.name: f"{_FILES}/{file.digest[:12]}-{Path(file.name).name}" for file in packed.files}
    (folder / _FILES).mkdir(parents=True, exist_ok=True)
    for file in packed.files:
        (folder / names[file.name]).write_bytes(contents[file.digest])
    there = replace(travel.renamed(packed.scenario, names), base=folder)
    text = json.dumps(there.document, indent=1, ensure_ascii=False)
    replace_text(path_of(group), text + "\n")
    replace_text(folder / _NAMES, json.dumps(names, indent=1, ensure_ascii=False) + "\n")
    return there


def path_of(group: Path) -> Path:
    """The file with the scenario of a sweep."""
    return group / FOLDER / f"{group.name}.json"


def names(group: Path) -> Mapping[str, str]:
    """The new names of the scenario's files, by the names that they had.

    Raises:
        PaperError: the results are of a version that did not keep scenarios.
    """
    try:
        found = documents.read_json(group / FOLDER / _NAMES)
        return {str(name): str(there) for name, there in found.items()}
    except (OSError, ValueError, AttributeError) as error:
        raise PaperError(
            f"{group} lacks the scenario of its sweep: repeat the sweep, whose runs are kept ({error})"
        ) from error
