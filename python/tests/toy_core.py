"""A simulator that only draws numbers, with the toy paper as the only one."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from whimbrel import _core

HERE = Path(__file__).parent


class FakeCore(SimpleNamespace):
    """Replaces the compiled part: a number per run, from scenario and seed alone."""

    def __init__(self) -> None:
        super().__init__(__file__=__file__, FILE_KEYS=_core.FILE_KEYS)
        self.calls: list[tuple[dict[str, Any], int, list[str]]] = []

    def quantity(self, kind: str, text: str) -> float:
        return _core.quantity(kind, text)

    def run(self, scenario: str, seed: int, overrides: list[str], *_more: object) -> dict[str, Any]:
        document = json.loads(scenario)
        self.calls.append((document, seed, overrides))
        if document.get("wrong"):
            raise ValueError("wrong is true, expected false")
        # One draw per seed, in every scenario: all schemes have the same luck.
        luck = np.random.default_rng(seed).standard_normal()
        spread = 0.0 if "spread=0" in overrides else document["spread"]
        for override in overrides:
            key, _, value = override.partition("=")
            if key == "mean":
                document["mean"] = float(value.strip('"').split()[0])
        rows = ["a", "b"] if document.get("two") else ["a"]
        values = [document["mean"] + spread * luck + index for index in range(len(rows))]
        codes: object = (np.arange(len(rows), dtype=np.uint32), rows)
        return {"flows": {"flow": codes, "goodput_bps": np.array(values), "lost": np.arange(len(rows))}}

    def examine(self, scenario: str, *_more: object) -> dict[str, Any]:
        document = json.loads(scenario)
        if document.get("wrong"):
            raise ValueError("wrong is true, expected false")
        flows = ["a", "b"] if document.get("two") else ["a"]
        scenery = [False] * len(flows)
        metrics = ["goodput_bps", "lost"]
        found = {"flows": flows, "background": scenery, "metrics": metrics, "is_random": True}
        return {**found, "fixed_recordings": []}

    def parquet(self, name: str, columns: dict[str, Any]) -> bytes:
        return _core.parquet(name, columns)

    def cli(self, argv: Sequence[str]) -> int:
        return len(argv)


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def results(out: Path) -> dict[str, bytes]:
    """Everything but the manifest and the durations of runs."""
    files = {path.relative_to(out).as_posix(): path for path in out.rglob("*") if path.is_file()}
    return {
        name: path.read_bytes()
        for name, path in files.items()
        if not name.endswith(("manifest.json", "index.html", "times.csv"))
    }
