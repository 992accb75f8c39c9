"""Figures 3 and 5 to 7: capacity and available bandwidth by rt-Winf, IdleGap and the theoretical maximum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from whimbrel.claims import Claim, Verdict, above, below, close, every
from whimbrel.paper import Item, Quick
from whimbrel.papers.winf.thresholds import CLOSE, EQUAL
from whimbrel.papers.winf.topology import MACS, NS2, PACKET, RATE_MBPS, STANDARD, line
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Metric, Sheet
from whimbrel.statistics import Precision

WINF, IDLE_GAP, IPERF, MAXIMUM, EXCHANGE = "rt-winf", "idle-gap", "iperf", "maximum", "exchange"
PROBES, PAIRS = "rt-winf-probes", "adhoc-probe"
METRICS = [
    Metric("capacity", "Mbit/s", "Capacity", 2),
    Metric("available", "Mbit/s", "Available bandwidth", 2),
]
SECONDS = 300.0
QUICK = Quick(precision=Precision.exactly(3), overrides=("simulation.duration=20 s",))
SIZES = {"160": 160, "500": 500, "1500": 1500}
CONTROL_MBPS = {NS2: 1.0, STANDARD: 2.0}
"""Rates of control frames: ns-2's, and the highest basic rate of the laboratory's 802.11b."""
HEADER, LLC = {NS2: 34, STANDARD: 28}, {NS2: 0, STANDARD: 8}
"""Bytes of the MAC's header and check sequence, and of the LLC header, which is a part of the MSDU."""


@dataclass(frozen=True)
class Times:
    """Times in microseconds of an exchange of RTS, CTS, DATA and ACK of 802.11b with the long preamble.

    Attributes:
        size: of the packet in bytes.
        mac: the rules of the MAC.
        control: rate of control frames in Mbit/s.
    """

    size: int
    mac: str = NS2
    control: float = 1.0

    preamble = 192.0
    difs, backoff, sifs = 50.0, 310.0, 10.0

    def frame(self, length: int, rate: float) -> float:
        """A frame with its preamble."""
        return self.preamble + length * 8 / rate

    @property
    def data_and_ack(self) -> float:
        """The denominator of the sender's capacity in Figure 1."""
        return self.frame(self.size + LLC[self.mac] + HEADER[self.mac], RATE_MBPS) + self.frame(
            14, self.control
        )

    @property
    def cycle(self) -> float:
        """Delay per MSDU of equation 3."""
        handshake = self.frame(20, self.control) + self.frame(14, self.control)
        return self.difs + self.backoff + 3 * self.sifs + handshake + self.data_and_ack

    @property
    def maximum(self) -> float:
        """Equation 3 in Mbit/s."""
        return self.size * 8 / self.cycle

    @property
    def exchange(self) -> float:
        """MSDU over the times of DATA and ACK alone, in Mbit/s."""
        return (self.size + LLC[self.mac]) * 8 / self.data_and_ack


def _measure(times: Times, column: str, result: Result) -> dict[str, float]:
    if column == MAXIMUM:
        return {"capacity": times.maximum, "available": times.maximum}
    if column == EXCHANGE:
        return {"capacity": times.exchange, "available": math.nan}
    if column == IPERF:
        return {"capacity": math.nan, "available": sum(result.flows["goodput_bps"]) / 1e6}
    if column == PAIRS:
        return {"capacity": result.flows.one("adhoc_probe_bps", flow="pairs") / 1e6, "available": math.nan}
    prefix = "idle_gap" if column == IDLE_GAP else "winf_sender"
    table = result["capacity"]
    return {
        "capacity": table.one(f"{prefix}_capacity_bps", station="n0") / 1e6,
        "available": table.one(f"{prefix}_available_bps", station="n0") / 1e6,
    }


def _udp(to: str, size: int, rate: str) -> dict[str, Any]:
    return {
        "name": "f",
        "from": "n0",
        "to": to,
        "transport": "udp",
        "packet_size": f"{size} B",
        "traffic": {"kind": "cbr", "rate": rate},
        "start_jitter": "100 ms",
    }


def _pairs(to: str, size: int) -> dict[str, Any]:
    """Pairs of packets of AdHoc Probe."""
    return {
        "name": "pairs",
        "from": "n0",
        "to": to,
        "transport": "udp",
        "packet_size": f"{size} B",
        "traffic": {"kind": "probe-pairs"},
        "start_jitter": "100 ms",
    }


def _without_rts(column: str, size: int) -> dict[str, Any]:
    """Keys of the medium for rt-Winf with probes, for which there are no RTS and CTS."""
    if column != PROBES:
        return {}
    return {"rts_threshold": "3000 B", "probes": {"size": f"{size} B"}}


def _fig3(mac: str) -> Item:
    def scenario(row: str, column: str) -> Scenario:
        size = SIZES[row]
        flows = [_udp("n1", size, "64 kbit/s"), *([_pairs("n1", size)] if column == PAIRS else [])]
        return line(1, flows, SECONDS, mac=mac, **_without_rts(column, size))

    def measure(result: Result, row: str, column: str) -> Mapping[str, float]:
        return _measure(Times(SIZES[row], mac, CONTROL_MBPS[mac]), column, result)

    return Item(
        key=f"fig3{MACS[mac]}",
        title=f"Capacity of a link with a flow of 64 kbit/s, MAC of {mac}",
        source="Figure 3",
        rows=list(SIZES),
        columns=[WINF, PROBES, PAIRS, IDLE_GAP, MAXIMUM, EXCHANGE],
        metrics=METRICS[:1],
        scenario=scenario,
        measure=lambda *args: {"capacity": measure(*args)["capacity"]},
        precision=Precision.exactly(20),
        quick=QUICK,
        row_label="Packet size, bytes",
    )


def _fig7(mac: str) -> Item:
    def scenario(row: str, column: str) -> Scenario:
        if column == IPERF:
            return line(3, [_udp("n3", PACKET, f"{RATE_MBPS:g} Mbit/s")], SECONDS, mac=mac)
        flows = [
            {
                "name": f"f{number}",
                "from": "n0",
                "to": "n3",
                "transport": "tcp",
                "tcp": {"variant": "new-reno"},
                "payload": "1460 B",
                "start_jitter": "1 s",
            }
            for number in range(int(row))
        ]
        if column == PAIRS:
            flows.append(_pairs("n3", PACKET))
        return line(3, flows, SECONDS, mac=mac, **_without_rts(column, PACKET))

    return Item(
        key=f"fig7{MACS[mac]}",
        title=f"Capacity and available bandwidth with FTP flows over two mesh nodes, MAC of {mac}",
        source="Figures 5 to 7",
        rows=["1", "2", "4"],
        columns=[WINF, PROBES, PAIRS, IDLE_GAP, IPERF, MAXIMUM],
        metrics=METRICS,
        scenario=scenario,
        measure=lambda result, _row, column: _measure(Times(PACKET, mac, CONTROL_MBPS[mac]), column, result),
        precision=Precision.exactly(20),
        quick=QUICK,
        row_label="Flows",
        note="iperf is a saturating UDP flow alone on the path: the same in all rows.",
    )


FIG3, FIG3_STANDARD = _fig3(NS2), _fig3(STANDARD)
FIG7, FIG7_STANDARD = _fig7(NS2), _fig7(STANDARD)
CONTROL = Item(
    key="control-rate",
    title="Capacity of the link of Figure 3 with packets of 1500 bytes, by the rate of control frames",
    source="not in the paper",
    rows=["1", "2", "5.5", "11"],
    columns=[WINF, MAXIMUM, EXCHANGE],
    metrics=METRICS[:1],
    scenario=lambda row, _column: line(
        1, [_udp("n1", PACKET, "64 kbit/s")], 60.0, mac=NS2, control_rate=f"{row} Mbit/s"
    ),
    measure=lambda result, row, column: {
        "capacity": _measure(Times(PACKET, NS2, float(row)), column, result)["capacity"]
    },
    precision=Precision.exactly(5),
    quick=QUICK,
    row_label="Rate of control frames, Mbit/s",
    note="RTS, CTS and ACK become shorter from row to row; only the ACK is a part of rt-Winf's time.",
)
ITEMS = [FIG3, FIG3_STANDARD, FIG7, FIG7_STANDARD, CONTROL]


def _claims(mac: str) -> list[Claim]:
    end = MACS[mac]
    fig3, fig7 = f"fig3{end}", f"fig7{end}"

    def capacities(sheets: Mapping[str, Sheet], test: str) -> Verdict:
        value = sheets[fig3].value
        parts = []
        for row, size in SIZES.items():
            winf, most = value(WINF, "capacity", row=row), value(MAXIMUM, "capacity", row=row)
            limit = CLOSE * Times(size, mac, CONTROL_MBPS[mac]).maximum
            parts.append(close(winf, most, limit) if test == "close" else below(winf, most))
        return every(*parts)

    def pairs(sheets: Mapping[str, Sheet], a: str, b: str, metric: str, test: str) -> Verdict:
        value = sheets[fig7].value
        limit = EQUAL * Times(PACKET, mac, CONTROL_MBPS[mac]).maximum
        parts = []
        for row in FIG7.rows:
            first, second = value(a, metric, row=row), value(b, metric, row=row)
            parts.append(close(first, second, limit) if test == "close" else above(first, second))
        return every(*parts)

    return [
        Claim(
            f"close-to-maximum{end}",
            f"rt-Winf results are close to the maximum throughput values (within {CLOSE:.0%}).",
            (fig3,),
            lambda sheets: capacities(sheets, "close"),
            "Section 3.3, Figure 3",
        ),
        Claim(
            f"below-maximum{end}",
            "With a flow of 64 kbit/s, the expected capacity is less than the maximum throughput.",
            (fig3,),
            lambda sheets: capacities(sheets, "below"),
            "Section 3.3, Figure 3",
        ),
        Claim(
            f"idle-gap-above-maximum{end}",
            "IdleGap's available bandwidth is higher than the maximum achievable throughput.",
            (fig7,),
            lambda sheets: pairs(sheets, IDLE_GAP, MAXIMUM, "available", "above"),
            "Section 3.3, Figure 6",
        ),
        Claim(
            f"available-below-maximum{end}",
            "rt-Winf's available bandwidth is below the upper bound, the maximum theoretical throughput.",
            (fig7,),
            lambda sheets: pairs(sheets, MAXIMUM, WINF, "available", "above"),
            "Section 3.3, Figure 6",
        ),
        Claim(
            f"available-above-iperf{end}",
            "rt-Winf's available bandwidth is above the lower bound, iperf's throughput with UDP.",
            (fig7,),
            lambda sheets: pairs(sheets, WINF, IPERF, "available", "above"),
            "Section 3.3, Figure 6",
        ),
        Claim(
            f"idle-gap-equals-maximum{end}",
            f"IdleGap's capacity is almost equal to the maximum theoretical throughput (within {EQUAL:.0%}).",
            (fig7,),
            lambda sheets: pairs(sheets, IDLE_GAP, MAXIMUM, "capacity", "close"),
            "Section 3.3, Figure 7",
        ),
        Claim(
            f"probes-like-rts{end}",
            "With probe packets rt-Winf's capacity is very similar to that with RTS and CTS "
            f"(within {EQUAL:.0%} of the theoretical maximum).",
            (fig7,),
            lambda sheets: pairs(sheets, PROBES, WINF, "capacity", "close"),
            "Section 3.3, Figure 7",
        ),
        Claim(
            f"adhoc-probe-between{end}",
            "AdHoc Probe's capacity lies between the theoretical maximum and rt-Winf's, for every size.",
            (fig3,),
            lambda sheets: every(
                *(
                    above(
                        sheets[fig3].value(a, "capacity", row=row), sheets[fig3].value(b, "capacity", row=row)
                    )
                    for row in SIZES
                    for a, b in ((PAIRS, MAXIMUM), (WINF, PAIRS))
                )
            ),
        ),
    ]


def _is_data_and_ack(sheets: Mapping[str, Sheet]) -> Verdict:
    """Sizes and MACs of Figure 3, and the rates of control frames."""
    parts = []
    for item in (FIG3, FIG3_STANDARD, CONTROL):
        value = sheets[item.key].value
        for row in item.rows:
            exact = value(EXCHANGE, "capacity", row=row)
            parts.append(close(value(WINF, "capacity", row=row), exact, 0.01 * exact.mean))
    return every(*parts)


CLAIMS = [
    *_claims(NS2),
    *_claims(STANDARD),
    Claim(
        "capacity-is-data-and-ack",
        "rt-Winf's capacity is the MSDU over the times of DATA and ACK alone, within 1 %, for every size, "
        "MAC and rate of control frames.",
        (FIG3.key, FIG3_STANDARD.key, CONTROL.key),
        _is_data_and_ack,
    ),
]
