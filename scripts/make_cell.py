#!/usr/bin/env python3
"""Writes the cellular test cases of RFC 8869, Section 2, below examples/: rates of a cell, and scenarios.

Usage: .venv/bin/python scripts/make_cell.py [--seed 1] [--out examples]

The cell is computed after RFC 8869, Section 2.1.2: 21 cells, 3GPP cases 1 and 3 (3GPP TR 36.814, Table
A.2.1.1-1), users who arrive by a Poisson process, stay for 30 s and move, and a proportional fair scheduler
over 10 MHz. The efficiency of a link follows TR 36.942, Section A.2. The other cells are fully loaded; a user
stays in its cell.

The files are in the repository; run this to change them. A test checks that it reproduces them. The rate of a
cell depends on who calls at a time, so that its recording always starts at the beginning; other seeds compute
cells with other users, which are repetitions of a case.
"""

from __future__ import annotations

import argparse
import gzip
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

DURATION_S = 60.0
"""The end of the evaluation period of RFC 8869; its 91 s include 31 s that are not evaluated."""
TTI_S = 0.005
STEP_S = 0.02
"""Step of the traces."""
CALL_S = 30.0
BANDWIDTH_HZ = 10e6
CARRIER_HZ = 2e9
SUBBANDS = 5
ANTENNAS = 2
"""Receiving antennas, whose signals are added (maximum ratio combining)."""
PATHS = 8
"""Waves of a Rayleigh channel (Jakes)."""
FAIRNESS_S = 1.0
"""Time constant of the mean rate of the scheduler."""
SEED = 1
"""Of the files in the repository. The same for all cases: the same users at other distances and speeds."""
MIN_DISTANCE_M = 35.0
SHADOWING_DB = 8.0
SHADOWING_M = 50.0
PENETRATION_DB = 20.0
THERMAL_DBM = -174 + 10 * math.log10(BANDWIDTH_HZ)


@dataclass(frozen=True)
class Direction:
    """Parameters of a direction: power and gains in dB, noise figure, and the efficiency of TR 36.942.

    Attributes:
        power_dbm: of the transmitter.
        gain_db: of the base station's antenna.
        noise_db: noise figure of the receiver.
        slope: of the truncated Shannon bound.
        most: bit/s/Hz.
        rise_db: interference over the noise; None to compute the interference of the other cells.
        target_db: signal over noise at which power control stops.
    """

    power_dbm: float
    gain_db: float
    noise_db: float
    slope: float
    most: float
    rise_db: float | None = None
    target_db: float = math.inf


DOWNLINK = Direction(46, 14, 9, 0.6, 4.4)
UPLINK = Direction(23, 14, 5, 0.4, 2.0, rise_db=6, target_db=21)


@dataclass(frozen=True)
class Case:
    """A test case.

    Attributes:
        key: of the files.
        title: of the scenario, after "RFC 8869, ".
        about: the deployment.
        sites_m: distance between base stations.
        speed_kmh: of the users.
        direction: of the media.
        intensity: mean number of users.
        tcp_mbps: other traffic.
    """

    key: str
    title: str
    about: str
    sites_m: float
    speed_kmh: float
    direction: Direction
    intensity: float
    tcp_mbps: float


LOAD = "varying network load"
COVERAGE = "bad radio coverage"
CASES = [
    Case("2_1_load_downlink", f"2.1: {LOAD}, downlink", "Case 1", 500, 3, DOWNLINK, 10.5, 4),
    Case("2_1_load_downlink_30_kmh", f"2.1: {LOAD}, downlink, 30 km/h", "Case 1", 500, 30, DOWNLINK, 10.5, 4),
    Case("2_1_load_uplink", f"2.1: {LOAD}, uplink", "Case 1", 500, 3, UPLINK, 7.0, 2),
    Case("2_2_coverage_downlink", f"2.2: {COVERAGE}, downlink", "Case 3", 1732, 3, DOWNLINK, 7.0, 2),
    Case("2_2_coverage_uplink", f"2.2: {COVERAGE}, uplink", "Case 3", 1732, 3, UPLINK, 7.0, 1),
]

Array = NDArray[np.float64]


def sites(distance_m: float) -> list[complex]:
    """The base station in the middle and its six neighbours."""
    ring = [distance_m * complex(math.cos(angle), math.sin(angle)) for angle in np.arange(6) * math.pi / 3]
    return [0j, *ring]


def gains_db(position: complex, distance_m: float) -> Array:
    """Gain from each cell to a place, without shadows and fading; the first three are in the middle."""
    gains = []
    for site in sites(distance_m):
        offset = position - site
        length = max(abs(offset), MIN_DISTANCE_M)
        loss = 128.1 + 37.6 * math.log10(length / 1e3) + PENETRATION_DB
        for sector in range(3):
            bearing = math.degrees(math.atan2(offset.imag, offset.real)) - (30 + 120 * sector)
            bearing = (bearing + 180) % 360 - 180
            gains.append(-loss - min(12 * (bearing / 70) ** 2, 20.0))
    return np.array(gains)


class User:
    """A user: its call, its way through the cell and its channel."""

    def __init__(self, case: Case, start: float, random: np.random.Generator) -> None:
        self.start, self.stop = start, start + CALL_S
        self.case = case
        while True:
            radius = case.sites_m / 1.5 * math.sqrt(random.random())
            self.position = radius * np.exp(2j * math.pi * random.random())
            if np.argmax(gains_db(self.position, case.sites_m)) == 0:
                break
        self.step = case.speed_kmh / 3.6 * STEP_S * np.exp(2j * math.pi * random.random())
        self.shadowing = random.normal(0, SHADOWING_DB, 8)
        self.random = random
        doppler = case.speed_kmh / 3.6 * CARRIER_HZ / 299_792_458
        shape = (SUBBANDS, ANTENNAS, PATHS)
        self.speeds = 2 * math.pi * doppler * np.cos(2 * math.pi * random.random(shape))
        self.phases = 2 * math.pi * random.random(shape)
        self.mean_rate = 1.0

    def move(self) -> None:
        """Walks on for a step, and turns round at the border of the cell; shadows change with the place."""
        following = self.position + self.step
        if np.argmax(gains_db(following, self.case.sites_m)) == 0 and abs(following) > MIN_DISTANCE_M:
            self.position = following
        else:
            self.step = -self.step * np.exp(1j * self.random.normal(0, 0.5))
        kept = math.exp(-abs(self.step) / SHADOWING_M)
        change = self.random.normal(0, SHADOWING_DB, 8)
        self.shadowing = kept * self.shadowing + math.sqrt(1 - kept**2) * change

    def mean_sinr(self) -> float:
        """Ratio of the mean signal to noise and interference."""
        direction = self.case.direction
        gains = gains_db(self.position, self.case.sites_m) + direction.power_dbm + direction.gain_db
        # Half of the variance of the shadows is common to all base stations: that is at the user.
        shadows = math.sqrt(0.5) * (self.shadowing[:7] + self.shadowing[7])
        powers = 10 ** ((gains + np.repeat(shadows, 3)) / 10)
        noise = 10 ** ((THERMAL_DBM + direction.noise_db) / 10)
        if direction.rise_db is None:
            return float(powers[0] / (noise + powers[1:].sum()))
        # A phone sends in one subband.
        noise /= SUBBANDS
        snr = min(powers[0] / noise, 10 ** (direction.target_db / 10))
        return float(snr / 10 ** (direction.rise_db / 10))

    def rates(self, now: float, sinr: float) -> Array:
        """Rate of each subband in bit/s."""
        waves = np.exp(1j * (self.speeds * now + self.phases)).sum(axis=2) / math.sqrt(PATHS)
        channel = (np.abs(waves) ** 2).sum(axis=1) * sinr
        direction = self.case.direction
        efficiency = np.minimum(direction.slope * np.log2(1 + channel), direction.most)
        efficiency[channel < 0.1] = 0
        rates: Array = efficiency * BANDWIDTH_HZ / SUBBANDS
        return rates


def arrivals(case: Case, random: np.random.Generator) -> list[float]:
    """Times of arrival: those before the beginning are of the calls that are under way then."""
    times: list[float] = []
    now = -CALL_S
    while True:
        now += random.exponential(CALL_S / case.intensity)
        if now >= DURATION_S:
            return times
        times.append(now)


def simulate(case: Case, seed: int = SEED) -> tuple[list[float], list[tuple[float, float]]]:
    """Rates of the cell in Mbit/s, each for a step, and the beginning and the end of each call."""
    random = np.random.default_rng(seed)
    users = [User(case, start, random) for start in arrivals(case, random)]
    rates = []
    for step in range(round(DURATION_S / STEP_S)):
        begin = step * STEP_S
        present = [user for user in users if user.start <= begin < user.stop]
        bits = 0.0
        sinrs = [user.mean_sinr() for user in present]
        for tti in range(round(STEP_S / TTI_S)):
            if not present:
                continue
            now = begin + tti * TTI_S
            offered = np.array([u.rates(now, sinr) for u, sinr in zip(present, sinrs, strict=True)])
            means = np.array([user.mean_rate for user in present])
            chosen = np.argmax(offered / means[:, None], axis=0)
            served = np.zeros(len(present))
            np.add.at(served, chosen, offered[chosen, np.arange(SUBBANDS)])
            bits += served.sum() * TTI_S
            for user, rate in zip(present, served, strict=True):
                user.mean_rate += TTI_S / FAIRNESS_S * (rate - user.mean_rate)
        for user in present:
            user.move()
        rates.append(bits / STEP_S / 1e6)
    calls = [(max(user.start, 0.0), min(user.stop, DURATION_S)) for user in users]
    return rates, [(start, stop) for start, stop in calls if stop - start >= 1]


def trace(case: Case, rates: list[float]) -> str:
    """The trace: lines of seconds, tab, Mbit/s."""
    lines = [f"{step * STEP_S:.2f}\t{max(rate, 0.01):.2f}" for step, rate in enumerate(rates)]
    return "\n".join([f"# A cell after RFC 8869, {case.title}; scripts/make_cell.py", *lines, ""])


def scenario(case: Case, calls: list[tuple[float, float]]) -> str:
    """The scenario, in TOML."""
    is_uplink = case.direction is UPLINK
    way = ("phone", "peer") if is_uplink else ("peer", "phone")
    radio = ("phone", "station") if is_uplink else ("station", "phone")
    other = (radio[1], radio[0])
    parts = [
        f"""\
# RFC 8869, {case.title}.
# {case.about}, {case.speed_kmh:g} km/h, {case.intensity:g} users on average, of whom each calls for 30 s,
# and TCP of up to {case.tcp_mbps:g} Mbit/s. A computed cell, whose users have a queue each
# (scripts/make_cell.py; --seed computes others); evaluated from 30 to 60 s. Its rate is that of these calls,
# so that it starts at the beginning.
title = "RFC 8869, {case.title}"

[variables]
law = "nada"                  # gcc, scream, copa, ...: controllers of `transport = "media"`

[simulation]
duration = "60 s"
warm_up = "30 s"

[[node]]
name = "phone"                # all users of the cell

[[node]]
name = "station"

[[node]]
name = "peer"

[[link]]
name = "cell"
from = "{radio[0]}"
to = "{radio[1]}"
trace = {{ file = "../traces/cell_{case.key}.tsv.gz", format = "rate" }}
delay = "10 ms"
queue = "3000 packets"
# A queue for each flow, without AQM.
discipline = {{ kind = "fq-codel", target = "10 s", interval = "100 s", ecn = false }}

[[link]]
name = "back"
from = "{other[0]}"
to = "{other[1]}"
rate = "20 Mbit/s"
delay = "10 ms"

[[link]]
between = ["station", "peer"]
rate = "10 Gbit/s"
delay = "10 ms"
"""
    ]
    for number, (start, stop) in enumerate(calls):
        parts.append(
            f"""
[[flow]]
name = "video{number}"
from = "{way[0]}"
to = "{way[1]}"
transport = "media"
payload = "1160 B"
media = {{ controller = "$law", min_rate = "150 kbit/s", start_rate = "150 kbit/s", max_rate = "1.5 Mbit/s" }}
start = "{start:.2f} s"
stop = "{stop:.2f} s"

[[flow]]
name = "audio{number}"
from = "{way[0]}"
to = "{way[1]}"
transport = "udp"
payload = "50 B"
traffic = {{ kind = "cbr", rate = "31.2 kbit/s" }}   # 20 kbit/s, and headers
start = "{start:.2f} s"
stop = "{stop:.2f} s"
"""
        )
    parts.append(
        f"""
[[flow]]
name = "download"
from = "{way[0]}"
to = "{way[1]}"
transport = "tcp"
traffic = {{ kind = "cbr", rate = "{case.tcp_mbps:g} Mbit/s" }}

[record]
interval = "1 s"
"""
    )
    return "".join(parts)


def main() -> None:
    """Writes the files."""
    parser = argparse.ArgumentParser(description="Computes the cellular test cases of RFC 8869.")
    parser.add_argument("--seed", type=int, default=SEED, help="of users and channels (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=EXAMPLES, help="folder (default: the examples)")
    given = parser.parse_args()
    for folder in ("traces", "rfc8869"):
        (given.out / folder).mkdir(parents=True, exist_ok=True)
    for case in CASES:
        rates, calls = simulate(case, given.seed)
        packed = gzip.compress(trace(case, rates).encode(), mtime=0)
        (given.out / "traces" / f"cell_{case.key}.tsv.gz").write_bytes(packed)
        (given.out / "rfc8869" / f"{case.key}.toml").write_text(scenario(case, calls))
        low = np.percentile(rates, 5)
        print(f"{case.key}: {np.mean(rates):.1f} Mbit/s, 5th percentile {low:.1f}, {len(calls)} calls")


if __name__ == "__main__":
    main()
