"""The test bed of paper `confront`: four tablets, three access points, a router, and the flows of Table 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from whimbrel.scenario import Scenario

TCPS = {"reno": "tcp-reno", "cubic": "tcp-cubic", "veno": "tcp-veno"}
CCID2, CCID3, UDP = "ccid2", "ccid3", "udp"
TFRC: Mapping[str, Any] = {"transport": "dccp", "ccid": 3, "dccp": {"initial_window": "rfc3390"}}
"""CCID 3 with the initial window of Linux, RFC 3390's."""
NAMES = {
    "tcp-reno": "TCP Reno",
    "tcp-cubic": "TCP Cubic",
    "tcp-veno": "TCP Veno",
    CCID2: "DCCP-2",
    CCID3: "DCCP-3",
    UDP: "UDP",
}
SIZES = (512, 1424)
"""Bytes of data in a packet (Section 3.1)."""


@dataclass(frozen=True)
class Times:
    """Times of an experiment in seconds (Section 3.2).

    Attributes:
        total: T, its duration.
        await_: S, the time after which the flows other than the first start.
        handoffs: times at which the clients are halfway between two access points.
    """

    total: float = 300.0
    await_: float = 20.0
    handoffs: tuple[float, ...] = (100.0, 200.0)


PAPER_TIMES = Times()


@dataclass(frozen=True)
class Confront:
    """A line of Tables 3 and 4.

    Attributes:
        number: of the line.
        first: scheme of the single flow, which starts first.
        other: scheme of the two flows that start `Times.await_` later.
    """

    number: int
    first: str
    other: str

    @property
    def title(self) -> str:
        """As the tables name it."""
        return f"{NAMES[self.first]} x {NAMES[self.other]}"

    @property
    def schemes(self) -> tuple[str, str]:
        """Both, in the order of the tables."""
        return self.first, self.other


CONFRONTS = {
    str(number): Confront(number, first, other)
    for number, (first, other) in enumerate(
        [(tcp, other) for other in (UDP, CCID2, CCID3) for tcp in TCPS.values()]
        + [(ccid, UDP) for ccid in (CCID2, CCID3)],
        start=1,
    )
}
"""The eleven lines of Tables 3 and 4, by number."""


@dataclass(frozen=True)
class Host:
    """The processor of a tablet.

    Attributes:
        send_cost_us: per packet.
        send_cost_ns_per_byte: per byte on the link.
        queue: packets that wait in front of the device.
    """

    send_cost_us: float = 730.0
    send_cost_ns_per_byte: float = 1295.0
    queue: int = 50

    def document(self) -> dict[str, str]:
        """The key of a node."""
        return {
            "send_cost": f"{self.send_cost_us:g} us",
            "send_cost_per_byte": f"{self.send_cost_ns_per_byte:g} ns",
            "queue": f"{self.queue} packets",
        }


EVERY_CHANNEL = tuple(range(1, 12))
"""Channels in the 2.4 GHz band that a client without a list of its network's channels scans."""
SEGMENT = 1448
"""Bytes of data in a full segment of TCP with timestamps, which Linux sends for any `iperf -l`."""


@dataclass(frozen=True)
class Bed:
    """Choices left to us; `README.md` gives the reasons of the defaults.

    Attributes:
        host: the processor of the tablets; None for one without limit.
        router_mbps: rate of the router that emulates congestion.
        router_queue: in packets.
        udp_mbps: rate of data that iperf is asked for in each UDP flow, by packet size.
        wifi_mbps: rate of data frames.
        channels: that a client scans; its network's access points' channels if None.
        segment: bytes of data in a packet of TCP; as many as in the other schemes' packets if None.
        costs: the processors of tablets that send with a scheme, if they differ from `host`.
    """

    host: Host | None = Host()
    router_mbps: float = 11.0
    router_queue: int = 50
    udp_mbps: Mapping[int, float] = field(default_factory=lambda: {512: 11.7, 1424: 20.0})
    wifi_mbps: float = 54.0
    channels: Sequence[int] | None = EVERY_CHANNEL
    segment: int | None = SEGMENT
    costs: Mapping[str, Host] = field(default_factory=dict)

    def host_of(self, scheme: str) -> Host | None:
        """The processor of a tablet that sends with a scheme."""
        return self.costs.get(scheme, self.host)

    def data_of(self, scheme: str, size: int) -> int:
        """Bytes of data in a packet of a scheme, if the application writes `size` bytes at a time."""
        return self.segment if self.segment is not None and scheme in TCPS.values() else size


BED = Bed()
WINDOW_BYTES = 128 * 1024
"""The largest window of TCP: three quarters of Linux's default `tcp_rmem` of 174,760 bytes."""

WEAK_DBM = -42
"""Below this power of its beacons, a client looks for another access point: beyond 55 m."""
APART_M = 100.0
STEP_S = 4.0
"""Time of the walk from one access point to the other."""
APART_S = 0.5
"""Time between the walks, and the first associations, of two tablets: they do not scan at once."""


def walk(times: Times, number: int) -> list[dict[str, Any]]:
    """From one access point to the other around each hand-off."""
    ends = (5.0, APART_M - 5.0)
    points = [{"at": "0 s", "position": [ends[0], 5.0]}]
    later = number * APART_S
    for number, time in enumerate(times.handoffs):
        for at, place in ((time - STEP_S / 2, ends[number % 2]), (time + STEP_S / 2, ends[(number + 1) % 2])):
            points.append({"at": f"{at + later:g} s", "position": [place, 5.0]})
    return points


def _flow(name: str, number: int, scheme: str, size: int, bed: Bed, start: str) -> dict[str, Any]:
    """A flow from a tablet to the receiver."""
    return {
        "name": name,
        "from": f"tablet{number}",
        "to": "receiver",
        "payload": f"{bed.data_of(scheme, size)} B",
        "start": start,
        "start_jitter": "500 ms",
        **_load(scheme, size, bed),
    }


def _load(scheme: str, size: int, bed: Bed) -> dict[str, Any]:
    """The transport of a flow, and what it carries."""
    if scheme == UDP:
        mbps = bed.udp_mbps[size] * (size + HEADERS[UDP]) / size
        return {"transport": "udp", "traffic": {"kind": "cbr", "rate": f"{mbps:.6g} Mbit/s"}}
    if scheme == CCID2:
        return {"transport": "dccp", "ccid": 2}
    if scheme == CCID3:
        return dict(TFRC)
    law = scheme.removeprefix("tcp-")
    tcp: dict[str, Any] = {
        "variant": "sack",
        "initial_window": 3,
        "min_rto": "200 ms",
        "window_limit": WINDOW_BYTES // bed.data_of(scheme, size),
    }
    if law != "reno":
        tcp["congestion"] = law
    if law == "cubic":
        tcp["hystart"] = False
    return {"transport": "tcp", "tcp": tcp}


HEADERS = {UDP: 28, CCID2: 36, CCID3: 36}
"""Bytes of the headers of a packet with data: IPv4, and UDP or DCCP with long sequence numbers."""


def tablet(name: str, number: int, bed: Bed = BED, scheme: str = UDP) -> dict[str, Any]:
    """A tablet without a place, which sends with a scheme."""
    host = bed.host_of(scheme)
    client: dict[str, Any] = {"ssid": "lab", "joins_at": f"{number * APART_S:g} s"}
    if bed.channels is not None:
        client["channels"] = list(bed.channels)
    made = {"name": name, "wifi": "air", "client": client}
    return made if host is None else {**made, "host": host.document()}


def roaming_tablet(name: str, number: int, times: Times, bed: Bed = BED, scheme: str = UDP) -> dict[str, Any]:
    """A tablet that changes access points; those with other numbers do it at other times."""
    made = tablet(name, number, bed, scheme)
    made["client"] |= {"weak_signal": f"{WEAK_DBM} dBm"}
    made["mobility"] = {"kind": "waypoints", "points": walk(times, number)}
    return made


def _receiver(bed: Bed) -> dict[str, Any]:
    made = tablet("receiver", 0, bed)
    made["client"] = {**made["client"], "ssid": "lab-receiver"}
    return {**made, "position": [APART_M / 2, 55]}


FIRST, OTHERS = "first", ("second", "third")


def scenario(
    confront: Confront,
    size: int,
    times: Times = PAPER_TIMES,
    bed: Bed = BED,
    **record: Any,  # noqa: ANN401 - scenario keys
) -> Scenario:
    """A confront with packets of `size` bytes of data.

    Args:
        confront: the schemes.
        size: bytes of data in a packet.
        times: of the experiment.
        bed: what the paper leaves open.
        record: further keys of `record`.
    """
    tablets = [
        *(
            roaming_tablet(f"tablet{number}", number, times, bed, scheme)
            for number, scheme in enumerate(confront.schemes)
        ),
        {**tablet("tablet2", 3, bed, confront.other), "position": [APART_M, 5]},
        _receiver(bed),
    ]
    first = _flow(FIRST, 0, confront.first, size, bed, "400 ms")
    others = [
        _flow(name, number, confront.other, size, bed, f"{times.await_:g} s")
        for number, name in enumerate(OTHERS, start=1)
    ]
    wire = {"rate": "100 Mbit/s", "delay": "0.5 ms"}
    return Scenario(
        {
            "title": f"{confront.title}, {size} bytes",
            "simulation": {"duration": f"{times.total:g} s"},
            "wifi": [
                {
                    "name": "air",
                    "standard": "802.11g",
                    "rate": f"{bed.wifi_mbps:g} Mbit/s",
                    "radio": {"range": "250 m", "carrier_sense_range": "550 m"},
                }
            ],
            "node": [
                {
                    "name": "ap0",
                    "wifi": "air",
                    "position": [0, 0],
                    "access_point": {"ssid": "lab", "channel": 1},
                },
                {
                    "name": "ap1",
                    "wifi": "air",
                    "position": [APART_M, 0],
                    "access_point": {"ssid": "lab", "channel": 6},
                },
                {
                    "name": "ap2",
                    "wifi": "air",
                    "position": [APART_M / 2, 50],
                    "access_point": {"ssid": "lab-receiver", "channel": 11},
                },
                *tablets,
                {"name": "router"},
            ],
            "link": [
                {"between": ["ap0", "router"], **wire},
                {"between": ["ap1", "router"], **wire},
                {
                    "name": "router",
                    "between": ["router", "ap2"],
                    "rate": f"{bed.router_mbps:g} Mbit/s",
                    "delay": "0.5 ms",
                    "queue": f"{bed.router_queue} packets",
                },
            ],
            "flow": [first, *others],
            "record": {"interval": "1 s", "delays": True, **record},
        }
    )


def with_host(**changes: Any) -> Bed:  # noqa: ANN401 - the fields of Host
    """The test bed with another processor of the tablets."""
    return replace(BED, host=replace(Host(), **changes))
