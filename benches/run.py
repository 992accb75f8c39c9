#!/usr/bin/env python3
"""Benchmarks compared with peers: ns-2, ns-3 (simulator) and QUIC, raw UDP (sockets), SRT and RIST (relay).

Usage: benches/run.py [--out out/bench] [--rounds 3] [--only SECTION] [--page docs/speed.md]

Sections: simulator, mobile, parts, sockets, relay, busy, campaign. With `--only` the others keep what OUT
has.

`parts` measures the cost per packet of single parts: the codec, each loss classifier, the reordering buffer,
the protocol, the loss models, and the router laws of explicit rate control, also as shares of the cost of an
egress with a drop-tail queue.

Figures are processor seconds, because wall time on shared machines is noise; ratios compare medians of
alternating rounds. A missing peer is skipped, with the command that installs it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import speed_page

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "benches" / "peers"
PARTS = {
    "whimbrel-wire": ["codec"],
    "whimbrel-control": ["explicit_rate", "loss_differentiation", "reordering"],
    "whimbrel-proto": ["exchange"],
    "whimbrel-netsim": ["drop_tail", "impairment"],
    "whimbrel-repair": ["code"],
}
"""Crates of the measured parts, and their benches."""
CRITERION = ("--noplot", "--quiet", "--warm-up-time", "0.5", "--measurement-time", "2")
NS3_LIBRARIES = ("core", "network", "internet", "applications", "traffic-control", "point-to-point")
NS3_WIRELESS = ("core", "network", "internet", "applications", "mobility", "propagation", "wifi", "dsdv")
NS3_CELL = ("core", "network", "internet", "applications", "mobility", "propagation", "wifi")
NS3_LTE = ("core", "network", "internet", "applications", "mobility", "propagation", "point-to-point", "lte")
SECTIONS = ("simulator", "mobile", "parts", "sockets", "relay", "busy", "campaign")
SCALES = (50, 100, 200, 500)
"""Nodes of networks of equal density."""


@dataclass(frozen=True)
class Cost:
    """The cost of one process."""

    cpu_s: float
    memory_mb: float
    output: str
    rounds_s: tuple[float, ...] = ()
    """Of several runs: processor time of each."""


def run(command: list[str], cwd: Path = ROOT) -> Cost:
    """Runs a command to its end; raises CalledProcessError if it fails."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, cwd=cwd, stdout=output)
        # Of this process alone, without other children.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command, text)
    scale = 1e6 if sys.platform == "darwin" else 1e3
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / scale, text)


def alternate(commands: dict[str, list[str]], rounds: int) -> dict[str, Cost]:
    """Runs the commands in turn, `rounds` times; returns each one's median cost and largest memory."""
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            costs[name].append(run(command))
    return {
        name: Cost(
            statistics.median(c.cpu_s for c in each),
            max(c.memory_mb for c in each),
            each[-1].output,
            tuple(c.cpu_s for c in each),
        )
        for name, each in costs.items()
    }


def compared(peer: str, ours: Cost, theirs: Cost) -> dict[str, object]:
    """The fields of a row with a peer: its costs, and how many times faster ours is, and in the rounds."""
    ratios = [other / max(own, 1e-9) for own, other in zip(ours.rounds_s, theirs.rounds_s, strict=True)]
    return {
        "peer": peer,
        "peer_cpu_s": theirs.cpu_s,
        "peer_memory_mb": theirs.memory_mb,
        "times_faster": theirs.cpu_s / max(ours.cpu_s, 1e-9),
        "from": min(ratios),
        "to": max(ratios),
    }


def ns3_command(folder: Path, name: str, libraries: tuple[str, ...], *options: str) -> list[str] | None:
    """The command of an ns-3 program, built if ns-3 is there. Debian's pkg-config files are broken."""
    if not Path("/usr/include/ns3").exists():
        print("ns-3 left out. Install it with: sudo apt-get install libns3-dev")
        return None
    program = folder / f"ns3_{name}"
    source = PEERS / f"{name}.cc"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        flags = ["-O3", "-march=native", "-std=c++17", "-DNDEBUG"]
        linked = [f"-lns3-{library}" for library in libraries]
        subprocess.run(["g++", *flags, str(source), "-o", str(program), *linked], check=True)
    return [str(program), *options]


def example(name: str, crate: str = "whimbrel-lab") -> str:
    """Builds an example of a crate and returns the path of its program."""
    build = ["cargo", "build", "--quiet", "--release", "-p", crate, "--example", name]
    subprocess.run(build, cwd=ROOT, check=True)
    return str(ROOT / "target" / "release" / "examples" / name)


def simulator(folder: Path, rounds: int) -> list[dict[str, object]]:
    """F1 and F3 compared with ns-2, N1, AX and L100 with ns-3."""
    speed = example("speed")
    tcl: dict[str, list[str]] = {}
    if shutil.which("ns"):
        tcl = {
            "F1": ["ns", str(PEERS / "f1_dumbbell.tcl")],
            "F3": ["ns", str(PEERS / "lda.tcl"), "WB", "TFRC", "16", "1"],
        }
    else:
        print("ns-2 left out. Install it with: sudo apt-get install ns2")
    cases: list[tuple[str, str, list[str], list[str] | None]] = [
        *((case, "ns-2", [speed, case], tcl.get(case)) for case in ("F1", "F3")),
        ("N1", "ns-3", [speed, "N1"], ns3_command(folder, "dumbbell", NS3_LIBRARIES)),
        ("AX", "ns-3", [speed, "AX"], ns3_command(folder, "ax", NS3_CELL)),
    ]
    drive, seconds = example("drive", "whimbrel-cell"), "10"
    lte = ns3_command(folder, "lte", NS3_LTE, f"--seconds={seconds}")
    cases.append(("L100", "ns-3", [drive, "--seconds", seconds], lte))
    return compare(cases, rounds)


def compare(
    cases: list[tuple[str, str, list[str], list[str] | None]], rounds: int
) -> list[dict[str, object]]:
    """The rows of cases: a name, a peer's, our command and the peer's. ns-3 takes minutes: it runs once."""
    rows: list[dict[str, object]] = []
    for case, peer, command, rival in cases:
        commands = {"ours": command} | ({"peer": rival} if rival else {})
        costs = alternate(commands, rounds if peer == "ns-2" else 1)
        names, values = (line.split() for line in costs["ours"].output.splitlines())
        row: dict[str, object] = {
            "case": case,
            "cpu_s": costs["ours"].cpu_s,
            "memory_mb": costs["ours"].memory_mb,
            "figures": dict(zip(names, values, strict=True)),
        }
        if rival:
            row |= compared(peer, costs["ours"], costs["peer"])
        rows.append(row)
        print(json.dumps(row))
    return rows


def mobile(folder: Path, rounds: int) -> list[dict[str, object]]:
    """Mobile 802.11 nodes: F2 compared with ns-2, N2 with ns-3, and the cost of larger networks."""
    ours = example("manet")
    movements = str(PEERS / "mob50.tcl")
    ns2 = ["ns", str(PEERS / "manet.tcl"), movements] if shutil.which("ns") else None
    if not ns2:
        print("ns-2 left out. Install it with: sudo apt-get install ns2")
    ns3 = ns3_command(folder, "manet", NS3_WIRELESS)
    slow = ["interval", "0.25", "rts", "3000"]
    cases: list[tuple[str, str, list[str], list[str] | None]] = [
        ("F2", "ns-2", [ours, movements], ns2),
        ("N2", "ns-3", [ours, movements, *slow], ns3),
        *(
            (f"{nodes} nodes", "", [ours, str(nodes), "flows", str(nodes * 2 // 5), *slow], None)
            for nodes in SCALES
        ),
        ("256 nodes, 300 s", "", [ours, "256", "flows", "128", "duration", "300", *slow], None),
    ]
    return compare(cases, rounds)


def sockets() -> list[dict[str, object]]:
    """DCCP over UDP, raw UDP and QUIC DATAGRAM on loopback."""
    folder = ROOT / "benches" / "sockets"
    target = str(ROOT / "target" / "sockets")
    subprocess.run(["cargo", "build", "--quiet", "--release", "--target-dir", target], cwd=folder, check=True)
    cost = run([f"{target}/release/whimbrel-bench-sockets"])
    print(cost.output)
    rows: list[dict[str, object]] = json.loads(cost.output)
    return rows


def relay() -> list[dict[str, object]]:
    """A video of 6 Mbit/s with repair through the relay, SRT and RIST on loopback."""
    subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "whimbrel-cli"], cwd=ROOT, check=True)
    cost = run([sys.executable, str(ROOT / "benches" / "relay.py")])
    print(cost.output)
    rows: list[dict[str, object]] = json.loads(cost.output.splitlines()[-1])
    return rows


def busy() -> list[dict[str, object]]:
    """500 streams through one relay server, compared with an SRT listener."""
    build = ["cargo", "build", "--quiet", "--release"]
    subprocess.run([*build, "-p", "whimbrel-cli"], cwd=ROOT, check=True)
    subprocess.run([*build, "-p", "whimbrel-relay", "--example", "busy"], cwd=ROOT, check=True)
    cost = run([sys.executable, str(ROOT / "benches" / "busy.py")])
    print(cost.output)
    rows: list[dict[str, object]] = json.loads(cost.output.splitlines()[-1])
    return rows


def campaign() -> list[dict[str, object]]:
    """The same campaign by local threads and by two workers of a Dask cluster."""
    cost = run([sys.executable, str(ROOT / "benches" / "campaign.py")])
    print(cost.output)
    return [json.loads(line) for line in cost.output.splitlines()]


def parts() -> list[dict[str, object]]:
    """Cost per packet of each part with a bench of its own, in nanoseconds, by criterion."""
    results = ROOT / "target" / "criterion"
    shutil.rmtree(results, ignore_errors=True)
    crates = [word for crate in PARTS for word in ("-p", crate)]
    named = [word for benches in PARTS.values() for bench in benches for word in ("--bench", bench)]
    subprocess.run(["cargo", "bench", "--quiet", *crates, *named, "--", *CRITERION], cwd=ROOT, check=True)
    rows: list[dict[str, object]] = []
    for estimates in sorted(results.glob("**/new/estimates.json")):
        bench = json.loads((estimates.parent / "benchmark.json").read_text())
        elements = (bench["throughput"] or {}).get("Elements", 1)
        time = json.loads(estimates.read_text())["median"]
        low, high = (time["confidence_interval"][f"{end}_bound"] / elements for end in ("lower", "upper"))
        rows.append(
            {"part": bench["full_id"], "ns": time["point_estimate"] / elements, "from": low, "to": high}
        )
    relate_laws(rows)
    for row in rows:
        share = "  {to_drop_tail:.3f} of an egress" if "to_drop_tail" in row else ""
        print(("{part:48} {ns:8.1f} ns [{from:.1f}, {to:.1f}]" + share).format(**row))
    return rows


def relate_laws(rows: list[dict[str, object]]) -> None:
    """Adds to each router law its cost, as a share of the cost of an egress with only a drop-tail queue."""
    costs = {str(row["part"]): float(str(row["ns"])) for row in rows}
    for row in rows:
        if str(row["part"]).startswith("router_law/"):
            row["to_drop_tail"] = costs[str(row["part"])] / costs["egress/drop_tail"]


def main() -> int:
    """Runs the selected benchmarks; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "bench")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=SECTIONS)
    parser.add_argument("--page", type=Path, help="write the tables as a page")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    file = arguments.out / "bench.json"
    record: dict[str, object] = json.loads(file.read_text()) if arguments.only and file.exists() else {}
    if arguments.only in (None, "parts"):
        record["parts"] = parts()
    if arguments.only in (None, "simulator"):
        record["simulator"] = simulator(arguments.out, arguments.rounds)
    if arguments.only in (None, "mobile"):
        record["mobile"] = mobile(arguments.out, arguments.rounds)
    if arguments.only in (None, "sockets"):
        record["sockets"] = sockets()
    if arguments.only in (None, "relay"):
        record["relay"] = relay()
    if arguments.only in (None, "busy"):
        record["busy"] = busy()
    if arguments.only in (None, "campaign"):
        record["campaign"] = campaign()
    file.write_text(json.dumps(record, indent=2) + "\n")
    print(f"written to {file}")
    if arguments.page:
        arguments.page.write_text(speed_page.page(record), encoding="utf-8")
        print(f"written to {arguments.page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
