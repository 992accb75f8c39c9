"""Charts of a sweep in addition to its table: rates over time under the capacity, and delay distributions.

The charts show the first run of each combination, if the scenario records intervals (`record.interval`) and
packets (`record.packets`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whimbrel import figures
from whimbrel._reproduce.plan import RECORDS, Plan, results
from whimbrel._reproduce.sweep import compared
from whimbrel._simulate.records import Records
from whimbrel._simulate.result import Result
from whimbrel._values.sheet import POSITIVE, SHARE
from whimbrel.errors import printable
from whimbrel.figures import Chart

MOST = 8
"""Curves of a chart: there are no more colours that can be told apart."""
QUANTILES = 201
"""Points of a distribution."""
_CAPACITY = "capacity "
"""The beginning of the names of capacities."""

_Curve = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


def charts(plan: Plan, out: Path) -> dict[str, Chart]:
    """The charts by name; none of what is not recorded."""
    records = Records(out / plan.group / RECORDS)
    runs = {each.row: results(records, each.keys[:1])[0] for each in plan.cells}
    about = [f"Sweep: {printable(str(plan.details['title']))}", _seeds(plan)]
    found: dict[str, Chart] = {}
    if rates := _first(_rates(runs)):
        found["rate_over_time"] = figures.series(
            "Throughput over time",
            rates,
            "time (s)",
            "Mbit/s",
            within=POSITIVE,
            about=about,
            below=[name for name in rates if name.startswith(_CAPACITY)],
        )
    if delays := _first(_delays(runs)):
        found["delay_distribution"] = figures.series(
            "Delays of packets",
            delays,
            "delay (ms)",
            "share of the packets below it",
            within=SHARE,
            about=about,
        )
    return found


def _seeds(plan: Plan) -> str:
    """The seeds of the runs that are drawn, and of all runs: `seed 1 of seeds 1 to 5`."""
    drawn = sorted({cell.seeds[0] for cell in plan.cells})
    every = sorted({seed for cell in plan.cells for seed in cell.seeds})
    return _listed(drawn) if drawn == every else f"{_listed(drawn)} of {_listed(every)}"


def _listed(seeds: list[int]) -> str:
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    if seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"seeds {seeds[0]} to {seeds[-1]}"
    return f"{len(seeds)} seeds from {seeds[0]} to {seeds[-1]}"


def _first(curves: Iterator[tuple[str, _Curve]]) -> Mapping[str, _Curve]:
    return dict(itertools.islice(curves, MOST))


def _rates(runs: Mapping[str, Result]) -> Iterator[tuple[str, _Curve]]:
    """Throughputs at the bottleneck, and above them its capacity."""
    constant: dict[str, _Curve] = {}
    varying: dict[tuple[str, str], _Curve] = {}
    for row, result in runs.items():
        if "intervals" not in result.tables:
            return
        for flow in _flows(result):
            mine = result.intervals.where(flow=flow)
            time = np.asarray(mine["time_s"], dtype=np.float64)
            if not time.size:
                continue
            yield _name(flow, row, runs), (time, np.asarray(mine["throughput_bps"], dtype=np.float64) / 1e6)
            link = str(result.flows.where(flow=flow)["bottleneck"][0])
            if not link:
                continue
            # Without the column the capacity is constant.
            if "capacity_bps" in mine:
                curve = (time, np.asarray(mine["capacity_bps"], dtype=np.float64) / 1e6)
                if not any(_equal(curve, other) for (name, _), other in varying.items() if name == link):
                    varying[link, row] = curve
            else:
                mean = float(result.links.where(link=link)["capacity_bps"][0]) / 1e6
                if np.isfinite(mean):
                    constant[f"{_CAPACITY}of {mean:.4g} Mbit/s"] = (time[[0, -1]], np.array([mean, mean]))
    links = [link for link, _ in varying]
    for (link, row), curve in varying.items():
        yield f"{_CAPACITY}of {link}" + (f" ({row})" if links.count(link) > 1 else ""), curve
    yield from constant.items()


def _equal(one: _Curve, other: _Curve) -> bool:
    return all(np.array_equal(mine, its) for mine, its in zip(one, other, strict=True))


def _delays(runs: Mapping[str, Result]) -> Iterator[tuple[str, _Curve]]:
    """Shares of packets by the delay that they had at most."""
    shares = np.linspace(0, 1, QUANTILES)
    for row, result in runs.items():
        if "packets" not in result.tables:
            return
        for flow in _flows(result):
            mine = result.packets.where(flow=flow)
            delay = np.asarray(mine["received_s"], dtype=np.float64) - np.asarray(mine["sent_s"], np.float64)
            delay = delay[np.isfinite(delay)]
            if delay.size:
                yield _name(flow, row, runs), (1e3 * np.quantile(delay, shares), shares)


def _name(flow: str, row: str, runs: Mapping[str, Result]) -> str:
    return f"{flow} ({row})" if len(runs) > 1 else flow


def _flows(result: Result) -> list[str]:
    return [str(result.flows["flow"][row]) for row in compared(result)]
