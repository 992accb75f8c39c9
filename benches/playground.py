#!/usr/bin/env python3
"""Compares the playground's module with the command: processor time of the same runs.

Usage: benches/playground.py [SCENARIO...] [--command PROGRAM] [--runs N]

Prints the seconds of each and the module's speed as a share of the command's, for packaged scenarios; the
records of both must be the same. Needs `node`, whose compiler is Chromium's, and the builds of
`make playground` and `make extension`. The module's first two runs are not counted: its code is compiled
while it runs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
MODULE = ROOT / "target" / "wasm32-unknown-unknown" / "playground" / "whimbrel_playground.wasm"
SCENARIOS = ("tcp_dumbbell", "media", "mesh", "home_ax", "drive")
SEED = "1"

DRIVER = """
const { readFileSync } = require("node:fs");
const [wasm, scenario, seed, runs, ...files] = process.argv.slice(1);
const module = new WebAssembly.Module(readFileSync(wasm));
const simulate = () => {
  const { exports } = new WebAssembly.Instance(module, {});
  const give = (...parts) => {
    const all = Buffer.concat(parts);
    const place = exports.input(all.length);
    new Uint8Array(exports.memory.buffer).set(all, place);
  };
  for (const file of files) {
    const name = Buffer.from(file.split("/").slice(-2).join("/"));
    give(name, readFileSync(file));
    exports.add_file(name.length);
  }
  give(readFileSync(scenario));
  exports.start(BigInt(seed), 20000, false);
  while (!exports.advance(1000));
  const length = exports.record();
  return Buffer.from(exports.memory.buffer, exports.output(), length).toString();
};
const record = simulate();
simulate();
// The compiler's threads finish.
setTimeout(() => {
  const before = process.cpuUsage();
  for (let run = 0; run < runs; run++) simulate();
  console.log(JSON.stringify({ seconds: process.cpuUsage(before).user / 1e6 / runs, record }));
}, 2000);
"""


def of_module(scenario: Path, runs: int) -> tuple[float, str]:
    """Seconds of processor time and the record."""
    described = tomllib.loads((EXAMPLES / "files.toml").read_text(encoding="utf-8"))
    names = [f"{folder}/{file}" for folder in ("scenarios", "traces") for file in described[folder]]
    files = [str(EXAMPLES / name) for name in names if not name.endswith(".toml")]
    command = ["node", "-e", DRIVER, str(MODULE), str(scenario), SEED, str(runs), *files]
    given = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return given["seconds"], given["record"]


def of_command(arguments: list[str], runs: int) -> tuple[float, str]:
    """The least seconds of processor time, and the output."""
    found, output = [], ""
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        output = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout
        found.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    return min(found), output


def main() -> int:
    """Runs the comparison."""
    parser = argparse.ArgumentParser(description="Compares the playground's module with the command.")
    parser.add_argument("scenario", nargs="*", default=SCENARIOS)
    parser.add_argument("--command", default=str(ROOT / ".venv" / "bin" / "whimbrel"))
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    start, _ = of_command([given.command, "--version"], given.runs)
    for name in given.scenario:
        scenario = EXAMPLES / "scenarios" / f"{name}.toml"
        command = [given.command, "run", str(scenario), "--seed", SEED, "--json", "--quiet"]
        native, expected = of_command(command, given.runs)
        module, record = of_module(scenario, given.runs)
        if record != expected:
            print(f"{name}: the records differ", file=sys.stderr)
            return 1
        digest = hashlib.sha256(record.encode()).hexdigest()[:12]
        share = (native - start) / module
        print(f"{name}: {native - start:.3f} s, module {module:.3f} s: {share:.2f} of its speed ({digest})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
