"""A scenario from Python: a file or a dict, with changes, and its identity.

The simulator interprets and checks the keys. This module carries a scenario, changes it with `key=value` as
on the command line, and computes its digest, so that a finished run can be found again.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whimbrel._base import compiled, documents, texts
from whimbrel.errors import ScenarioError

_MOST_BYTES = 16 << 20
"""The largest scenario file, as of the simulator."""
_MOST_COMBINATIONS = 100_000
"""The largest sweep."""


@dataclass(frozen=True)
class Scenario:
    """A scenario with the changes to make to it.

    Attributes:
        document: the tables of a scenario, as in TOML.
        overrides: `key=value` each, such as `link.bottleneck.rate=2 Mbit/s`; applied in order.
        base: the directory in which relative file names start.
    """

    document: Mapping[str, Any]
    overrides: tuple[str, ...] = ()
    base: Path = field(default_factory=Path)

    def __post_init__(self) -> None:
        try:
            documents.check_depth(self.document)
        except ValueError as error:
            raise ScenarioError(f"the scenario cannot be read: {error}") from error

    @classmethod
    def from_file(cls, path: Path) -> Scenario:
        """Reads a file: JSON where its name ends in `.json`, else TOML.

        Raises:
            ScenarioError: it cannot be read, or is not of that form.
        """
        try:
            text = texts.read(path, _MOST_BYTES)
            table = documents.json_value(text) if path.suffix == ".json" else documents.toml_table(text)
        except OSError as error:
            raise ScenarioError(f"{path}: {error.strerror or error}") from error
        except ValueError as error:
            raise ScenarioError(f"{path}: {error}") from error
        if not isinstance(table, dict):
            raise ScenarioError(f"{path}: expected a table (a JSON object)")
        return cls(table, base=path.parent)

    @classmethod
    def of(cls, given: Scenario | Mapping[str, Any] | Path | str) -> Scenario:
        """A scenario from one of its representations: itself, a dict or the name of a file."""
        if isinstance(given, Scenario):
            return given
        if isinstance(given, (str, Path)):
            return cls.from_file(Path(given))
        return cls(given)

    def changed(self, *overrides: str) -> Scenario:
        """The scenario with more changes.

        Raises:
            ScenarioError: a change without a key, or without `=`.
        """
        for override in overrides:
            key, separator, _ = override.partition("=")
            if not key.strip() or not separator:
                raise ScenarioError(f"{override!r} is not a change: expected key=value")
        # The document was checked; to check it for each combination of a long sweep takes minutes.
        other = copy.copy(self)
        object.__setattr__(other, "overrides", (*self.overrides, *overrides))
        return other

    def text(self) -> str:
        """The document as JSON, without its sweep: the same tables give the same text."""
        return _json({key: value for key, value in self.document.items() if key != "sweep"})

    def whole_text(self) -> str:
        """The same with its sweep, which the simulator checks as well, and in which variables may be used."""
        return _json(dict(self.document))

    def digest(self) -> str:
        """Identity of the scenario: SHA-256 of its tables, its changes and the files that it refers to."""
        digest = hashlib.sha256()
        digest.update(json.dumps([self.text(), *self.overrides], ensure_ascii=False).encode())
        # A combination does not depend on files of other combinations.
        for name in self._files({key: value for key, value in self.document.items() if key != "sweep"}):
            digest.update(hashlib.sha256((self.base / name).read_bytes()).digest())
        return digest.hexdigest()

    def files(self) -> Iterator[str]:
        """Files named by the scenario, as given there: their content is a part of it."""
        return self._files(self.document)

    def _files(self, document: Mapping[str, Any]) -> Iterator[str]:
        changes = {text.partition("=")[0].strip(): override_value(text) for text in self.overrides}
        strings = [*_strings(document), *_strings(changes)]
        named = [text for key, text in strings if key[-1] in compiled.core().FILE_KEYS]
        used = {name.removeprefix("$") for name in named if name.startswith("$")}
        for key, name in strings:
            is_variable = key[-2:-1] == ["variables"]
            if key[-1] not in (used if is_variable else compiled.core().FILE_KEYS):
                continue
            try:
                if name and (self.base / name).is_file():
                    yield name
            except (OSError, ValueError):
                continue

    def sweep(self) -> list[tuple[dict[str, Any], Scenario]]:
        """Every combination of the values in `[sweep]`, the last key varying fastest.

        A key without a dot is a name for keys that change together; each of its values is a table of these
        keys, with a `name` of its own.

        Returns:
            For every combination its values by key, and the scenario with these values; without a `[sweep]`
            one empty combination.

        Raises:
            ScenarioError: a key of `[sweep]` that is not a list of at least one value, or lists one twice; or
                too many combinations.
        """
        lists = self.document.get("sweep", {})
        for key, values in lists.items():
            if not isinstance(values, Sequence) or isinstance(values, str) or not values:
                raise ScenarioError(f"sweep.{key} is {values!r}, not a list of at least one value")
        combinations = math.prod(map(len, lists.values()))
        if combinations > _MOST_COMBINATIONS:
            raise ScenarioError(
                f"sweep has {combinations} combinations of values: expected at most {_MOST_COMBINATIONS}"
            )
        axes = [[_setting(key, value) for value in values] for key, values in lists.items()]
        for key, axis in zip(lists, axes, strict=True):
            counted = Counter(str(label) for label, _ in axis)
            if twice := next((label for label, count in counted.items() if count > 1), None):
                raise ScenarioError(f"sweep.{key} lists {twice} twice")
        return [
            (
                {key: label for key, (label, _) in zip(lists, combination, strict=True)},
                self.changed(*(change for _, changes in combination for change in changes)),
            )
            for combination in itertools.product(*axes)
        ]


def _setting(key: str, value: Any) -> tuple[Any, list[str]]:  # noqa: ANN401 - any TOML value
    """The name of a value of a sweep, and its changes."""
    if "." not in key and "[" not in key and isinstance(value, Mapping) and "name" in value:
        changes = [f"{name}={toml_value(each)}" for name, each in value.items() if name != "name"]
        return value["name"], changes
    return value, [f"{key}={toml_value(value)}"]


def _json(document: Mapping[str, Any]) -> str:
    try:
        return json.dumps(document, sort_keys=True, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        for key, value in _numbers(document):
            if not math.isfinite(value):
                raise ScenarioError(f"{key} = {value}: expected a finite number") from None
        raise ScenarioError(f"the scenario contains a value that TOML does not support: {error}") from error


def _numbers(value: Any, key: str = "") -> Iterator[tuple[str, float]]:  # noqa: ANN401 - any TOML value
    """The numbers of a document with their keys."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _numbers(each, f"{key}.{name}" if key else str(name))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index, each in enumerate(value):
            yield from _numbers(each, f"{key}[{index}]")
    elif isinstance(value, float):
        yield key, value


def override_value(override: str) -> Any:  # noqa: ANN401 - any TOML value
    """The value of a `key=value`: TOML, or otherwise a plain string, as the simulator reads it."""
    given = override.partition("=")[2].strip()
    try:
        table = documents.toml_table(f"value = {given}")
    except ValueError:
        return given
    return table["value"] if len(table) == 1 else given


def toml_value(value: Any) -> str:  # noqa: ANN401 - any TOML value
    """A value in TOML, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        # A JSON string is a TOML basic string, except for DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_value(str(k))} = {toml_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, Sequence):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    raise ScenarioError(f"{value!r} is not a TOML value")


def _strings(value: Any, key: Sequence[str] = ("",)) -> Iterator[tuple[list[str], str]]:  # noqa: ANN401
    """Strings of a TOML value, and the parts of their keys; keys of a sweep have dots."""
    if isinstance(value, str):
        yield list(key), value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _strings(item, [*key, *str(name).split(".")])
    elif isinstance(value, Sequence):
        for item in value:
            yield from _strings(item, key)
