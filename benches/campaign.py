#!/usr/bin/env python3
"""Compares the cost of runs made alone, by threads, and by two workers of a Dask cluster.

Usage: benches/campaign.py [--seeds 20] [--rounds 3] [--flows 1 4 16]

All three make the same runs: paper lda's two topologies with three schemes. `alone` is the simulator in a
loop: no records, no measurements. The others write the same records, which is checked. Figures are medians of
alternating rounds, in processor seconds of all processes involved, from the first run to the last. An idle
cluster has a cost, too, per second and not per run: heartbeats, and a profiler in every worker. `busy_s`
excludes that. Wall time is meaningful only on an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python" / "tests")]

from dask_cluster import DaskCluster  # noqa: E402 - lies next to the tests

import whimbrel  # noqa: E402
from whimbrel import Campaign, Case  # noqa: E402
from whimbrel.cluster import Local, Scheduler, connected  # noqa: E402
from whimbrel.papers.lda import measures, topology  # noqa: E402
from whimbrel.result import Result  # noqa: E402
from whimbrel.statistics import Precision  # noqa: E402

IDLE_S = 5.0
"""Seconds for which an idle cluster is observed."""

SCHEMES = ("tcp", "tfrc", "omniscient")


def cases(flows: Iterable[int]) -> list[Case]:
    """The cells of a table of the paper, measured as in the paper's tables."""

    def case(name: str, scheme: str, count: int) -> Case:
        def measure(result: Result) -> Mapping[str, float]:
            return measures.measure(result, count, scheme, name=name)

        return Case(f"{name} {scheme} {count}", topology.scenario(name, scheme, flows=count), measure)

    return [case(name, scheme, count) for name in ("WLH", "WB") for scheme in SCHEMES for count in flows]


def cost(processes: list[psutil.Process], work: Callable[[], object]) -> tuple[float, float]:
    """Processor seconds of the processes and wall-clock seconds that `work` takes."""

    def cpu() -> float:
        return sum(sum(process.cpu_times()[:2]) for process in processes)

    before, start = cpu(), time.perf_counter()
    work()
    return cpu() - before, time.perf_counter() - start


def main() -> int:
    """Prints a line of JSON per method, and the ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--flows", type=int, nargs="+", default=[1, 4, 16])
    given = parser.parse_args()
    asked = cases(given.flows)
    runs = len(asked) * given.seeds
    me = psutil.Process()
    costs: dict[str, list[tuple[float, float]]] = {"alone": [], "threads": [], "cluster": []}

    def alone() -> None:
        for case in asked:
            for seed in range(1, given.seeds + 1):
                whimbrel.run(case.scenario, seed)

    def campaign(directory: Path, who: Scheduler) -> Callable[[], object]:
        each = Campaign(directory, precision=Precision.exactly(given.seeds), scheduler=who)
        return lambda: each.execute(asked)

    with tempfile.TemporaryDirectory(prefix="whimbrel-bench-") as folder:
        (Path(folder) / "dask").mkdir()
        with DaskCluster(Path(folder) / "dask", workers=2) as dask:
            everybody = [me, *(psutil.Process(each.pid) for each in (dask.scheduler, *dask.workers))]
            idle, elapsed = cost(everybody, lambda: time.sleep(IDLE_S))
            idle /= elapsed
            for number in range(given.rounds):
                here, there = Path(folder) / f"here{number}", Path(folder) / f"there{number}"
                costs["alone"].append(cost([me], alone))
                costs["threads"].append(cost([me], campaign(here, Local(2))))
                # Connected anew each time, so that the costs of runs are estimated anew, too.
                with connected(dask.address) as who:
                    costs["cluster"].append(cost(everybody, campaign(there, who)))
                records = [
                    {path.name: path.read_bytes() for path in each.iterdir()} for each in (here, there)
                ]
                if records[0] != records[1] or len(records[0]) != runs:
                    raise SystemExit("the cluster did not produce the same records")
    rows = {way: row(runs, each, idle if way == "cluster" else 0.0) for way, each in costs.items()}
    for way, figures in rows.items():
        print(json.dumps({"way": way, **figures}))
    print(json.dumps({"idle cluster": "cpu seconds per second", "cpu_s": round(idle, 3)}))
    for more, less in (("threads", "alone"), ("cluster", "threads")):
        ratio = {
            each: round(rows[more][each] / rows[less][each], 3) for each in ("busy_s", "cpu_s", "wall_s")
        }
        print(json.dumps({"ratio": f"{more} / {less}", **ratio}))
    return 0


def row(runs: int, costs: list[tuple[float, float]], idle: float) -> dict[str, float]:
    """Medians of the rounds; `idle` is the cost of the processes per second without work."""
    busy = statistics.median(cpu - idle * wall for cpu, wall in costs)
    return {
        "runs": runs,
        "busy_s": round(busy, 3),
        "cpu_s": round(statistics.median(cpu for cpu, _ in costs), 3),
        "wall_s": round(statistics.median(wall for _, wall in costs), 3),
        "busy_ms_per_run": round(1000 * busy / runs, 3),
    }


if __name__ == "__main__":
    sys.exit(main())
