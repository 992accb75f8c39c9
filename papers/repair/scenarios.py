"""Repair of lost packets within a latency budget: Whimbrel beside models of other programs (ours)."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from whimbrel.paper import Item, Paper, Quick
from whimbrel.papers.repair import claims
from whimbrel.papers.repair.measures import METRICS, measure
from whimbrel.papers.repair.networks import CHANNELS, TIME_S, WARM_UP_S, scenario
from whimbrel.papers.repair.schemes import DIFFERENTIATED, SCHEMES, UNREPAIRED, Scheme
from whimbrel.scenario import Scenario
from whimbrel.statistics import Precision

RTT_MS, BUDGET_MS = 50.0, 150.0
"""Two rounds of repeats fit."""
RATIOS = ("0.2", "0.33", "0.5", "0.67", "1")
"""Round-trip times over the budget of the map."""
FULL = Precision.exactly(5)
QUICK_TIME_S = 19
QUICK = (f"simulation.duration={QUICK_TIME_S} s",)
NOTE = (
    f"Video of 30 frames/s of 16 packets, 4.6 Mbit/s, over 50 Mbit/s without other traffic; {TIME_S} s, of "
    f"which those after {WARM_UP_S} s are measured. Headers are part of the overhead. Only Whimbrel has "
    "congestion control."
)
BY_TITLE: Mapping[str, str] = {scheme.title: key for key, scheme in SCHEMES.items()}


def _item(key: str, title: str, columns: tuple[str, ...], channel: str | None) -> Item:
    """Each scheme at each channel, or on one channel by the round-trip time over the budget."""

    def at(row: str, column: str) -> Scenario:
        scheme = SCHEMES[BY_TITLE[row]]
        if channel is None:
            return scenario(scheme, column, RTT_MS, BUDGET_MS)
        return scenario(scheme, channel, float(column) * BUDGET_MS, BUDGET_MS)

    return Item(
        key=key,
        title=title,
        source="ours",
        rows=list(BY_TITLE),
        columns=columns,
        metrics=METRICS,
        scenario=at,
        measure=measure,
        precision=FULL,
        quick=Quick(
            precision=Precision.exactly(3), overrides=QUICK, by_name=key not in ("channels", "budget")
        ),
        is_drawn=False,
        row_label="Scheme",
        column_label="Channel" if channel is None else "RTT over budget",
        note=NOTE,
    )


def _differentiate() -> Item:
    columns: Mapping[str, tuple[str, Mapping[str, Scheme]]] = {
        f"{channel}, {word}": (channel, schemes)
        for channel in ("1 %", "3 %", "8 %", "bursts")
        for word, schemes in (("repaired", DIFFERENTIATED), ("not repaired", UNREPAIRED))
    }
    keys = {scheme.title: key for key, scheme in DIFFERENTIATED.items()}

    def at(row: str, column: str) -> Scenario:
        channel, schemes = columns[column]
        return scenario(schemes[keys[row]], channel, RTT_MS, BUDGET_MS)

    return Item(
        key="differentiate",
        title="CCID 3 with each loss differentiation, with and without repair",
        source="ours",
        rows=list(keys),
        columns=list(columns),
        metrics=METRICS,
        scenario=at,
        measure=measure,
        precision=FULL,
        quick=Quick(
            precision=Precision.exactly(3),
            overrides=QUICK,
            rows=["no loss differentiation", "Spike", "the truth"],
            columns=["3 %, repaired", "8 %, not repaired"],
        ),
        is_drawn=False,
        row_label="Loss differentiation",
        column_label="Channel",
        note=NOTE,
    )


_map = functools.partial(_item, columns=RATIOS)
PAPER = Paper(
    key="repair",
    title="Repair of lost packets within a latency budget",
    authors="Whimbrel",
    year=None,
    about="Which frames of a video arrive in time, and what that costs: SRT, RIST, libwebrtc, wfb-ng, Tambur "
    "and Hairpin as models by their own rules, and the layer of the sockets, on channels with random losses, "
    "bursts and fades; by the round-trip time over the budget; and what loss differentiation adds to repair.",
    items=[
        _item("channels", f"Channels, RTT {RTT_MS:g} ms, budget {BUDGET_MS:g} ms", tuple(CHANNELS), None),
        _map("budget", "RTT over budget: 8 % random loss", channel="8 %"),
        _map("budget-three", "RTT over budget: 3 % random loss", channel="3 %"),
        _map("budget-bursts", "RTT over budget: 5 % in bursts of 8", channel="bursts"),
        _differentiate(),
    ],
    claims=claims.CLAIMS,
    headline=["channels"],
)
