"""Fits to recorded losses, and the scenarios derived from them."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import whimbrel
from whimbrel.errors import PaperError
from whimbrel.papers.lda import recorded, wifi_fits
from whimbrel.papers.lda.wifi_fits import Chain, Fit


def _packets(text: str) -> list[bool]:
    return [mark == "x" for mark in text]


def _write(path: Path, lost: Sequence[bool]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{number} 17" for number, is_lost in enumerate(lost) if not is_lost]
    path.write_text("\n".join(lines) + "\n")


def test_packets_missing_from_a_links_file_are_lost(tmp_path: Path) -> None:
    lost = _packets("..x" + "." * 297 + "x")
    _write(tmp_path / "sdec1-2", lost)
    assert wifi_fits.read_link(tmp_path / "sdec1-2") == lost


def test_an_invalid_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "sdec1-2").write_text("0 17\n301 17\n")
    with pytest.raises(ValueError, match="sdec1-2, line 2: '301 17'; expected a packet's number, 0 to 300"):
        wifi_fits.read_link(tmp_path / "sdec1-2")


def test_runs_are_counted_by_length() -> None:
    assert wifi_fits.loss_runs(_packets("x.xx..x.xxxx")) == (2, 1, 0, 1)
    assert wifi_fits.loss_runs(_packets("....")) == ()


def test_independent_losses_have_a_share() -> None:
    # Two of eight: 2 ln(1/4) + 6 ln(3/4).
    fit = wifi_fits.fit_bernoulli(_packets("x...x..."))
    assert fit.chain.loss == pytest.approx(0.25)
    assert fit.log_likelihood == pytest.approx(2 * math.log(0.25) + 6 * math.log(0.75))


def test_a_gilbert_chain_has_shares_of_transitions() -> None:
    # ..xx...xx. : from good 2 of 5 to bad; from bad 2 of 4 to good; the first packet arrives like 6 of 10.
    fit = wifi_fits.fit_gilbert(_packets("..xx...xx."))
    assert fit.chain == Chain(0.4, 0.5, 0.0, 1.0)
    expected = math.log(0.6) + 3 * math.log(0.6) + 2 * math.log(0.4) + 4 * math.log(0.5)
    assert fit.log_likelihood == pytest.approx(expected)


def _brute_force(lost: Sequence[bool], chain: Chain, begin: float) -> float:
    """The likelihood as the sum over all paths of hidden states."""
    stay = ((1 - chain.good_to_bad, chain.good_to_bad), (chain.bad_to_good, 1 - chain.bad_to_good))
    loss = (chain.loss_in_good, chain.loss_in_bad)
    whole = 0.0
    for path in itertools.product((0, 1), repeat=len(lost)):
        likely = (1 - begin, begin)[path[0]]
        for before, after in itertools.pairwise(path):
            likely *= stay[before][after]
        for state, is_lost in zip(path, lost, strict=True):
            likely *= loss[state] if is_lost else 1 - loss[state]
        whole += likely
    return math.log(whole)


def test_the_likelihood_sums_over_all_hidden_paths() -> None:
    chain = Chain(0.2, 0.4, 0.1, 0.7)
    lost = _packets(".xx..x.x..")
    first = wifi_fits.climb(lost, chain)[0]
    assert first.log_likelihood == pytest.approx(_brute_force(lost, chain, 0.5), abs=1e-12)


def test_every_round_is_likelier_than_the_one_before() -> None:
    lost = [bool(draw) for draw in np.random.default_rng(1).random(200) < 0.3]
    found = [fit.log_likelihood for fit in wifi_fits.climb(lost, Chain(0.1, 0.3, 0.1, 0.9))]
    assert len(found) > 5
    assert (np.diff(found) > -1e-9).all()


def _draw(chain: Chain, packets: int) -> list[bool]:
    random = np.random.default_rng(7)
    lost, bad = [], False
    for _ in range(packets):
        lost.append(bool(random.random() < (chain.loss_in_bad if bad else chain.loss_in_good)))
        bad ^= bool(random.random() < (chain.bad_to_good if bad else chain.good_to_bad))
    return lost


def test_parameters_are_recovered() -> None:
    # Of 3000 packets a third are bad, in 150 stays: a standard error of 0.1 / sqrt(150) = 0.008 for leaving
    # the bad state, half of that for the good one, and of 0.015 for the loss in the bad state.
    found = wifi_fits.fit_gilbert_elliott(_draw(Chain(0.05, 0.1, 0.02, 0.8), 3000)).chain
    assert found.good_to_bad == pytest.approx(0.05, abs=0.012)
    assert found.bad_to_good == pytest.approx(0.1, abs=0.025)
    assert found.loss_in_good == pytest.approx(0.02, abs=0.015)
    assert found.loss_in_bad == pytest.approx(0.8, abs=0.05)


def test_the_criterion_penalises_parameters() -> None:
    independent = [bool(draw) for draw in np.random.default_rng(3).random(301) < 0.1]
    assert wifi_fits.fit_link("a", independent).fit.model == "bernoulli"
    bursty = wifi_fits.fit_link("b", _draw(Chain(0.05, 0.2, 0.0, 1.0), 301))
    assert bursty.fit.model == "gilbert"
    assert bursty.gain > 1.92


def _directory(tmp_path: Path) -> Path:
    """Links of 2, 4, 7 (low), 30 (medium) and 120 lost packets (high, in one run)."""
    for name, lost in {"1-2": 2, "1-4": 4, "1-6": 7, "1-8": 30}.items():
        places = {round((place + 0.5) * 301 / lost) for place in range(lost)}
        _write(tmp_path / "dbm0" / f"sdec{name}", [number in places for number in range(301)])
    _write(tmp_path / "dbm0" / "sdec2-1", [100 <= number < 220 for number in range(301)])
    return tmp_path


def test_links_stand_for_levels(tmp_path: Path) -> None:
    found = {link.name: link.level for link in wifi_fits.fit_directory(_directory(tmp_path))}
    assert found == {
        "dbm0/sdec1-2": "",
        "dbm0/sdec1-4": "low",
        "dbm0/sdec1-6": "",
        "dbm0/sdec1-8": "medium",
        # The only one of its level is the bursty one, too, which takes precedence.
        "dbm0/sdec2-1": "bursty",
    }


def test_fits_are_read_as_they_were_written(tmp_path: Path) -> None:
    fit = Fit("gilbert", Chain(0.125, 0.5, 0.0, 1.0), -12.5, 2)
    links = [wifi_fits.Link("dbm0/sdec1-2", 301, 40, (3, 0, 1), fit, 2.25, "medium")]
    out = io.StringIO()
    wifi_fits.write(links, out)
    file = tmp_path / "fits.csv"
    file.write_text("# made by a test\n" + out.getvalue())
    assert wifi_fits.read(file) == links


def test_the_included_fits_are_consistent() -> None:
    links = wifi_fits.read()
    assert len(links) == 36
    assert sorted(link.level for link in links if link.level) == sorted(recorded.LEVELS)
    for link in links:
        assert sum(length * count for length, count in enumerate(link.runs, 1)) == link.lost
        # A chain's loss equals its link's loss, except for the effect of its first and last packet.
        assert link.fit.chain.loss == pytest.approx(link.lost / link.packets, abs=2.5 / link.packets)


def test_a_recording_is_replayed_repeatedly(tmp_path: Path) -> None:
    lost = _packets("..x" + "." * 298)
    _write(tmp_path / recorded.links()["medium"].name, lost)
    packets = recorded.replayed("medium", tmp_path)["packets"]
    assert packets[:3] == [2, 303, 604]
    assert packets[-1] >= recorded.PACKETS - 301


def test_a_missing_recording_is_named(tmp_path: Path) -> None:
    with pytest.raises(PaperError, match=f"{recorded.DIRECTORY}=.*sdec"):
        recorded.replayed("high", tmp_path)


def test_a_flow_is_measured_beside_the_tcp() -> None:
    item = next(item for item in recorded.ITEMS if item.key == "recorded")
    values = {}
    for column in ("alone", "tfrc", "omniscient"):
        scenario = item.scenario("medium", column).changed("simulation.duration=42 s")
        values[column] = item.measure(whimbrel.run(scenario, seed=1), "medium", column)
    # The radio's losses limit the TCP and the unaware flow; a flow that knows them takes the remainder.
    alone, unaware, actual = values["alone"], values["tfrc"], values["omniscient"]
    assert math.isnan(alone["own"])
    assert 10 < alone["tcp"] < 50
    assert (unaware["m_w"], actual["m_w"], actual["right"]) == (100, 0, 100)
    assert actual["own"] > 2 * unaware["own"]
    assert 90 < actual["own"] + actual["tcp"] < 101
    assert actual["tcp"] < alone["tcp"]
