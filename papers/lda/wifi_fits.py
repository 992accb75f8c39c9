"""Loss models fitted to per-packet receptions on an 802.11 testbed.

The measurements come from the ORBIT testbed, CRAWDAD data set rutgers/noise (2007-04-20): senders that
send a packet each 100 ms, numbered 0 to 300, under injected noise of three levels, and for each link a file
with a line `number rssi` per packet that was received. They are not part of Whimbrel; `recorded.csv` holds
the fits to them. With the files, the fits are repeated by

    python -m whimbrel.papers.lda.wifi_fits DIRECTORY > recorded.csv

Three models, each a case of the next, by maximum likelihood:

- Bernoulli: every packet is lost with the same probability;
- Gilbert: a packet is lost exactly in the bad state of a two-state chain, so the states are seen and the
  likeliest transition probabilities are shares of transitions;
- Gilbert-Elliott: each state loses packets with a probability of its own, the states are hidden, and Baum and
  Welch's algorithm finds the parameters (from several starts, as it climbs to the next summit only).

The Bayesian information criterion selects the model of a link, with a penalty for parameters.
"""

from __future__ import annotations

import csv
import itertools
import math
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

PACKETS = 301
"""Packets sent on a link: the numbers 0 to 300, one each 100 ms."""

LEVELS = {"low": (0.005, 0.05), "medium": (0.05, 0.2), "high": (0.2, 0.5)}
"""Shares of lost packets, from the first to below the second. The link of median loss stands for a level."""

BURSTY = "bursty"
"""The level of the link with the greatest dependence of losses, if there is any."""

CHAIN = ("good_to_bad", "bad_to_good", "loss_in_good", "loss_in_bad")
"""A chain's parameters, by their names in scenarios and `recorded.csv`."""

FOUND = Path(__file__).with_name("recorded.csv")
"""The fits that come with Whimbrel."""

_STARTS = list(itertools.product((0.02, 0.2), (0.1, 0.5), (0.9,)))
"""Leaving the good state, leaving the bad one, loss in the bad one: starting point of the search."""

_ROUNDS = 300
_SETTLED = 1e-5


@dataclass(frozen=True)
class Chain:
    """A two-state chain that loses packets.

    Attributes:
        good_to_bad: probability of leaving the good state after a packet.
        bad_to_good: of leaving the bad one.
        loss_in_good: probability that a packet is lost in the good state.
        loss_in_bad: in the bad one.
    """

    good_to_bad: float
    bad_to_good: float
    loss_in_good: float
    loss_in_bad: float

    @property
    def loss(self) -> float:
        """The long-term share of packets lost."""
        good, bad = self.bad_to_good, self.good_to_bad
        return (good * self.loss_in_good + bad * self.loss_in_bad) / (good + bad)

    def scenario(self) -> dict[str, object]:
        """As the `loss` of a scenario's link."""
        return {"model": "gilbert-elliott", **{name: getattr(self, name) for name in CHAIN}}


@dataclass(frozen=True)
class Fit:
    """A model of a link.

    Attributes:
        model: `bernoulli`, `gilbert` or `gilbert-elliott`.
        chain: its parameters.
        log_likelihood: of the link's packets, in nats.
        parameters: number of fitted parameters.
    """

    model: str
    chain: Chain
    log_likelihood: float
    parameters: int

    def criterion(self, packets: int) -> float:
        """The Bayesian information criterion: the less, the better."""
        return self.parameters * math.log(packets) - 2 * self.log_likelihood


@dataclass(frozen=True)
class Link:
    """A link and its model.

    Attributes:
        name: noise level, sender set and file.
        packets: sent.
        lost: of these.
        runs: numbers of runs of 1, 2, 3, ... lost packets.
        fit: the model chosen.
        gain: log-likelihood ratio of a Gilbert chain to independent losses, in nats; more than 1.92 is
            significant at 5 %.
        level: a key of `LEVELS`, or `BURSTY`, if the link stands for it, else empty.
    """

    name: str
    packets: int
    lost: int
    runs: tuple[int, ...]
    fit: Fit
    gain: float
    level: str = ""


def read_link(path: Path) -> list[bool]:
    """Marks the lost packets of a link, from its file.

    Raises:
        ValueError: the file is not a list of receptions; the message names file and line.
    """
    lost = [True] * PACKETS
    for number, line in enumerate(path.read_text().splitlines(), 1):
        fields = line.split()
        if not fields:
            continue
        if not fields[0].isdigit() or not 0 <= int(fields[0]) < PACKETS:
            raise ValueError(
                f"{path}, line {number}: {line!r}; expected a packet's number, 0 to 300, and its RSSI"
            )
        lost[int(fields[0])] = False
    return lost


def loss_runs(lost: Sequence[bool]) -> tuple[int, ...]:
    """Numbers of runs of 1, 2, 3, ... lost packets."""
    lengths = Counter(len(list(run)) for is_lost, run in itertools.groupby(lost) if is_lost)
    return tuple(lengths[length] for length in range(1, max(lengths, default=0) + 1))


def fit_bernoulli(lost: Sequence[bool]) -> Fit:
    """Independent losses."""
    n, k = len(lost), sum(lost)
    p = k / n
    # The state of the chain does not matter.
    return Fit("bernoulli", Chain(p, 1 - p, p, p), _entropy(k, n - k), 1)


def fit_gilbert(lost: Sequence[bool]) -> Fit:
    """A packet is lost in the bad state only. The first packet has its share of all packets."""
    pairs = Counter(itertools.pairwise(lost))
    (stay, leave), (back, remain) = (
        (pairs[False, False], pairs[False, True]),
        (pairs[True, False], pairs[True, True]),
    )
    chain = Chain(leave / max(stay + leave, 1), back / max(back + remain, 1), 0.0, 1.0)
    share = sum(lost) / len(lost)
    first = math.log(share if lost[0] else 1 - share) if 0 < share < 1 else 0.0
    return Fit("gilbert", chain, _entropy(stay, leave) + _entropy(back, remain) + first, 2)


def _entropy(*counts: int) -> float:
    """Log-likelihood of counts under their own shares."""
    whole = sum(counts)
    return sum(count * math.log(count / whole) for count in counts if count)


def fit_gilbert_elliott(lost: Sequence[bool]) -> Fit:
    """Hidden states, by Baum and Welch's algorithm."""
    share = sum(lost) / len(lost)
    fits = [climb(lost, Chain(leave, back, share / 2, bad))[-1] for leave, back, bad in _STARTS]
    return max(fits, key=lambda fit: fit.log_likelihood)


def climb(lost: Sequence[bool], chain: Chain) -> list[Fit]:
    """Iterates Baum and Welch's algorithm from a chain until the likelihood no longer grows.

    The state before the first packet has a distribution of its own, which begins even.
    """
    begin, fits = 0.5, list[Fit]()
    while len(fits) < _ROUNDS:
        bad, changes, log_likelihood = _smooth(lost, chain, begin)
        fits.append(Fit("gilbert-elliott", chain, log_likelihood, 5))
        if len(fits) > 1 and log_likelihood - fits[-2].log_likelihood < _SETTLED:
            break
        begin = bad[0]
        in_bad, in_good = math.fsum(bad), math.fsum(1 - b for b in bad)
        before_bad, before_good = in_bad - bad[-1], in_good - (1 - bad[-1])
        lost_in_bad = math.fsum(b for b, is_lost in zip(bad, lost, strict=True) if is_lost)
        chain = Chain(
            _share(changes[0], before_good),
            _share(changes[1], before_bad),
            _share(sum(lost) - lost_in_bad, in_good),
            _share(lost_in_bad, in_bad),
        )
    return fits


def _share(part: float, whole: float) -> float:
    return min(max(part / whole, 0.0), 1.0) if whole > 0 else 0.0


def _smooth(
    lost: Sequence[bool], chain: Chain, begin: float
) -> tuple[list[float], tuple[float, float], float]:
    """Estimates of the hidden states from the packets.

    For each packet, the probability of the bad state, given all packets; the mean number of transitions from
    good to bad and back; and the log-likelihood.
    """
    g, b = chain.good_to_bad, chain.bad_to_good
    emitted = [
        (chain.loss_in_good, chain.loss_in_bad)
        if is_lost
        else (1 - chain.loss_in_good, 1 - chain.loss_in_bad)
        for is_lost in lost
    ]
    # Forwards, scaled so that the two states sum to one.
    ahead, scales = [], []
    good, bad = 1 - begin, begin
    for in_good, in_bad in emitted:
        good, bad = good * in_good, bad * in_bad
        scale = good + bad or sys.float_info.min
        good, bad = good / scale, bad / scale
        ahead.append((good, bad))
        scales.append(scale)
        good, bad = good * (1 - g) + bad * b, good * g + bad * (1 - b)
    # Backwards, scaled by the same.
    likely = [0.0] * len(lost)
    after_good, after_bad = 1.0, 1.0
    to_bad = to_good = 0.0
    likely[-1] = ahead[-1][1]
    for place in range(len(lost) - 2, -1, -1):
        in_good, in_bad = emitted[place + 1]
        then_good = in_good * after_good / scales[place + 1]
        then_bad = in_bad * after_bad / scales[place + 1]
        good, bad = ahead[place]
        to_bad += good * g * then_bad
        to_good += bad * b * then_good
        after_good, after_bad = (1 - g) * then_good + g * then_bad, b * then_good + (1 - b) * then_bad
        likely[place] = bad * after_bad
    return likely, (to_bad, to_good), math.fsum(map(math.log, scales))


def fit_link(name: str, lost: Sequence[bool]) -> Link:
    """The best of the three models."""
    independent, gilbert = fit_bernoulli(lost), fit_gilbert(lost)
    fit = min((independent, gilbert, fit_gilbert_elliott(lost)), key=lambda one: one.criterion(len(lost)))
    gain = gilbert.log_likelihood - independent.log_likelihood
    return Link(name, len(lost), sum(lost), loss_runs(lost), fit, gain)


def fit_directory(directory: Path) -> list[Link]:
    """Fits every link below `directory` whose loss belongs to a level, by name.

    Raises:
        ValueError: there is none, or a file is not a list of receptions.
    """
    least, most = min(low for low, _ in LEVELS.values()), max(high for _, high in LEVELS.values())
    links = []
    for path in sorted(file for file in directory.rglob("sdec*") if file.is_file()):
        lost = read_link(path)
        if least <= sum(lost) / len(lost) < most:
            links.append(fit_link(path.relative_to(directory).as_posix(), lost))
    if not links:
        raise ValueError(f"{directory} has no file sdec* with a loss of {least:.1%} to {most:.0%}")
    return _with_levels(links)


def _with_levels(links: Iterable[Link]) -> list[Link]:
    """Marks the link of median loss of each level, the lower of two in the middle, and the bursty one."""
    links = list(links)
    stands_for = {}
    for level, (low, high) in LEVELS.items():
        inside = [link for link in links if low <= link.lost / link.packets < high]
        if inside:
            inside.sort(key=lambda link: (link.lost, link.name))
            stands_for[inside[(len(inside) - 1) // 2].name] = level
    most = max(links, key=lambda link: link.gain)
    if most.fit.model != "bernoulli":
        stands_for[most.name] = BURSTY
    return [
        Link(
            link.name, link.packets, link.lost, link.runs, link.fit, link.gain, stands_for.get(link.name, "")
        )
        for link in links
    ]


COLUMNS = ("link", "level", "packets", "lost", "runs", "model", *CHAIN, "log_likelihood", "gilbert_gain")


def write(links: Iterable[Link], file: TextIO) -> None:
    """Writes fits as rows of `recorded.csv`."""
    out = csv.writer(file, lineterminator="\n")
    out.writerow(COLUMNS)
    for link in links:
        chain = link.fit.chain
        numbers = (chain.good_to_bad, chain.bad_to_good, chain.loss_in_good, chain.loss_in_bad)
        out.writerow(
            [
                link.name,
                link.level,
                link.packets,
                link.lost,
                " ".join(map(str, link.runs)),
                link.fit.model,
                *(f"{number:.6f}" for number in numbers),
                f"{link.fit.log_likelihood:.3f}",
                f"{link.gain:.3f}",
            ]
        )


def read(path: Path = FOUND) -> list[Link]:
    """The fits of a file made by `write`."""
    parameters = {"bernoulli": 1, "gilbert": 2, "gilbert-elliott": 5}
    with path.open(newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return [
            Link(
                row["link"],
                int(row["packets"]),
                int(row["lost"]),
                tuple(map(int, row["runs"].split())),
                Fit(
                    row["model"],
                    Chain(*(float(row[name]) for name in CHAIN)),
                    float(row["log_likelihood"]),
                    parameters[row["model"]],
                ),
                float(row["gilbert_gain"]),
                row["level"],
            )
            for row in rows
        ]


def main(arguments: Sequence[str]) -> int:
    """Prints the fits of a directory."""
    if len(arguments) != 1:
        print("usage: python -m whimbrel.papers.lda.wifi_fits DIRECTORY > recorded.csv", file=sys.stderr)
        return 2
    try:
        links = fit_directory(Path(arguments[0]))
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    write(links, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
