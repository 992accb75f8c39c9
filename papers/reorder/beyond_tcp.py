"""The effect of a flow that no longer mistakes reordering for loss on a competing TCP.

Both share a bottleneck of 2 Mbit/s; behind it, 5 % of the flow's packets arrive 25 ± 8 ms later, and none of
the TCP's. A flow that waits longer before it detects a loss reacts later, and might take more than its half.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whimbrel.paper import Item, Quick
from whimbrel.papers.reorder import beyond_paths, beyond_schemes
from whimbrel.papers.reorder.beyond_paths import ACCESS_MS, BACK_MS, WARM_UP_S, Path, Way, delayed
from whimbrel.papers.reorder.beyond_schemes import SCHEMES
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

RATE_BPS = 2e6
DELAY_MS = 20.0
END_S = 120.0

WAYS: Mapping[str, Way] = {
    "in order": Way(DELAY_MS),
    "reordered": Way(DELAY_MS, netem=delayed("5", "25 ms", "8 ms")),
}
"""Behind the bottleneck, of the flow."""

METRICS = [
    Metric("own", "%", "The flow, of the bottleneck"),
    Metric("tcp", "%", "The TCP"),
    Metric("p", "%", "Loss event rate", 2),
]


def scenario(row: str, column: str) -> Scenario:
    """A flow and a TCP (SACK) with packets of the same size."""
    return beside(WAYS[row], beyond_schemes.flow(SCHEMES[column]), f"{column} beside a TCP, {row}")


def beside(way: Way, flow: Mapping[str, Any], title: str) -> Scenario:
    """A TCP that competes with a flow.

    Args:
        way: of the flow, behind the bottleneck.
        flow: from `sender` to `receiver`.
        title: of the scenario.
    """
    made = beyond_paths.network(Path("", RATE_BPS, [way]))
    fast = {"rate": "1 Gbit/s", "queue": "unlimited"}
    made["node"].append({"name": "tcp-receiver"})
    made["link"] += [
        {
            "name": "own",
            "from": "fork",
            "to": "tcp-receiver",
            "delay": f"{DELAY_MS + ACCESS_MS:g} ms",
            **fast,
        },
        {"name": "own-back", "from": "tcp-receiver", "to": "near", "delay": f"{BACK_MS:g} ms", **fast},
    ]
    tcp = {
        "name": "tcp",
        "from": "sender",
        "to": "tcp-receiver",
        "transport": "tcp",
        "tcp": {"variant": "sack"},
        "packet_size": f"{beyond_schemes.PACKET} B",
        "start_jitter": "1 s",
        "bottleneck": "bottleneck",
    }
    return Scenario(
        {
            "title": title,
            "simulation": {"duration": f"{END_S:g} s", "warm_up": f"{WARM_UP_S:g} s"},
            **made,
            "flow": [{**flow, "bottleneck": "bottleneck"}, tcp],
        }
    )


def measure(result: Result, _row: str, _column: str) -> Mapping[str, float]:
    """The departures of both from the bottleneck, and the flow's p."""
    flows = result.flows
    return {
        "own": 100 * flows.one("throughput_bps", flow="flow") / RATE_BPS,
        "tcp": 100 * flows.one("throughput_bps", flow="tcp") / RATE_BPS,
        "p": 100 * flows.one("loss_event_rate_mean", flow="flow"),
    }


ITEM = Item(
    key="beyond-tcp",
    title="Beside a TCP",
    source="not in the paper",
    rows=list(WAYS),
    columns=list(SCHEMES),
    metrics=METRICS,
    scenario=scenario,
    measure=measure,
    precision=Precision.exactly(5),
    quick=Quick(precision=Precision.exactly(3)),
    is_drawn=False,
    row_label="The flow's packets",
    note=f"{RATE_BPS / 1e6:g} Mbit/s, one TCP (SACK) whose packets stay in order. {beyond_schemes.ABOUT}",
)
