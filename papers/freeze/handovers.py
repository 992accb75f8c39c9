"""All handovers between the networks (Table 6, Figure 8)."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from whimbrel.paper import Item, Quick
from whimbrel.papers.freeze import networks, schemes
from whimbrel.papers.freeze.networks import NETWORKS
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric
from whimbrel.statistics import Precision

FloatArray = npt.NDArray[np.float64]

TO = " to "
PAIRS = tuple(f"{old}{TO}{new}" for old in NETWORKS for new in NETWORKS)
"""Rows: every network to every network."""

WINDOW_S = 60
"""Seconds after the reconnection in which capacity counts as wasted; the paper has no number."""
FIRST_S = 10
"""The beginning of it, of which all rates are told."""
GRAIN_S = 0.1
"""Seconds of an interval."""
RESTORED = 0.9
"""The part of the capacity that counts as the full rate."""

TWENTY = Precision.exactly(20)
"""Section 5.1: "averaged over 20 runs"."""

METRICS = [
    Metric("wasted", "packets", f"Wasted capacity in {WINDOW_S} s", 0),
    Metric("wasted_first", "packets", f"Wasted capacity in the first {FIRST_S} s", 0),
    Metric("lost", "packets", "Lost in the gap", 0),
    Metric("lost_after", "packets", "Lost after it", 0),
    Metric("restored", "s", f"Until {RESTORED:.0%} of the capacity, {WINDOW_S} at most", 2),
]


def ends(pair: str) -> tuple[str, str]:
    """The two networks of a row."""
    old, new = pair.split(TO)
    return old, new


def scenario(pair: str, scheme: str) -> Scenario:
    """A flow in its stationary state, a gap at a random moment of four round-trip times, a new network."""
    old, new = ends(pair)
    start = networks.SETTLED_S[old]
    jitter = 4 * networks.SEEN[old].rtt
    gap = 2.5 + networks.SEEN[new].rtt
    return Scenario(
        {
            "title": f"{scheme}, {pair}",
            "simulation": {"duration": f"{start + jitter + gap + WINDOW_S + 1:g} s"},
            **networks.path(old),
            "flow": [schemes.flow(scheme)],
            "handover": [networks.handover(start, jitter, "mobile-ipv6", new) | schemes.warned(scheme, old)],
            "record": {"interval": f"{GRAIN_S:g} s"},
        }
    )


def measure(result: Result, pair: str, _scheme: str) -> Mapping[str, float]:
    """What the handover cost; the capacity is that of the new network, less headers."""
    _, new = ends(pair)
    capacity = networks.packets_per_second(new)
    time, rate = received(result)
    lost = np.asarray(result.intervals["lost_queue"])
    after = (time > 0) & (time <= WINDOW_S)
    missing = (capacity - rate) * GRAIN_S
    return {
        "wasted": float(missing[after].sum()),
        "wasted_first": float(missing[after & (time <= FIRST_S)].sum()),
        "lost": float(result.flows["lost_down"][0]),
        "lost_after": float(lost[after].sum()),
        "restored": first_full(time, rate, capacity, WINDOW_S),
    }


def received(result: Result) -> tuple[FloatArray, FloatArray]:
    """Ends of intervals in seconds after the reconnection, and the rate at the receiver in packets per s."""
    intervals = result.intervals
    time = np.asarray(intervals["time_s"]) - float(result["handovers"]["up_s"][0])
    return time, np.asarray(intervals["goodput_bps"]) / (8 * networks.PAYLOAD)


def first_full(time: FloatArray, rate: FloatArray, capacity: float, never: float) -> float:
    """When half a second's mean is at the full rate, in seconds after the reconnection."""
    span = 5
    smooth = np.convolve(rate, np.ones(span) / span, mode="valid")
    reached = np.flatnonzero((time[: 1 - span] > 0) & (smooth >= RESTORED * capacity))
    return float(time[span - 1 :][reached[0]]) if reached.size else never


def _table(key: str, title: str, source: str, columns: Sequence[str], precision: Precision) -> Item:
    return Item(
        key=key,
        title=title,
        source=source,
        rows=PAIRS,
        columns=columns,
        metrics=METRICS,
        scenario=scenario,
        measure=measure,
        precision=precision,
        quick=Quick(precision=Precision.exactly(3), rows=PAIRS if key == "table6" else QUICK),
        is_drawn=False,
        row_label="Handover",
        note=f"In packets of {networks.PAYLOAD} B. The capacity is that of the link, less headers.",
    )


PATHOLOGICAL = ("802.11g to 802.16", "umts to 802.11b")
"""The two cells where the paper's Freeze wastes more than TFRC (Section 5.1)."""

QUICK = (*PATHOLOGICAL, "umts to 802.16", "802.11b to 802.11b")

TABLE = _table("table6", "All handovers", "Table 6", schemes.PAPERS, TWENTY)

RIVALS = _table(
    "table6-rivals",
    "All handovers: other ways to come back",
    "not in the paper",
    ("freeze", *schemes.RIVALS),
    Precision.exactly(5),
)

# Figure 8: rates over time.

EXAMPLES = ("umts to 802.11g", "802.11b to 802.11b", "802.11g to umts", "802.11b to 802.11g")
"""An upward, a horizontal and a downward handover, and the one with the largest gain."""

BEFORE_S, AFTER_S, STEP_S = 4.0, 30.0, 0.5
TIMES = tuple(f"{time:g}" for time in np.arange(-BEFORE_S, AFTER_S, STEP_S) + STEP_S)

CURVE = [Metric("rate", "kbit/s", "Rate at the receiver", 0)]


def _curve_scenario(_time: str, scheme: str, *, pair: str) -> Scenario:
    return scenario(pair, scheme)


def _curve(result: Result, time: str, _scheme: str) -> Mapping[str, float]:
    ends_s, rate = received(result)
    inside = (ends_s > float(time) - STEP_S) & (ends_s <= float(time))
    return {"rate": float(rate[inside].mean()) * 8 * networks.PAYLOAD / 1e3}


def curve(pair: str, columns: Sequence[str]) -> Item:
    """The rate around a handover; it shares its runs with Table 6."""
    old, new = ends(pair)
    return Item(
        key=f"fig8-{old}-{new}",
        title=f"The rate in a handover from {old} to {new}",
        source="Figure 8",
        rows=TIMES,
        columns=columns,
        metrics=CURVE,
        scenario=functools.partial(_curve_scenario, pair=pair),
        measure=_curve,
        precision=TWENTY,
        quick=Quick(precision=Precision.exactly(3)),
        row_label="Time after the reconnection in s",
    )
