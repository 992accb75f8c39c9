"""Other readings of the model's equations, and the number of cells of Table 4 that each reproduces.

    python -m whimbrel.papers.freeze.readings                # counts of the reproduced cells
    python -m whimbrel.papers.freeze.readings umts 802.16    # packets wasted in a handover, by one choice

The model itself is in Rust (`control::handover_model`), with the equations as printed. This is a second,
smaller implementation, in packets and seconds, in which five choices can be made independently; a test
compares its printed reading with the model.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields

from whimbrel.papers.freeze import networks

Q = 0.9
T_MBI = 64.0
WEIGHTS = 6.0
PRINTED = {
    ("umts", "umts"): 0.0,
    ("umts", "802.16"): 8e4,
    ("umts", "802.11b"): 3e2,
    ("umts", "802.11g"): 1e5,
    ("802.16", "802.16"): 5e2,
    ("802.16", "802.11b"): 2e2,
    ("802.16", "802.11g"): 1e3,
    ("802.11b", "802.11b"): 1e3,
    ("802.11b", "802.11g"): 5e4,
    ("802.11g", "802.11g"): 5e3,
}
"""Table 4, on and above the diagonal."""


@dataclass(frozen=True)
class Reading:
    """Choices that deviate from the printed equations.

    Attributes:
        last_interval: X_c is X^(i_D), the rate of the last interval that ended, instead of X^(n_D).
        no_recovery: t_recov = 0 instead of (20).
        fast_fall: the sum of the weights in (9) is 1 instead of 6.
        new_rtt: R_r is R_new at once instead of by (10).
        no_growth: the second term of (23) is left out.
    """

    last_interval: bool = False
    no_recovery: bool = False
    fast_fall: bool = False
    new_rtt: bool = False
    no_growth: bool = False

    def label(self) -> str:
        """Its choices by name."""
        return ", ".join(field.name for field in fields(self) if getattr(self, field.name)) or "as printed"


def readings() -> Iterator[Reading]:
    """All combinations."""
    for choices in itertools.product((False, True), repeat=len(fields(Reading))):
        yield Reading(*choices)


def wasted(old: str, new: str, reading: Reading) -> float:
    """Packets wasted in a Mobile IPv6 handover, with Table 3's rates and round-trip times."""
    x_d, x_max = (networks.SEEN[name].rate / networks.PAYLOAD for name in (old, new))
    r_old, r_new = networks.SEEN[old].rtt, networks.SEEN[new].rtt
    if x_max < x_d:
        return 0.0

    def estimate(i: int) -> float:
        return r_new if reading.new_rtt else (1 - Q**i) * r_new + Q**i * r_old

    rates = _gap(x_d, r_old, 2.5 + r_new)
    x_c = rates[-2] if reading.last_interval and len(rates) > 1 else rates[-1]
    idle = 0.5 / x_c
    # (15): the first round-trip time at which the doubled rate is what the equation allows.
    n_ss = next(n for n in itertools.count() if 2**n * x_c >= x_d * r_old / estimate(n) * (1 - 1e-9))
    total: float = idle * x_d + sum(r_new * (x_d - 2**i * x_c) for i in range(n_ss + 1))
    if x_max == x_d:
        return total
    p_r = _loss_event_rate(x_d * r_old)
    sent = sum(estimate(i) * 2**i * x_c for i in range(n_ss + 1))
    recovery = 0.0 if reading.no_recovery else max(0.0, 1 / p_r - sent) / x_d
    total += (x_max - x_d) * (idle + n_ss * r_new + recovery)
    return total if reading.no_growth else total + _growth(x_d, x_max, p_r, r_new, estimate, reading)


def _gap(x_d: float, rtt: float, length: float) -> list[float]:
    """(5) and (6): the rates of the no-feedback intervals up to the one in which the link returns."""
    rates, covered = [], 0.0
    for i in itertools.count():
        rates.append(max(x_d / 2**i, 1 / T_MBI))
        covered += max(4 * rtt, 2 / rates[-1])
        if covered >= length:
            break
    return rates


def _growth(
    x_d: float, x_max: float, p_r: float, r_new: float, estimate: Callable[[int], float], reading: Reading
) -> float:
    """The second term of (23), with (24)."""
    weights = 1.0 if reading.fast_fall else WEIGHTS
    x, sent, unused = x_d, estimate(0) * x_d, x_max - x_d
    for i in itertools.count(1):
        if x >= x_max:
            break
        p = weights / (sent + weights / p_r)
        x = min(_packets(p) / estimate(i), 2 * x)
        sent += estimate(i) * x
        unused += x_max - x
    return r_new * unused


def _packets(p: float) -> float:
    """Equation (1) in packets per round-trip time, with t_RTO = 4R."""
    return 1 / (math.sqrt(2 * p / 3) + 12 * math.sqrt(3 * p / 8) * p * (1 + 32 * p * p))


def _loss_event_rate(packets: float) -> float:
    """Its inverse, by bisection."""
    low, high = 1e-12, 1.0
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _packets(middle) > packets else (low, middle)
    return low


def reproduced(reading: Reading) -> int:
    """Number of cells reproduced to the one printed digit; zero is anything below one."""

    def agrees(ours: float, printed: float) -> bool:
        return ours < 1 if printed == 0 else ours > 0 and float(f"{ours:.0e}") == printed

    return sum(agrees(wasted(old, new, reading), printed) for (old, new), printed in PRINTED.items())


def single() -> Iterator[Reading]:
    """As printed, and with one choice each."""
    yield Reading()
    yield from (Reading(**{field.name: True}) for field in fields(Reading))


def main(arguments: Sequence[str]) -> None:
    """Prints every reading, the best first, or the waste of a handover under single choices."""
    if arguments:
        old, new = arguments
        for reading in single():
            print(f"{wasted(old, new, reading):,.0f} packets from {old} to {new}: {reading.label()}")
        return
    for count, reading in sorted(((reproduced(r), r) for r in readings()), key=lambda found: -found[0]):
        print(f"{count} of {len(PRINTED)}: {reading.label()}")


if __name__ == "__main__":
    main(sys.argv[1:])
