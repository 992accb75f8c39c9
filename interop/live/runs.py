"""One run: the stream through one rival across one emulated path."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path as File

import numpy as np

from live import measure, stream
from live.end import DRAIN_S, SETTLE_S
from live.paths import Path
from live.rivals import Rival
from whimbrel._simulate.record_format import encode
from whimbrel._simulate.records import Records
from whimbrel.errors import WhimbrelError
from whimbrel.result import Result

LATE_S = 5e-3
"""Lateness of 1 % of the emulator's events above which a run is made again."""
ATTEMPTS = 3
FRAME_MS = 1000 // stream.FRAMES_PER_S
GRACE_S = 600.0
"""For starting and ending programs on a busy machine."""
STARTING = ("chrt", "--rr", "5")
"""Programs start before programs of normal priority, because SRT takes its clock from the handshake, but do
not delay the stream of another run, whose programs have a higher priority."""


class RunError(WhimbrelError):
    """A run cannot be made, or broke off."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A run to make.

    Attributes:
        path: that is emulated.
        rival: that carries the stream.
        budget_ms: for which the rival is set; None if it has no such setting.
        seed: of the path.
    """

    path: Path
    rival: Rival
    budget_ms: int | None
    seed: int

    @property
    def key(self) -> str:
        """The name of its record."""
        budget = "any" if self.budget_ms is None else f"{self.budget_ms}ms"
        return f"{self.path.key}.{self.rival.key}.{budget}.{self.seed}"


@dataclass(frozen=True)
class Bench:
    """The place and the programs with which runs are made.

    Attributes:
        whimbrel: the command.
        out: directory of results.
        frames: length of the stream.
    """

    whimbrel: File
    out: File
    frames: int

    @property
    def records(self) -> Records:
        """The finished runs."""
        return Records(self.out / "records")

    def encodings(self, path: Path) -> list[File]:
        """The files of the encodings for a path, made if they are missing."""
        every = stream.LADDER_KEY_EVERY if path.follows else stream.KEY_EVERY
        folder = self.out / "video"
        return [
            stream.make(folder, rate, self.frames, every, first)
            for rate in path.rates_bps
            for first in path.first_keys
        ]

    def load(self, cell: Cell) -> Result | None:
        """A finished run of this length."""
        found = self.records.load(cell.key)
        return found if found is not None and found.tables["frames"].rows == self.frames else None

    def run(self, cell: Cell) -> Result:
        """Makes a run, again while the machine is too busy for the emulator, and records it.

        Raises:
            RunError: the emulation failed, or an end of it.
        """
        for attempt in range(1, ATTEMPTS + 1):
            result = self._run_once(cell, attempt)
            if float(result.tables["ends"]["lateness_p99_s"][0]) <= LATE_S:
                break
        about = {
            "path": cell.path.key,
            "rival": cell.rival.key,
            "budget_ms": cell.budget_ms,
            "seed": cell.seed,
        }
        self.records.save(cell.key, encode(cell.key, result.tables, about))
        return result

    def _run_once(self, cell: Cell, attempt: int) -> Result:
        folder = self.out / "runs" / cell.key
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        files = self.encodings(cell.path)
        seconds = self.frames / stream.FRAMES_PER_S
        if cell.rival.is_ours:
            key = [str(self.whimbrel), "key", "secret", "--file", str(folder / "secret")]
            subprocess.run(key, check=True, capture_output=True)
        values = {
            "whimbrel": str(self.whimbrel),
            "python": sys.executable,
            "folder": str(folder),
            "budget": str(cell.budget_ms),
            "wait": str((cell.budget_ms or 0) - FRAME_MS),
        }
        plan = {
            "folder": str(folder),
            "encodings": [str(file) for file in files],
            "ladder_bps": cell.path.rates_bps,
            "rate_url": cell.rival.rate_url if cell.path.follows else "",
            "restarts": cell.path.restarts,
            "beside": cell.path.beside(seconds),
        } | {end: cell.rival.commands(end, values) for end in ("camera", "viewer")}
        (folder / "plan.json").write_text(json.dumps(plan, indent=1))
        report = self._emulate(cell, folder, SETTLE_S + seconds + DRAIN_S + GRACE_S)
        if not all((folder / f"{end}.json").exists() for end in ("camera", "viewer")):
            raise RunError(f"{cell.key}: an end broke off: see {folder}")
        said = {end: json.loads((folder / f"{end}.json").read_text()) for end in ("camera", "viewer")}
        ladder = [stream.read(file) for file in files]
        tables = measure.transfer(said["camera"]["sent"], ladder, (folder / "received.bin").read_bytes())
        ends = measure.of_emulation(report) | {
            "camera_cpu_s": said["camera"]["cpu_s"],
            "viewer_cpu_s": said["viewer"]["cpu_s"],
            "beside_bps": measure.of_download(folder / "beside") if cell.path.has_download else np.nan,
            "sender_late_s": said["camera"]["late_s"],
            "attempt": attempt,
        }
        tables["ends"] = {name: np.array([value], dtype=np.float64) for name, value in ends.items()}
        if ended := [end for end in said if said[end]["ended"]]:
            # An ended program is a result: nothing arrived from then on. Its last words explain the end.
            (folder / "ended").write_text(" ".join(ended))
        else:
            shutil.rmtree(folder)
        return Result(tables)

    def _emulate(self, cell: Cell, folder: File, limit_s: float) -> dict[str, object]:
        is_root = os.geteuid() == 0
        ahead = STARTING if is_root else ()
        end = [*ahead, sys.executable, "-m", "live.end"]
        command = [*ahead, str(self.whimbrel), "emulate", str(cell.path.file), "--json", "--quiet"]
        command += ["--seed", str(cell.seed), "--wait", "0s", "--for", f"{limit_s:g}s"]
        command += ["--mtu", str(cell.path.mtu)]
        command += ["--realtime"] if is_root else []
        for name, value in cell.path.values.items():
            command += ["--set", f"{name}={value}"]
        command += ["--end", "viewer=exec " + shlex.join([*end, "viewer", str(folder / "plan.json")])]
        command += ["--at", "camera", "--", *end, "camera", str(folder / "plan.json")]
        here = str(File(__file__).resolve().parent.parent)
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])}
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, env=environment
        )
        (folder / "emulation.log").write_text(done.stderr)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise RunError(f"{cell.key}: the emulation failed ({done.returncode}): {last}")
        report: dict[str, object] = json.loads(done.stdout)
        return report
