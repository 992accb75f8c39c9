"""The E-model of ITU-T G.107: the quality of a telephone connection as a rating R from 0 to 100.

R = Ro - Is - Id - Ie,eff + A: the signal-to-noise ratio, less simultaneous impairments, less impairments by
delay, less impairments by codec and packet loss, plus an advantage factor. Symbols, equation numbers (7-1 to
7-29) and defaults follow G.107 (12/2011); the later edition with classes of delay sensitivity gives the same
for the default class. Levels are in dB, dBm0p or dB(A) as there; times are in seconds here and milliseconds
there, losses are shares here and percent there.

The Recommendation's text was not available: the equations were written from its published form and compared
with two independent programs, `manucorporat/e-model` (which prints 93.206208 for the defaults) and OPAL's
`metrics.cxx`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields

from whimbrel.errors import UsageError
from whimbrel.quality import opinion


@dataclass(frozen=True, slots=True)
class Telephones:
    """The two telephones.

    Attributes:
        slr: send loudness rating in dB.
        rlr: receive loudness rating in dB.
        stmr: sidetone masking rating in dB.
        ds: D-value of the telephone at the sending side.
        dr: D-value of the telephone at the receiving side; the listener sidetone rating is STMR + Dr.
    """

    slr: float = 8.0
    rlr: float = 2.0
    stmr: float = 15.0
    ds: float = 3.0
    dr: float = 3.0


@dataclass(frozen=True, slots=True)
class Noise:
    """Noise of the circuit and the rooms.

    Attributes:
        nc: circuit noise referred to the 0 dBr point, in dBm0p.
        nfor: noise floor at the receiving side, in dBmp.
        ps: room noise at the sending side, in dB(A).
        pr: room noise at the receiving side, in dB(A).
    """

    nc: float = -70.0
    nfor: float = -64.0
    ps: float = 35.0
    pr: float = 35.0


@dataclass(frozen=True, slots=True)
class Path:
    """Delays, and the echoes that they make audible.

    Attributes:
        t_s: mean one-way delay of the echo path, T, in seconds.
        ta_s: absolute delay from mouth to ear, Ta, in seconds.
        tr_s: round-trip delay in the four-wire loop, Tr, in seconds.
        telr: talker echo loudness rating in dB.
        wepl: weighted echo path loss in dB.
    """

    t_s: float = 0.0
    ta_s: float = 0.0
    tr_s: float = 0.0
    telr: float = 65.0
    wepl: float = 110.0

    @classmethod
    def with_delay(cls, delay_s: float) -> Path:
        """A call over packets: T = Ta and Tr = 2 T, with the default echo losses."""
        return cls(t_s=delay_s, ta_s=delay_s, tr_s=2 * delay_s)


@dataclass(frozen=True, slots=True)
class Coding:
    """The impairments by the codec and by loss.

    Attributes:
        ie: equipment impairment factor without loss.
        bpl: packet loss robustness factor.
        loss_rate: share of packets lost, Ppl as a share.
        burst_ratio: mean length of bursts of lost packets over that under independent loss, BurstR; 1 for
            independent loss.
        qdu: number of quantizing distortion units.
    """

    ie: float = 0.0
    bpl: float = 4.3
    loss_rate: float = 0.0
    burst_ratio: float = 1.0
    qdu: float = 1.0


@dataclass(frozen=True, slots=True)
class Connection:
    """All parameters with a default in G.107, Table 2; `Connection()` has the defaults.

    Attributes:
        telephones: loudness and sidetone.
        noise: of line and rooms.
        path: delays and echoes.
        coding: codec and loss.
        advantage: A: 0 for wire, to 5 for mobility in a building, to 10 in an area or a vehicle, to 20
            without any alternative (G.107, Table 1).
    """

    telephones: Telephones = field(default_factory=Telephones)
    noise: Noise = field(default_factory=Noise)
    path: Path = field(default_factory=Path)
    coding: Coding = field(default_factory=Coding)
    advantage: float = 0.0


@dataclass(frozen=True, slots=True)
class Rating:
    """The terms of R.

    Attributes:
        ro: basic signal-to-noise ratio.
        i_olr: impairment by too low a loudness.
        i_st: impairment by a wrong sidetone.
        i_q: impairment by quantizing distortion.
        i_dte: impairment by the talker's echo.
        i_dle: impairment by the listener's echo.
        i_dd: impairment by delay itself.
        ie_eff: impairment by codec and loss.
        advantage: A.
    """

    ro: float
    i_olr: float
    i_st: float
    i_q: float
    i_dte: float
    i_dle: float
    i_dd: float
    ie_eff: float
    advantage: float

    @property
    def i_s(self) -> float:
        """The simultaneous impairments, Is (7-8)."""
        return self.i_olr + self.i_st + self.i_q

    @property
    def i_d(self) -> float:
        """The delay impairments, Id (7-17)."""
        return self.i_dte + self.i_dle + self.i_dd

    @property
    def r(self) -> float:
        """The transmission rating factor R (7-1), unclipped: may be below 0."""
        return self.ro - self.i_s - self.i_d - self.ie_eff + self.advantage

    @property
    def mos(self) -> float:
        """The mean opinion score of R, 1 to 4.5."""
        return opinion.mos(self.r)


def rate(connection: Connection | None = None) -> Rating:
    """Rates a connection.

    Raises:
        UsageError: a value outside the equations' domain, such as a loss above 1.
    """
    given = connection or Connection()
    _check(given)
    telephones, path = given.telephones, given.path
    no = _noise(telephones, given.noise)
    ro = 15 - 1.5 * (telephones.slr + no)  # (7-2)
    i_st = _sidetone(telephones, path)
    coding = given.coding
    return Rating(
        ro=ro,
        i_olr=_loudness(telephones, no),
        i_st=i_st,
        i_q=_quantizing(ro, coding.qdu),
        i_dte=_talker_echo(telephones, path, no, i_st),
        i_dle=_listener_echo(path, ro),
        i_dd=delay_impairment(path.ta_s),
        ie_eff=effective_impairment(coding.ie, coding.bpl, coding.loss_rate, coding.burst_ratio),
        advantage=given.advantage,
    )


def effective_impairment(
    ie: float, bpl: float, loss_rate: float, burst_ratio: float = 1.0, most: float = 95.0
) -> float:
    """The effective equipment impairment factor, Ie,eff (7-29).

    Args:
        ie: equipment impairment factor without loss.
        bpl: packet loss robustness factor.
        loss_rate: share of packets lost, 0 to 1.
        burst_ratio: 1 for independent loss, more for bursts.
        most: its limit at total loss: 95, or 132 on the fullband scale of G.107.2.
    """
    percent = 100 * loss_rate
    return ie + (most - ie) * percent / (percent / burst_ratio + bpl)


def delay_impairment(delay_s: float) -> float:
    """Impairment by absolute delay without echo, Idd (7-27, 7-28): zero up to 100 ms."""
    if delay_s <= 0.1:
        return 0.0
    x = math.log2(delay_s / 0.1)
    return 25 * (_rounded(x, 6) - 3 * _rounded(x / 3, 6) + 2)


def _rounded(x: float, power: int) -> float:
    """(1 + x^n)^(1/n), the larger of 1 and x with a rounded corner, which the model uses repeatedly."""
    return float((1 + x**power) ** (1 / power))


def _noise(telephones: Telephones, noise: Noise) -> float:
    """All noise as the power of one source at the 0 dBr point, No in dBm0p (7-3 to 7-7)."""
    olr = telephones.slr + telephones.rlr
    sending = noise.ps - telephones.slr - telephones.ds - 100
    sending += 0.004 * (noise.ps - olr - telephones.ds - 14) ** 2
    lstr = telephones.stmr + telephones.dr
    heard = noise.pr + 10 * math.log10(1 + 10 ** ((10 - lstr) / 10))
    receiving = telephones.rlr - 121 + heard + 0.008 * (heard - 35) ** 2
    floor = noise.nfor + telephones.rlr
    return 10 * math.log10(sum(10 ** (level / 10) for level in (noise.nc, sending, receiving, floor)))


def _loudness(telephones: Telephones, no: float) -> float:
    """Iolr (7-9, 7-10)."""
    x = (telephones.slr + telephones.rlr + 0.2 * (64 + no - telephones.rlr)) / 8
    return 20 * (_rounded(x, 8) - x)


def _sidetone(telephones: Telephones, path: Path) -> float:
    """Ist (7-11, 7-12): the sidetone, with the part of the echo so early that it is heard as sidetone."""
    early = math.exp(-1000 * path.t_s / 4) * 10 ** (-path.telr / 10)
    stmro = -10 * math.log10(10 ** (-telephones.stmr / 10) + early)
    return (
        12 * _rounded((stmro - 13) / 6, 8)
        - 28 * _rounded((stmro + 1) / 19.4, 35)
        - 13 * _rounded((stmro - 3) / 33, 13)
        + 29
    )


def _quantizing(ro: float, qdu: float) -> float:
    """Iq (7-13 to 7-16)."""
    q = 37 - 15 * math.log10(qdu)
    g = 1.07 + 0.258 * q + 0.0602 * q * q
    y = (ro - 100) / 15 + 46 / 8.4 - g / 9
    z = 46 / 30 - g / 40
    return 15 * math.log10(1 + 10**y + 10**z)


def _talker_echo(telephones: Telephones, path: Path, no: float, i_st: float) -> float:
    """Idte (7-18 to 7-23); 0 below 1 ms, where the echo is heard as sidetone (Section 7.4)."""
    t_ms = 1000 * path.t_s
    terv = path.telr - 40 * math.log10((1 + t_ms / 10) / (1 + t_ms / 150)) + 6 * math.exp(-0.3 * t_ms**2)
    if telephones.stmr < 9:
        terv += i_st / 2
    roe = -1.5 * (no - telephones.rlr)
    half = (roe - (80 + 2.5 * (terv - 14))) / 2
    i_dte = 0.0 if t_ms < 1 else (half + math.sqrt(half**2 + 100) - 1) * (1 - math.exp(-t_ms))
    return math.hypot(i_dte, i_st) if telephones.stmr > 20 else i_dte


def _listener_echo(path: Path, ro: float) -> float:
    """Idle (7-24, 7-25)."""
    rle = 10.5 * (path.wepl + 7) / math.sqrt(math.sqrt(1000 * path.tr_s + 1))
    half = (ro - rle) / 2
    return half + math.sqrt(half**2 + 169)


def _check(connection: Connection) -> None:
    for part in fields(connection):
        values = getattr(connection, part.name)
        named = {part.name: values}
        if not isinstance(values, float | int):
            named = {each.name: getattr(values, each.name) for each in fields(values)}
        for name, value in named.items():
            if not math.isfinite(value):
                raise UsageError(f"{name} is {value}; expected a number")
    _within("slr + rlr", connection.telephones.slr + connection.telephones.rlr, -10, 60)
    _within("stmr", connection.telephones.stmr, 0, 100)
    for name in ("t_s", "ta_s", "tr_s"):
        _within(name, getattr(connection.path, name), 0, 100)
    coding = connection.coding
    _within("ie", coding.ie, 0, 95)
    _within("loss_rate", coding.loss_rate, 0, 1)
    _within("bpl", coding.bpl, 1e-9, 1e9)
    _within("burst_ratio", coding.burst_ratio, 1e-9, 1e9)
    _within("qdu", coding.qdu, 1e-9, 1e3)


def _within(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise UsageError(f"{name} is {value}; expected {least:g} to {most:g}")
