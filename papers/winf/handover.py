"""A handover between Wi-Fi cells: the estimated rate of the new cell for a restart (not in the paper).

The cells of paper `freeze` use the 802.11 MAC here. The mobile node sends, so that its own station estimates
the link that its packets enter. rt-Winf begins anew with each association.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whimbrel.claims import Claim, Verdict, above, below, every
from whimbrel.paper import Item, Quick
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric, Sheet
from whimbrel.statistics import Precision

RANGE_M = 400
BINDING_S = 2.5
"""Time from an association until packets for the station go to the new access point, as in paper `freeze`."""
DELAY_MS = 20
DEPARTURE_S, SPEED = 15.0, 40.0
LEAVES_S = DEPARTURE_S + RANGE_M / SPEED
AFTER_S = 20.0
SECONDS = LEAVES_S + BINDING_S + 2.5 + AFTER_S
CONTENDERS, CONTENDER_KBPS = 4, 500
DATA, PACKET = 1464, 1500
GRAIN_S = 0.1


@dataclass(frozen=True)
class Cells:
    """The two cells of a row.

    Attributes:
        old: rate of the first one in Mbit/s.
        new: rate of the second one in Mbit/s.
        contenders: stations that send in the second one.
    """

    old: float = 11
    new: float = 11
    contenders: int = 0


CELLS: Mapping[str, Cells] = {
    "equal": Cells(),
    "lower": Cells(new=1),
    "higher": Cells(old=1),
    "contended": Cells(contenders=CONTENDERS),
}

CAP = {"link_cap": True}
SCHEMES: Mapping[str, Mapping[str, Any]] = {
    "tfrc": {},
    "cap": CAP,
    "freeze": {"freeze": {"restart": "loss-rate"}},
    "following": {"freeze": {"restart": "following"}},
    "capacity": {"freeze": {"restart": "link-capacity"}},
    "capacity-cap": {"freeze": {"restart": "link-capacity"}, **CAP},
    "available": {"freeze": {"restart": "link-available"}},
    "cycle": {"freeze": {"restart": "link-available"}},
    "cycle-cap": {"freeze": {"restart": "link-available"}, **CAP},
}
"""Keys of the sender: TFRC, with rt-Winf's capacity as its highest rate; Freeze by the paper's rule and until
the receive rate no longer follows; Freeze that restarts at rt-Winf's capacity, or available bandwidth."""
WHOLE_CYCLE = ("cycle", "cycle-cap")
"""Schemes whose estimate counts DIFS, backoff, RTS and CTS, as equation 3 does."""


def scenario(row: str, column: str) -> Scenario:
    """The way from one access point to the next."""
    cells = CELLS[row]
    common = {"ecn": False, "initial_window": "rfc3390", "sequence_window": 10_000}
    dccp: dict[str, Any] = {**common, **SCHEMES[column]}
    if "freeze" in dccp:
        dccp["freeze"] = {**dccp["freeze"], "follows_station": True}
    points = [(0.0, 1, cells.old), (2.0 * RANGE_M, 6, cells.new)]
    routers = [
        {
            "name": f"router{number}",
            "wifi": "air",
            "position": [x, 0],
            "access_point": {"ssid": "network", "channel": channel, "rate": f"{rate:g} Mbit/s"},
        }
        for number, (x, channel, rate) in enumerate(points)
    ]
    client = {"ssid": "network", "channels": [1, 6]}
    end = 2 * RANGE_M
    mobile = {
        "name": "mobile",
        "wifi": "air",
        "client": client,
        "mobility": {
            "kind": "waypoints",
            "points": [
                {"at": f"{DEPARTURE_S} s", "position": [0, 0]},
                {"at": f"{DEPARTURE_S + end / SPEED:g} s", "position": [end, 0]},
            ],
        },
    }
    others = {
        "name": "c{i}",
        "count": cells.contenders,
        "wifi": "air",
        "client": {**client, "channels": [6]},
        "position": [end, 0],
        "layout": {"kind": "circle", "radius": "50 m"},
    }
    flows: list[dict[str, Any]] = [
        {
            "name": "flow",
            "from": "mobile",
            "to": "host",
            "transport": "dccp",
            "ccid": 3,
            "payload": f"{DATA} B",
            "start": "1 s",
            "start_jitter": "1 s",
            "dccp": dccp,
        }
    ]
    if cells.contenders:
        flows.append(
            {
                "name": "c{i}",
                "count": cells.contenders,
                "from": "c{i}",
                "to": "host",
                "transport": "udp",
                "packet_size": f"{PACKET} B",
                "traffic": {"kind": "cbr", "rate": f"{CONTENDER_KBPS} kbit/s"},
                "start": "1 s",
                "start_jitter": "1 s",
                "background": True,
            }
        )
    wires = [
        {"name": f"wire{i}", "between": ["home", f"router{i}"], "rate": "1 Gbit/s", "queue": "unlimited"}
        for i in range(len(points))
    ]
    return Scenario(
        {
            "title": f"{column}, {row} cells",
            "simulation": {"duration": f"{SECONDS:g} s", "warm_up": f"{LEAVES_S + BINDING_S:g} s"},
            "wifi": [
                {
                    "name": "air",
                    "rate": "11 Mbit/s",
                    "mac": "ns-2",
                    "distribution_delay": f"{BINDING_S} s",
                    "radio": {"range": f"{RANGE_M} m", "carrier_sense_range": "550 m"},
                    "controller": {"law": "xcp-winf", "whole_cycle": column in WHOLE_CYCLE},
                }
            ],
            "node": [
                {"name": "host"},
                {"name": "home"},
                *routers,
                mobile,
                *([others] if cells.contenders else []),
            ],
            "link": [
                {
                    "name": "wire",
                    "between": ["host", "home"],
                    "rate": "1 Gbit/s",
                    "delay": f"{DELAY_MS} ms",
                    "queue": "unlimited",
                },
                *wires,
            ],
            "flow": flows,
            "record": {"interval": f"{1e3 * GRAIN_S:g} ms"},
        }
    )


FIRST_S = 5.0
"""Seconds after the handover in which goodput counts."""
FULL = 0.9
"""Share of the final rate that counts as the full rate, over `AT_ONCE_S` and over `LASTING_S`."""
AT_ONCE_S, LASTING_S = 0.3, 2.0
LAST_S = 8.0
"""The final rate is the rate over this time at the end of the run."""
_LOST = ("lost_queue", "lost_wireless", "lost_down")


def restored(time: np.ndarray, rate: np.ndarray, full: float) -> float:
    """End of the first `AT_ONCE_S` at the full rate that begins `LASTING_S` with such a mean."""
    first, lasting = (round(span / GRAIN_S) for span in (AT_ONCE_S, LASTING_S))
    total = np.concatenate([[0.0], np.cumsum(rate)])
    begins = np.arange(rate.size - lasting + 1)
    found = (total[begins + first] - total[begins] >= FULL * full * first) & (
        total[begins + lasting] - total[begins] >= FULL * full * lasting
    )
    reached = np.flatnonzero(found)
    return float(time[reached[0] + first - 1]) if reached.size else math.nan


def measure(result: Result, _row: str, _column: str) -> Mapping[str, float]:
    """The times, the losses and the goodput from the moment at which the new path is complete."""
    table = result["associations"]
    moves = [
        float(time)
        for time, client, old in zip(table["time_s"], table["client"], table["from"], strict=True)
        if client == "mobile" and old != ""
    ]
    (usable,) = (time + BINDING_S for time in moves)
    intervals = result.intervals
    own = np.asarray(intervals["flow"]) == "flow"
    time = np.asarray(intervals["time_s"], dtype=float)[own] - usable
    rate = np.asarray(intervals["goodput_bps"], dtype=float)[own] / 1e3
    lost = sum(np.asarray(intervals[key], dtype=float)[own] for key in _LOST)
    full = float(rate[time > time[-1] - LAST_S].mean())
    after = time > 0
    return {
        "restored": restored(time[after], rate[after], full),
        "goodput": float(rate[after & (time <= FIRST_S)].mean()),
        "lost": float(lost[after].sum()),
        "gap": float(lost[(time > LEAVES_S - usable) & ~after].sum()),
        "delay": result.flows.one("delay_p95_s", flow="flow") * 1e3,
        "full": full,
    }


ITEM = Item(
    key="handover",
    title="A sender moves to another Wi-Fi cell: restart at rt-Winf's estimate, and limit by it, MAC of ns-2",
    source="not in the paper",
    rows=list(CELLS),
    columns=list(SCHEMES),
    metrics=[
        Metric("restored", "s", "Until the full rate", 2, title="Time until the full rate lasts"),
        Metric("goodput", "kbit/s", f"Goodput, first {FIRST_S:g} s", 0),
        Metric("lost", "packets", "Lost after", 0, title="Packets lost after the handover"),
        Metric("gap", "packets", "Lost in it", 0, title="Packets lost in the handover"),
        Metric("delay", "ms", "Delay, 95th percentile", 0),
        Metric("full", "kbit/s", "Full rate", 0),
    ],
    scenario=scenario,
    measure=measure,
    precision=Precision.exactly(20),
    quick=Quick(precision=Precision.exactly(4), rows=["equal", "lower"]),
    row_label="New cell",
    note="From the moment that packets for the new address arrive, 2.5 s after the association. Cells of "
    "11 Mbit/s, the lower one of 1 Mbit/s, the higher one after one of 1 Mbit/s, the contended one with "
    f"{CONTENDERS} stations that send {CONTENDER_KBPS} kbit/s each.",
)
ITEMS = [ITEM]


def _goodput(a: str, b: str, rows: Sequence[str], name: str, sentence: str) -> Claim:
    def check(sheets: Mapping[str, Sheet]) -> Verdict:
        value = sheets[ITEM.key].value
        chosen = [row for row in rows if row in sheets[ITEM.key].rows]
        return every(*(above(value(a, "goodput", row=row), value(b, "goodput", row=row)) for row in chosen))

    return Claim(f"handover-{name}", sentence, (ITEM.key,), check)


def _fewer(metric: str, a: str, b: str, row: str, name: str, sentence: str) -> Claim:
    def check(sheets: Mapping[str, Sheet]) -> Verdict:
        value = sheets[ITEM.key].value
        return below(value(a, metric, row=row), value(b, metric, row=row))

    return Claim(f"handover-{name}", sentence, (ITEM.key,), check)


_FIRST = f"in the first {FIRST_S:g} s"
CLAIMS = [
    _goodput(
        "capacity",
        "tfrc",
        list(CELLS),
        "capacity-tfrc",
        f"Freeze that restarts at rt-Winf's capacity carries more than TFRC {_FIRST}, in every cell.",
    ),
    _goodput(
        "capacity",
        "freeze",
        list(CELLS),
        "capacity-freeze",
        f"It carries more than Freeze as in its paper {_FIRST}, in every cell.",
    ),
    _goodput(
        "cycle",
        "freeze",
        list(CELLS),
        "cycle-freeze",
        "Freeze that restarts at the available bandwidth by whole exchanges carries more than Freeze as in "
        f"its paper {_FIRST}, in every cell.",
    ),
    _fewer(
        "lost",
        "capacity",
        "freeze",
        "lower",
        "lower-lost",
        "In a cell of a lower rate a restart at rt-Winf's capacity loses fewer packets than Freeze's rule.",
    ),
    _fewer(
        "gap",
        "cap",
        "tfrc",
        "lower",
        "cap-gap",
        "TFRC that is limited by rt-Winf's capacity loses fewer packets in the handover to a lower rate.",
    ),
    _fewer(
        "lost",
        "cap",
        "tfrc",
        "equal",
        "cap-lost",
        "After the handover to an equal cell it loses fewer packets than TFRC.",
    ),
    _fewer(
        "lost",
        "cycle-cap",
        "cycle",
        "equal",
        "cycle-cap-lost",
        "A limit by the capacity of whole exchanges reduces the loss after the handover to an equal cell.",
    ),
]
