"""Repair of lost packets within a latency budget: Whimbrel and models of other programs (ours)."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from whimbrel.paper import Item, Paper, Quick
from whimbrel.papers.repair import causes, claims, clip, elsewhere, recorded
from whimbrel.papers.repair.measures import METRICS, OTHERS, RATE, measure, measure_rate
from whimbrel.papers.repair.networks import CHANNELS, TIME_S, WARM_UP_S, scenario
from whimbrel.papers.repair.schemes import DIFFERENTIATED, GUARDED, SCHEMES, UNREPAIRED, Scheme
from whimbrel.scenario import Scenario
from whimbrel.statistics import Precision

RTT_MS, BUDGET_MS = 50.0, 150.0
"""Two rounds of repeats fit."""
RATIOS = ("0.2", "0.33", "0.5", "0.67", "1")
"""Round-trip times over the budget of the map."""
FULL = Precision.exactly(10)
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
            rows=["no loss differentiation", "Standing", "the truth"],
            columns=["3 %, repaired", "8 %, not repaired"],
        ),
        is_drawn=False,
        row_label="Loss differentiation",
        column_label="Channel",
        note=NOTE,
    )


def _guard() -> Item:
    keys = {scheme.title: key for key, scheme in GUARDED.items()}
    return Item(
        key="guard",
        title="The guard of loss differentiation",
        source="ours",
        rows=list(keys),
        columns=list(CHANNELS),
        metrics=[*METRICS, RATE],
        scenario=lambda row, column: scenario(GUARDED[keys[row]], column, RTT_MS, BUDGET_MS),
        measure=measure_rate,
        precision=FULL,
        quick=Quick(precision=Precision.exactly(3), overrides=QUICK),
        is_drawn=False,
        row_label="Scheme",
        column_label="Channel",
        note=NOTE,
    )


def _recorded() -> Item:
    return Item(
        key="recorded",
        title=f"Recorded networks, RTT {recorded.RTT_MS:g} ms, budget {recorded.BUDGET_MS:g} ms",
        source="ours",
        rows=list(BY_TITLE),
        columns=list(recorded.NETWORKS),
        metrics=METRICS,
        scenario=lambda row, column: recorded.scenario(SCHEMES[BY_TITLE[row]], column),
        measure=measure,
        precision=FULL,
        quick=Quick(precision=Precision.exactly(3), overrides=QUICK),
        is_drawn=False,
        row_label="Scheme",
        column_label="Network",
        note="Rates are generated from the statistics of recordings, and carry 1.2 Mbit/s; losses are those "
        "of models fitted to recordings, and hit 4.6 Mbit/s.",
    )


def _replay() -> Item:
    return Item(
        key="replay",
        title="Recorded rates, replayed",
        source="ours",
        rows=list(BY_TITLE),
        columns=list(recorded.FILES),
        metrics=METRICS,
        scenario=lambda row, column: recorded.replay(SCHEMES[BY_TITLE[row]], column),
        measure=measure,
        precision=FULL,
        quick=Quick(precision=Precision.exactly(3), overrides=QUICK, by_name=True),
        is_drawn=False,
        row_label="Scheme",
        column_label="Recording",
        note=f"Video of 1.2 Mbit/s. Replayed from {recorded.DIRECTORY}.",
    )


def _elsewhere() -> Item:
    return Item(
        key="networks",
        title=f"The networks of papers lda and freeze, budget {elsewhere.BUDGET_MS:g} ms",
        source="ours",
        rows=list(BY_TITLE),
        columns=elsewhere.NETWORKS,
        metrics=[*METRICS, OTHERS],
        scenario=lambda row, column: elsewhere.scenario(SCHEMES[BY_TITLE[row]], column),
        measure=elsewhere.measured,
        precision=FULL,
        quick=Quick(precision=Precision.exactly(3)),
        is_drawn=False,
        row_label="Scheme",
        column_label="Network",
        note="Video of 80 kbit/s on the networks of lda, whose radio loses 3.1 % of the packets, and on "
        "UMTS; of 1.2 Mbit/s on the others. The radio of freeze has no path for 300 ms each 15 s.",
    )


_map = functools.partial(_item, columns=RATIOS)
PAPER = Paper(
    key="repair",
    title="Repair of lost packets within a latency budget",
    authors="Whimbrel",
    year=None,
    about="Which frames of a video arrive in time, and what that costs: SRT, RIST, libwebrtc, wfb-ng, Tambur "
    "and Hairpin as models by their own rules, and the layer of the sockets, on channels with random losses, "
    "bursts and fades, on recorded networks and on those of other papers; by the round-trip time over the "
    "budget; and what loss differentiation adds to repair.",
    items=[
        _item("channels", f"Channels, RTT {RTT_MS:g} ms, budget {BUDGET_MS:g} ms", tuple(CHANNELS), None),
        _map("budget", "RTT over budget: 8 % random loss", channel="8 %"),
        _map("budget-three", "RTT over budget: 3 % random loss", channel="3 %"),
        _map("budget-bursts", "RTT over budget: 5 % in bursts of 8", channel="bursts"),
        _differentiate(),
        _guard(),
        _recorded(),
        *([_replay()] if recorded.is_there() else []),
        _elsewhere(),
        clip.ITEM,
        *causes.ITEMS,
    ],
    claims=claims.CLAIMS,
    headline=["channels"],
)
