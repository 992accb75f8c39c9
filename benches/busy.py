#!/usr/bin/env python3
"""Many streams through one server: whimbrel relay compared with an SRT listener, each on one core.

Usage: benches/busy.py [--streams 500] [--rates KBIT/S ...] [--seconds 10] [--latency MS] [--flame FILE]

Each stream is a connection of its own; all go to one program. The server runs on the second core, the clients
and the program on the first. Measured are the server's share of its core, the share of the datagrams that the
program gets, and the delay of the latest hundredth; SRT holds datagrams for its latency, which is subtracted.
The rate of each stream is raised until less than 99 % arrive. The last line is JSON.

With `--flame`, the relay is sampled at the lowest rate, and the file gets its flame graph.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from relay import processor_time

ROOT = Path(__file__).resolve().parent.parent
RELEASE = ROOT / "target" / "release"
WHIMBREL, BUSY = RELEASE / "whimbrel", RELEASE / "examples" / "busy"
PORT, SINK = 9200, 9300
KEY = "sixteen-characters"
LEAST = 0.99
ON_CORE = ("taskset", "--cpu-list")
# Stacks are unwound from the stack's bytes, since optimised code has no frame pointers.
SAMPLE = ("perf", "record", "--quiet", "--freq", "199", "--call-graph", "dwarf,8192")
FLAME_TOOLS = ("perf", "inferno-collapse-perf", "inferno-flamegraph")


def commands(name: str, folder: Path, given: argparse.Namespace, rate: float) -> tuple[list[str], list[str]]:
    """The commands of the server and of its clients."""
    load = [str(given.streams), str(rate), str(given.seconds)]
    if name == "whimbrel relay":
        server = [
            str(WHIMBREL),
            "relay",
            "server",
            "--bind",
            f"127.0.0.1:{PORT}",
            "--to",
            f"127.0.0.1:{SINK}",
        ]
        server += ["--key", str(folder / "key.pem"), "--peers", str(folder / "peers")]
        server += ["--latency", f"{given.latency}ms", "--max-peers", str(given.streams)]
        key = (folder / "fingerprint").read_text().strip()
        clients = [str(BUSY), "run", str(folder), f"127.0.0.1:{PORT}", key, f"127.0.0.1:{SINK}"]
        return server, [*clients, *load, str(given.latency)]
    key = KEY if "encrypted" in name else ""
    common = [str(PORT), str(SINK), str(given.latency), key]
    program = str(folder / "srt_busy")
    return [program, "listen", *common], [program, "call", *common, *load]


def measure(
    name: str, folder: Path, given: argparse.Namespace, rate: float, samples: Path | None = None
) -> dict[str, object]:
    """A row: one server with all its clients. With `samples`, the server's stacks are recorded in that file.

    Raises:
        SystemExit: the clients fail.
    """
    server, clients = commands(name, folder, given, rate)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*ON_CORE, "1", *server], cwd=folder, **quiet) as process:
        try:
            time.sleep(1)
            run = [*ON_CORE, "0", *clients]
            with subprocess.Popen(run, cwd=folder, text=True, stdout=subprocess.PIPE) as sender:
                # Its first line comes when all are connected.
                sender.stdout.readline()
                before = processor_time(process.pid)
                if samples:
                    during = ["--pid", str(process.pid), "--", "sleep", str(given.seconds - 1)]
                    subprocess.run([*SAMPLE, "--output", str(samples), *during], check=True)
                last = sender.stdout.readlines()[-1:]
                cost = processor_time(process.pid) - before
            if sender.returncode:
                raise SystemExit(f"{name}: the clients failed")
        finally:
            process.kill()
    found = json.loads(last[0])
    held = 0 if name == "whimbrel relay" else given.latency
    return {
        "program": name,
        "mbps": given.streams * rate / 1e3,
        "delivered": round(found["received"] / found["sent"], 4),
        "server_us": round(cost / max(found["received"], 1) * 1e6, 1),
        "p50_ms": round(found["p50_ms"] - held, 2),
        "p99_ms": round(found["p99_ms"] - held, 2),
    }


def draw_flame_graph(file: Path, folder: Path, given: argparse.Namespace) -> None:
    """Samples the relay at the lowest rate, and draws its stacks.

    Raises:
        SystemExit: a tool is missing.
    """
    for tool in FLAME_TOOLS:
        if shutil.which(tool) is None:
            raise SystemExit(f"missing: {tool}. Install: apt-get install linux-perf; cargo install inferno")
    samples = folder / "perf.data"
    row = measure("whimbrel relay", folder, given, min(given.rates), samples)
    title = f"Relay server: {given.streams} streams, {row['mbps']:.0f} Mbit/s"
    script = ["perf", "script", "--no-inline", "--input", str(samples)]
    draw = ["inferno-flamegraph", "--minwidth", "0.4", "--title", title]
    with (
        subprocess.Popen(script, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as stacks,
        subprocess.Popen(FLAME_TOOLS[1], stdin=stacks.stdout, stdout=subprocess.PIPE) as folded,
        file.open("wb") as out,
    ):
        subprocess.run(draw, stdin=folded.stdout, stdout=out, check=True)


def make_keys(folder: Path, streams: int) -> None:
    """Makes the keys of the server and of the clients, which trust each other."""
    key = str(folder / "key.pem")
    subprocess.run([str(WHIMBREL), "key", "generate", "--file", key], check=True, stdout=subprocess.DEVNULL)
    shown = subprocess.run([str(WHIMBREL), "key", "show", "--file", key], check=True, stdout=subprocess.PIPE)
    (folder / "fingerprint").write_bytes(shown.stdout)
    subprocess.run([str(BUSY), "keys", str(folder), str(streams)], check=True)


def main() -> int:
    """Measures and prints; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument(
        "--rates", type=float, nargs="+", default=[100, 200, 300, 400, 600, 800], help="kbit/s"
    )
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--latency", type=int, default=150, help="budget of repair in ms")
    parser.add_argument("--flame", type=Path, help="draw a flame graph instead (SVG)")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.flame:
            make_keys(folder, given.streams)
            draw_flame_graph(given.flame, folder, given)
            return 0
        names = ["whimbrel relay"]
        if shutil.which("gcc") and Path("/usr/include/srt/srt.h").exists():
            source = str(ROOT / "benches" / "peers" / "srt_busy.c")
            subprocess.run(
                ["gcc", "-O2", "-o", str(folder / "srt_busy"), source, "-lsrt", "-lpthread"], check=True
            )
            names += ["SRT", "SRT, encrypted"]
        else:
            print("SRT left out. Install it with: sudo apt-get install gcc libsrt-openssl-dev")
        make_keys(folder, given.streams)
        for program in names:
            for rate in given.rates:
                row = measure(program, folder, given, rate)
                rows.append(row)
                print(
                    "{program:15} {mbps:5.0f} Mbit/s  {delivered:7.2%} delivered  "
                    "{server_us:5.1f} us a datagram  delay {p50_ms:6.2f}, 99 %: {p99_ms:7.2f} ms".format(
                        **row
                    ),
                    flush=True,
                )
                if row["delivered"] < LEAST:
                    break
    print(json.dumps(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
