"""Plays a contest, and decides its matches and its order.

A match is decided by the interval of the difference of the two scores, over the same seeds: if it contains
zero, the match is a draw. A win counts two points, a draw one. Of two with equal points, the interval of
their own matches decides, otherwise they share a place.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from whimbrel._campaigns import schedulers
from whimbrel._campaigns.campaign import Campaign, Case
from whimbrel._campaigns.engine import engine_of
from whimbrel._campaigns.progress import Bar, Silent
from whimbrel._reproduce.plan import RECORDS
from whimbrel._simulate import simulation
from whimbrel._simulate.result import Result
from whimbrel._simulate.scenario import Scenario
from whimbrel._values.comparison import contrast
from whimbrel._values.sheet import Value
from whimbrel._values.statistics import Interval, Precision
from whimbrel.contest import match
from whimbrel.contest.contestant import Limits
from whimbrel.contest.kinds import CONTROL, KINDS, Kind
from whimbrel.contest.match import SIDES, Entrant
from whimbrel.errors import UsageError, WhimbrelError

WIN, DRAW = 2, 1
"""Points."""


@dataclass(frozen=True)
class Wish:
    """Settings of the league's matches.

    Attributes:
        out: directory of the results.
        kind: what contestants decide.
        runs: games of each match.
        seed: of the first game.
        limits: of each contestant in a game.
        jobs: number of simultaneous games; the number of processors if None.
        scheduler: `local`, or the address of a Dask scheduler.
        quiet: no progress bar.
    """

    out: Path
    kind: Kind = CONTROL
    runs: int = 5
    seed: int = 1
    limits: Limits = field(default_factory=Limits)
    jobs: int | None = None
    scheduler: str = schedulers.LOCAL
    quiet: bool = False


@dataclass(frozen=True)
class Network:
    """A network to play over.

    Attributes:
        name: displayed.
        scenario: of it.
        flows: of the two contestants.
        is_random: true if games of other seeds differ.
    """

    name: str
    scenario: Scenario
    flows: tuple[str, str]
    is_random: bool


@dataclass(frozen=True)
class Match:
    """Two contestants over one network.

    Attributes:
        network: its name.
        pair: names of the two.
        scores: of each in each game.
        seeds: of the games.
        forfeits: reason of the first forfeit by name, of those that forfeited a game.
        difference: of the scores, the first less the second; None after a forfeit.
        winner: its name; empty for a draw, or if both forfeited.
        scenario: of the games.
        first: the first game.
    """

    network: Network
    pair: tuple[str, str]
    scores: tuple[Value, Value]
    seeds: tuple[int, ...]
    forfeits: Mapping[str, str]
    difference: Interval | None
    winner: str
    scenario: Scenario
    first: Result

    def points(self, name: str) -> int:
        """Of one of the pair."""
        if self.winner:
            return WIN if name == self.winner else 0
        return 0 if self.forfeits else DRAW

    def result(self) -> str:
        """The result in a sentence."""
        lost = [f"{name} {reason}" for name, reason in self.forfeits.items()]
        if lost:
            end = f"{self.winner} wins" if self.winner else "nobody wins"
            return f"{end}: {'; '.join(lost)}"
        assert self.difference is not None  # noqa: S101 - without a forfeit there are scores
        says = f"{self.difference.mean:+.2f} {self.difference.spread(2)}"
        return f"{self.winner} wins: {says}" if self.winner else f"a draw: {says}"


@dataclass(frozen=True)
class Standing:
    """A line of the league table.

    Attributes:
        place: from 1; shared by those that are equal.
        name: of the contestant.
        points: sum over its matches.
        wins: number of them.
        draws: number of them.
        losses: number of them.
        score: mean of each game index over its matches without a forfeit of its own.
    """

    place: int
    name: str
    points: int
    wins: int
    draws: int
    losses: int
    score: Value


def networks(kind: Kind, files: Sequence[Path]) -> list[Network]:
    """The networks of scenario files, and of folders of them.

    Raises:
        ScenarioError: one is not valid, or has no two flows for contestants.
        UsageError: there are none, or two of one name.
    """
    paths = [path for file in files for path in (sorted(file.glob("*.toml")) if file.is_dir() else [file])]
    if not paths:
        raise UsageError(f"{', '.join(map(str, files))} has no scenario: expected FILE.toml")
    _check_names([path.stem for path in paths], "networks")
    found = []
    for path in paths:
        scenario = Scenario.from_file(path)
        if not scenario.document.get("record", {}).get("interval"):
            scenario = scenario.changed("record.interval=500 ms")
        flows = match.places(kind, scenario)
        found.append(Network(path.stem, scenario, flows, simulation.examine(scenario).is_random))
    return found


def entrants(files: Sequence[Path], references: Sequence[str]) -> list[Entrant]:
    """The contestants: Python files, and references of the laboratory.

    Raises:
        UsageError: fewer than two, two of one name, or a file that cannot be read.
    """
    found = [Entrant(name, reference=name) for name in references]
    for file in files:
        try:
            with file.open("rb") as opened:
                content = opened.read(_LONGEST_FILE + 1)
            text = content.decode("utf-8-sig")
        except (OSError, ValueError) as error:
            raise UsageError(f"{file} cannot be read: {error}") from error
        if len(content) > _LONGEST_FILE or not text.strip():
            raise UsageError(f"{file}: expected a text of at most {_LONGEST_FILE} bytes")
        found.append(Entrant(file.stem, text))
    _check_names([each.name for each in found], "contestants")
    if len(found) < 2:
        raise UsageError(f"a contest has at least two contestants: {len(found)} named")
    return found


_LONGEST_FILE = 1 << 20


def play(who: Sequence[Entrant], where: Sequence[Network], wish: Wish) -> list[Match]:
    """Plays the games that are missing, and decides the matches: each pair over each network.

    Raises:
        CampaignError: interrupted; repeating the call resumes.
        UsageError: the scheduler cannot be used, or a reference is not known.
    """
    drawn = list(itertools.product(where, itertools.combinations(who, 2)))
    kind = wish.kind
    scenarios = [match.scenario_of(kind, net.scenario, net.flows, pair, wish.limits) for net, pair in drawn]
    names = [f"{net.name}: {first.name} and {second.name}" for net, (first, second) in drawn]
    _check_references(kind, who, where)
    with schedulers.opened(wish.scheduler, wish.jobs) as scheduler:
        campaign = Campaign(
            wish.out / RECORDS,
            run=match.play,
            engine=engine_of(match.play),
            precision=Precision.exactly(wish.runs),
            seed=wish.seed,
            scheduler=scheduler,
            progress=Silent() if wish.quiet else Bar("games"),
        )
        cases = [
            # A file may draw random numbers where the network does not.
            Case(
                name,
                scenario,
                _measuring(kind, net.flows),
                varies=net.is_random or any(each.source for each in pair),
            )
            for name, scenario, (net, pair) in zip(names, scenarios, drawn, strict=True)
        ]
        outcomes = campaign.execute(cases)
    found = []
    for name, scenario, (net, pair) in zip(names, scenarios, drawn, strict=True):
        outcome = outcomes[name]
        games = [campaign.records.load(key) for key in outcome.keys]
        played = [game for game in games if game is not None]
        found.append(_decided(kind, net, pair, scenario, outcome.seeds, played))
    return found


def standings(who: Sequence[Entrant], matches: Sequence[Match]) -> list[Standing]:
    """The league table."""
    names = [each.name for each in who]
    points = {name: sum(each.points(name) for each in matches if name in each.pair) for name in names}
    ordered: list[list[str]] = []
    for _, group in itertools.groupby(sorted(names, key=lambda name: -points[name]), key=points.__getitem__):
        ordered += _separated(list(group), matches)
    found, place = [], 1
    for equals in ordered:
        found += [_standing(place, name, points[name], matches) for name in equals]
        place += len(equals)
    return found


def _separated(names: list[str], matches: Sequence[Match]) -> list[list[str]]:
    """Names with equal points, as groups that share a place."""
    if len(names) != 2:
        return [names]
    first, second = names
    own = [each for each in matches if set(each.pair) == set(names) and each.difference is not None]
    if not own:
        return [names]
    by_name = {name: [each.scores[each.pair.index(name)] for each in own] for name in names}
    sums = [_mean_of(by_name[name]) for name in names]
    decided = _winner((first, second), _difference(sums[0], sums[1]))
    if not decided:
        return [sorted(names)]
    return [[decided], [second if decided == first else first]]


def _standing(place: int, name: str, points: int, matches: Sequence[Match]) -> Standing:
    mine = [each for each in matches if name in each.pair]
    played = [each.scores[each.pair.index(name)] for each in mine if name not in each.forfeits]
    won = sum(each.points(name) == WIN for each in mine)
    drawn = sum(each.points(name) == DRAW for each in mine)
    return Standing(place, name, points, won, drawn, len(mine) - won - drawn, _mean_of(played))


def _mean_of(values: Sequence[Value]) -> Value:
    """The mean of each game index over several matches."""
    if not values:
        return Value(np.empty(0))
    games = min(value.sample.size for value in values)
    sample = np.mean([value.sample[:games] for value in values], axis=0)
    return Value(sample, seeds=values[0].seeds[:games], is_exact=all(value.is_exact for value in values))


def _measuring(kind: Kind, flows: tuple[str, str]) -> functools.partial[Mapping[str, float]]:
    return functools.partial(_measured, kind.name, flows)


def _measured(kind: str, flows: tuple[str, str], result: Result) -> Mapping[str, float]:
    return {flow: KINDS[kind].score(result, flow) for flow in flows}


def _decided(
    kind: Kind,
    net: Network,
    pair: tuple[Entrant, Entrant],
    scenario: Scenario,
    seeds: tuple[int, ...],
    games: Sequence[Result],
) -> Match:
    names = (pair[0].name, pair[1].name)
    is_exact = len(seeds) == 1 and not net.is_random
    first, second = (
        Value(np.array([kind.score(game, flow) for game in games]), seeds=seeds, name=name, is_exact=is_exact)
        for flow, name in zip(net.flows, names, strict=True)
    )
    forfeits = dict(_forfeits(games))
    difference = None if forfeits else _difference(first, second)
    if forfeits:
        left = [name for name in names if name not in forfeits]
        winner = left[0] if left else ""
    else:
        winner = _winner(names, difference)
    return Match(net, names, (first, second), seeds, forfeits, difference, winner, scenario, games[0])


def _difference(first: Value, second: Value) -> Interval | None:
    found = contrast(first, second)
    return None if found is None else found.interval()


def _winner(names: tuple[str, str], difference: Interval | None) -> str:
    """The name of the better; empty if the interval contains zero, or has no bounds."""
    if difference is None or math.isnan(difference.low):
        return ""
    if difference.low > 0:
        return names[0]
    return names[1] if difference.high < 0 else ""


def _forfeits(games: Sequence[Result]) -> Iterator[tuple[str, str]]:
    """The first reason of each name; later games do not replace it."""
    seen: set[str] = set()
    for game in games:
        sides = game.tables[SIDES]
        for name, reason in zip(sides["name"], sides["forfeit"], strict=True):
            if reason and str(name) not in seen:
                seen.add(str(name))
                yield str(name), str(reason)


def _check_names(names: Sequence[str], what: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two {what} are called {name!r}")
        if not name or not all(sign.isalnum() or sign in "-_." for sign in name):
            raise UsageError(f"{name!r} is no name of {what}: expected letters, digits, `-`, `_` and `.`")


def _check_references(kind: Kind, who: Sequence[Entrant], where: Sequence[Network]) -> None:
    """An error before any game is played, if a reference is not known."""
    for each in who:
        if each.reference:
            for net in where[:1]:
                try:
                    simulation.examine(
                        net.scenario.changed(f"flow.{net.flows[0]}.{kind.key}={each.reference}")
                    )
                except WhimbrelError as error:
                    raise UsageError(f"--reference {each.reference}: {error}") from error
