"""Paths of Linux's tbf and netem, and the same paths as links of a scenario, for interop/emulation/netem.py.

In the guest a datagram passes two routers: the first has the bottleneck, the second delays and loses. The
kernel's disciplines count 14 bytes of Ethernet header per packet, which a link does not have: `stab overhead
-14` takes them off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emulation_cases import HEADERS_V4, Case

PORT = 5000
REST_S = 3.0
"""Time after the last datagram until the receiver ends."""

_LINK = """
[[node]]
name = "client"
[[node]]
name = "server"
[[link]]
name = "path"
between = ["client", "server"]
%s
"""
_RATE = 'rate = "10 Mbit/s"\ndelay = "20 ms"\nqueue = "1000 packets"\n'


@dataclass(frozen=True, slots=True)
class Path:
    """One path in the kernel and in a scenario.

    Attributes:
        case: the scenario's link and the load.
        first: the discipline of the first router; none if empty.
        second: the discipline of the second router.
        losses: `queue`, `independent`, `bursts` or `none`: how losses are compared. Where they are not those
            of the queue, only they are compared.
        delays: the distribution of the delays is compared, not their median alone.
        differs: the paths are not expected to agree: the reason is in the page.
    """

    case: Case
    first: str
    second: str
    losses: str = "none"
    delays: bool = False
    differs: bool = False


def _saturated(name: str, link: str, first: str, mbit: float, size: int = 1000) -> Path:
    """A link with 20 % more load than it carries."""
    # Successive delays differ by a sixth of the time of a packet: the median depends on the phase.
    bound_s = 0.1e-3 + size * 8 / (mbit * 1e6) / 6
    case = Case(name, _LINK % link, rate_bps=1.2e6 * mbit, size=size, delay_bound_s=bound_s)
    return Path(case, first, "netem delay 20ms limit 10000", "queue")


def _delayed(name: str, keys: str, words: str) -> Path:
    """A delay of 50 ms that is not constant."""
    link = f'rate = "1 Gbit/s"\ndelay = "0 ms"\nnetem = {{ delay = "50 ms", {keys} }}'
    return Path(Case(name, _LINK % link), "", f"netem delay 50ms {words}", delays=True)


PATHS = (
    _saturated(
        "2 Mbit/s, 50 packets",
        'rate = "2 Mbit/s"\ndelay = "20 ms"\nqueue = "50 packets"',
        "tbf rate 2mbit burst 1100 limit 50000",
        2.0,
    ),
    _saturated(
        "10 Mbit/s, 50 kB",
        'rate = "10 Mbit/s"\ndelay = "20 ms"\nqueue = "50000 B"',
        "tbf rate 10mbit burst 1100 limit 50000",
        10.0,
    ),
    _saturated(
        "50 Mbit/s, 200 packets",
        'rate = "50 Mbit/s"\ndelay = "20 ms"\nqueue = "200 packets"',
        "tbf rate 50mbit burst 1600 limit 300000",
        50.0,
        1500,
    ),
    Path(
        Case(
            "1 % random losses", _LINK % (_RATE + 'loss = { model = "bernoulli", rate = "1 %" }'), loss=0.01
        ),
        "tbf rate 10mbit burst 1100 limit 1000000",
        "netem delay 20ms limit 10000 loss random 1%",
        "independent",
    ),
    Path(
        Case(
            "bursts of losses",
            _LINK
            % (_RATE + 'loss = { model = "gilbert-elliott", good_to_bad = "1 %", bad_to_good = "30 %" }'),
        ),
        "tbf rate 10mbit burst 1100 limit 1000000",
        "netem delay 20ms limit 10000 loss gemodel 1% 30% 100% 0%",
        "bursts",
    ),
    _delayed(
        "5 % reordered by 50 ± 20 ms",
        'jitter = "20 ms", distribution = "normal", reorder = "95 %", gap = 1',
        "20ms distribution normal reorder 95% gap 1",
    ),
    _delayed("50 ± 10 ms, normal", 'jitter = "10 ms", distribution = "normal"', "10ms distribution normal"),
    _delayed("50 ± 10 ms, Pareto", 'jitter = "10 ms", distribution = "pareto"', "10ms distribution pareto"),
)

_TEN = 'rate = "10 Mbit/s"\ndelay = "20 ms"\nqueue = "50 packets"'
EXPLAINED = (
    Path(
        Case("a link that is not full, tbf", _LINK % _TEN),
        "tbf rate 10mbit burst 1100 limit 50000",
        "netem delay 20ms limit 10000",
        differs=True,
    ),
    Path(Case("the same, netem's own rate", _LINK % _TEN), "", "netem rate 10mbit delay 20ms limit 50"),
    Path(
        Case("a full link, netem's own rate", _LINK % _TEN, rate_bps=12e6),
        "",
        "netem rate 10mbit delay 20ms limit 50",
        "queue",
        differs=True,
    ),
    Path(
        Case("the same with limit 75", _LINK % _TEN, rate_bps=12e6),
        "",
        "netem rate 10mbit delay 20ms limit 75",
        "queue",
        differs=True,
    ),
    Path(
        Case(
            "300 ms, netem's limit of 1000 packets",
            _LINK % 'rate = "1 Gbit/s"\ndelay = "300 ms"\nqueue = "1000 packets"',
            rate_bps=50e6,
            size=1500,
        ),
        "",
        "netem delay 300ms",
        "queue",
        differs=True,
    ),
    Path(
        Case(
            "300 ms, limit 10000",
            _LINK % 'rate = "1 Gbit/s"\ndelay = "300 ms"\nqueue = "1000 packets"',
            rate_bps=50e6,
            size=1500,
        ),
        "",
        "netem delay 300ms limit 10000",
        "queue",
    ),
    Path(
        Case("trains of 20, tbf with a burst of a packet", _LINK % _TEN, rate_bps=1.6e6, train=20),
        "tbf rate 10mbit burst 1100 limit 50000",
        "netem delay 20ms limit 10000",
        differs=True,
    ),
    Path(
        Case("trains of 20, tbf with a burst of 20 kB", _LINK % _TEN, rate_bps=1.6e6, train=20),
        "tbf rate 10mbit burst 20kb limit 50000",
        "netem delay 20ms limit 10000",
        differs=True,
    ),
)
QUICK = ("10 Mbit/s, 50 kB", "bursts of losses", "5 % reordered by 50 ± 20 ms")


def script(paths: Sequence[Path], seconds: float) -> str:
    """The guest's job: the paths one after another, so that each has the processor for itself."""
    lines = []
    for number, path in enumerate(paths):
        name, case = f"c{number}", path.case
        count, interval_ns = case.count(seconds), round(case.interval_s * 1e9)
        lines.append(f"chain {name}")
        for node, device, discipline in (("m", "mn", path.first), ("n", "nr", path.second)):
            if discipline:
                lines.append(
                    f"tc -n {node}.{name} qdisc add dev {device} root stab overhead -14 {discipline}"
                    f" || echo 'refused: {discipline}' >> /out/refused"
                )
        lines += [
            f"ip netns exec r.{name} stamped receive {PORT} > /out/{name}.csv 2> /run/{name} &",
            "receiver=$!",
            f"until_said /run/{name} listening",
            f"ip netns exec s.{name} stamped send 10.60.3.2 {PORT} {case.size - HEADERS_V4}"
            f" {interval_ns} {count} {case.train}",
            f"sleep {REST_S:g}",
            "kill -TERM $receiver",
            "wait $receiver",
            f"tc -n m.{name} -s qdisc show dev mn > /out/{name}.queues",
            f"tc -n n.{name} -s qdisc show dev nr >> /out/{name}.queues",
            f"for ns in s m n r; do ip netns del $ns.{name}; done",
        ]
    return "\n".join([*lines, ""])
