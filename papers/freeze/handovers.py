"""All handovers between the networks (Table 6, Figure 8)."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from whimbrel.paper import Item, Quick
from whimbrel.papers.freeze import drawing, networks, schemes
from whimbrel.papers.freeze.networks import NETWORKS
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import UNBOUNDED, Metric
from whimbrel.statistics import Precision

FloatArray = npt.NDArray[np.float64]

TO = " to "
PAIRS = tuple(f"{old}{TO}{new}" for old in NETWORKS for new in NETWORKS)
"""Rows: every network to every network."""

WINDOW_S = 60
"""Seconds after the reconnection in which capacity counts as wasted; the paper has no number."""
FIRST_S = 10
"""The beginning of it, for which all rates are reported."""
GRAIN_S = 0.1
"""Seconds of an interval."""
RESTORED = 0.9
"""The share of the capacity that counts as the full rate."""
AT_ONCE_S, LASTING_S = 0.5, 5.0
"""The rate is restored if the means over both periods, in seconds, are the full rate: one period is not
enough, because packets queued by a restored rate arrive at the full rate even if the sender then slows
down."""

TWENTY = Precision.exactly(20)
"""Section 5.1: "averaged over 20 runs"."""

METRICS = [
    # X can exceed the rate, and packets from before the handover can arrive after it.
    Metric(
        "wasted",
        "packets",
        f"Wasted in {WINDOW_S} s: Table 3's rate less X",
        0,
        f"Capacity wasted in the {WINDOW_S} s after the handover",
        UNBOUNDED,
    ),
    Metric(
        "wasted_first",
        "packets",
        f"The same in the first {FIRST_S} s",
        0,
        f"Capacity wasted in the {FIRST_S} s after the handover",
        UNBOUNDED,
    ),
    Metric(
        "unused",
        "packets",
        f"Unused in {WINDOW_S} s: the link's capacity less arrivals",
        0,
        f"Capacity unused in the {WINDOW_S} s after the handover",
        UNBOUNDED,
    ),
    Metric("lost", "packets", "Lost in the gap", 0, "Packets lost in the gap"),
    Metric("lost_after", "packets", "Lost after it", 0, "Packets lost after the gap"),
    Metric(
        "restored",
        "s",
        f"Until {RESTORED:.0%} of the capacity lasts, {WINDOW_S} at most",
        2,
        f"Time until {100 * RESTORED:g} % of the capacity is used",
    ),
]


def ends(pair: str) -> tuple[str, str]:
    """The two networks of a row."""
    old, new = pair.split(TO)
    return old, new


def scenario(pair: str, scheme: str) -> Scenario:
    """A flow in its stationary state, a gap at a random moment of a loss interval, a new network."""
    old, new = ends(pair)
    start = networks.SETTLED_S[old]
    jitter = networks.PHASE_S[old]
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
    """The cost of the handover.

    Section 5.1 compares the sender's rate X with the steady state (Table 3) and ignores the fate of the
    packets: a higher rate counts as negative waste. The alternative measure is the capacity of the link that
    was not delivered.
    """
    _, new = ends(pair)
    capacity = networks.packets_per_second(new)
    time, rate = received(result)
    allowed = np.asarray(result.intervals["allowed_rate_bps"]) / (8 * networks.PAYLOAD)
    lost = np.asarray(result.intervals["lost_queue"])
    after = (time > 0) & (time <= WINDOW_S)
    wasted = (networks.SEEN[new].rate / networks.PAYLOAD - allowed) * GRAIN_S
    return {
        "wasted": float(wasted[after].sum()),
        "wasted_first": float(wasted[after & (time <= FIRST_S)].sum()),
        "unused": float(((capacity - rate) * GRAIN_S)[after].sum()),
        "lost": float(result.flows["lost_down"][0]),
        "lost_after": float(lost[after].sum()),
        "restored": min(WINDOW_S, restored(time, rate, networks.steady_rate(new), WINDOW_S)),
    }


def received(result: Result) -> tuple[FloatArray, FloatArray]:
    """Ends of intervals in seconds after the reconnection, and the rate at the receiver in packets per s."""
    intervals = result.intervals
    time = np.asarray(intervals["time_s"]) - float(result["handovers"]["up_s"][0])
    return time, np.asarray(intervals["goodput_bps"]) / (8 * networks.PAYLOAD)


def restored(time: FloatArray, rate: FloatArray, capacity: float, never: float) -> float:
    """Time at which the full rate is permanently back, in seconds after the reconnection.

    The end of the first `AT_ONCE_S` whose mean rate is at least `RESTORED` of the capacity, if the mean over
    `LASTING_S` from the same beginning is, too.

    Args:
        time: ends of intervals of equal length, in seconds after the reconnection.
        rate: in each.
        capacity: the full rate.
        never: the result if it does not come back.
    """
    grain = float(time[1] - time[0])
    first, lasting = (max(1, round(span / grain)) for span in (AT_ONCE_S, LASTING_S))
    if rate.size < lasting:
        return never
    total = np.concatenate([[0.0], np.cumsum(rate)])
    begins = np.arange(rate.size - lasting + 1)
    full = RESTORED * capacity * (1 - 1e-9)
    found = (time[begins] > 0) & (total[begins + first] - total[begins] >= full * first)
    found &= total[begins + lasting] - total[begins] >= full * lasting
    reached = np.flatnonzero(found)
    return float(time[reached[0] + first - 1]) if reached.size else never


def _table(
    key: str, title: str, source: str, columns: Sequence[str], precision: Precision, quick: Quick
) -> Item:
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
        quick=quick,
        is_drawn=False,
        row_label="Handover",
        note=f"In packets of {networks.PAYLOAD} B. The handover comes at T_stat of Table 3 or up to a loss "
        "interval later. Wasted: X of Table 3 less that of the sender, as in Section 5.1.",
    )


PATHOLOGICAL = ("802.11g to 802.16", "umts to 802.11b")
"""The two cells where the paper's Freeze wastes more than TFRC (Section 5.1)."""

TABLE = _table(
    "table6", "All handovers", "Table 6", schemes.PAPERS, TWENTY, Quick(precision=Precision.exactly(4))
)

RIVALS = _table(
    "table6-rivals",
    "All handovers: other restart rules",
    "not in the paper",
    ("freeze", *schemes.RIVALS),
    Precision.exactly(8),
    Quick(precision=Precision.exactly(4), rows=PATHOLOGICAL),
)

# The phase of the loss intervals at the handover.

PHASE_STEP_S = 3
PHASE_ROWS = tuple(str(phase) for phase in range(0, 45, PHASE_STEP_S))
PHASE_PAIR = "umts to 802.16"


def _phase_scenario(phase: str, scheme: str) -> Scenario:
    """From UMTS to 802.16 at a random moment within four round-trip times, as in the paper."""
    old, new = ends(PHASE_PAIR)
    start = networks.SETTLED_S[old] + float(phase)
    jitter = 4 * networks.SEEN[old].rtt
    plain = scenario(PHASE_PAIR, scheme)
    duration = start + jitter + 2.5 + networks.SEEN[new].rtt + WINDOW_S + 1
    return plain.changed(
        f"simulation.duration={duration:g} s",
        f"handover.0.time={start:g} s",
        f"handover.0.jitter={jitter:g} s",
    )


def _phase_measure(result: Result, _phase: str, scheme: str) -> Mapping[str, float]:
    return measure(result, PHASE_PAIR, scheme)


PHASES = Item(
    key="table6-phase",
    title="From UMTS to 802.16, by the phase of the loss intervals",
    source="not in the paper",
    rows=PHASE_ROWS,
    columns=("freeze", "authors", "following"),
    metrics=METRICS,
    scenario=_phase_scenario,
    measure=_phase_measure,
    precision=Precision.exactly(3),
    quick=Quick(precision=Precision.exactly(1), rows=PHASE_ROWS[::3]),
    row_label="Seconds after T_stat",
    note="The moment of the handover is drawn over four round-trip times, 3.84 s, as in Section 5.1.",
)

# The cause of the low rate on the way from Wi-Fi to narrower networks: one thing changed at a time.

NARROWER = ("802.11b to umts", "802.11g to umts", "802.11b to 802.16", "802.11g to 802.16")
NARROWER_RTT = ", delay of Wi-Fi"
NARROWER_QUEUE = ", queue of 20,000"
NARROWER_CAP = ", restores 2 Mbit/s"
NARROWER_SENT = ", R sent"
CHANGES: Mapping[str, str] = {
    NARROWER_RTT: "handover.0.delay=20 ms",
    NARROWER_QUEUE: "link.1.queue=20000 packets",
    NARROWER_CAP: "flow.0.dccp.freeze.restore_rate=2 Mbit/s",
    NARROWER_SENT: "flow.0.dccp.rtt_estimate=true",
}
"""The new network has Wi-Fi's delay; no queue overflows, before or after; little is restored, so that no
flood fills the queue; the sender sends its R on every packet (RFC 6323)."""


def _narrower(row: str) -> tuple[str, str]:
    """The handover of a row, and the change."""
    pair, _, change = row.partition(",")
    return pair, f",{change}" if change else ""


def _narrower_scenario(row: str, scheme: str) -> Scenario:
    pair, change = _narrower(row)
    plain = scenario(pair, scheme)
    return plain.changed(CHANGES[change]) if change else plain


def _narrower_measure(result: Result, row: str, scheme: str) -> Mapping[str, float]:
    """The usual measurements, and p and R before the gap and five seconds after it."""
    pair, _ = _narrower(row)
    usual = measure(result, pair, scheme)
    time, _ = received(result)
    before, after = (int(np.argmin(np.abs(time - at))) for at in (-4.0, 5.0))
    rate, rtt = (np.asarray(result.intervals[key]) for key in ("loss_event_rate", "rtt_s"))
    return {
        "restored": usual["restored"],
        "lost_after": usual["lost_after"],
        "p_before": 1e6 * float(rate[before]),
        "p_after": 1e6 * float(rate[after]),
        "rtt_before": 1e3 * float(rtt[before]),
        "rtt_after": 1e3 * float(rtt[after]),
    }


SLOW = Item(
    key="table6-narrower",
    title="From Wi-Fi to narrower networks, one thing changed at a time",
    source="not in the paper",
    rows=[f"{pair}{change}" for pair in NARROWER for change in ("", *CHANGES)],
    columns=schemes.PAPERS,
    metrics=[
        *(metric for metric in METRICS if metric.key in ("restored", "lost_after")),
        Metric("p_before", "10^-6", "p before the gap", 1),
        Metric("p_after", "10^-6", "p 5 s after it", 1),
        Metric("rtt_before", "ms", "R before the gap", 0),
        Metric("rtt_after", "ms", "R 5 s after it", 0),
    ],
    scenario=_narrower_scenario,
    measure=_narrower_measure,
    has=lambda row, scheme: scheme == "freeze" or NARROWER_CAP not in row,
    precision=Precision.exactly(8),
    quick=Quick(precision=Precision.exactly(1), by_name=True),
    is_drawn=False,
    row_label="Handover, and change",
)

# Figure 8: rates over time.

EXAMPLES = ("umts to 802.11g", "802.11b to 802.11b", "802.11g to umts", "802.11b to 802.11g")
"""An upward, a horizontal and a downward handover, and the one with the largest gain."""

BEFORE_S, AFTER_S, STEP_S = 4.0, 30.0, 0.5
TIMES = tuple(f"{time:g}" for time in np.arange(-BEFORE_S, AFTER_S, STEP_S) + STEP_S / 2)
"""The centres of the steps."""

CURVE = [
    Metric("rate", "kbit/s", "Rate at the receiver", 0),
    Metric("allowed", "kbit/s", "X, the allowed sending rate", 0),
]


def _curve_scenario(_time: str, scheme: str, *, pair: str) -> Scenario:
    return scenario(pair, scheme)


def _curve(result: Result, time: str, _scheme: str) -> Mapping[str, float]:
    ends_s, rate = received(result)
    middles = ends_s - GRAIN_S / 2
    inside = np.abs(middles - float(time)) < STEP_S / 2
    allowed = np.asarray(result.intervals["allowed_rate_bps"])
    return {
        "rate": float(rate[inside].mean()) * 8 * networks.PAYLOAD / 1e3,
        "allowed": float(allowed[inside].mean()) / 1e3,
    }


def curve(pair: str, columns: Sequence[str]) -> Item:
    """The rate around a handover; it shares its runs with Table 6."""
    old, new = ends(pair)
    gap = 2.5 + networks.SEEN[new].rtt
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
        quick=Quick(precision=Precision.exactly(1)),
        is_drawn=False,
        charts=functools.partial(drawing.over_time, marks={"link lost": -gap, "back": 0.0}),
        row_label="Time after the reconnection in s",
    )
