"""Paper `freeze`: the walk, recorded networks and the flows that meet a newcomer, by hand."""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np
import pytest

from whimbrel.errors import PaperError
from whimbrel.papers.freeze import others, recorded_networks, viewing, walk, walk_recorded
from whimbrel.quality.delivery import arrivals
from whimbrel.result import Result

SIZES = np.array([100, 200, 100])


def _packets(tags: list[int], sizes: list[int], times: list[float], scheme: str) -> Result:
    return Result(
        {
            "flows": {"flow": ["video"], "scheme": [scheme]},
            "packets": {
                "flow": ["video"] * len(tags),
                "tag": np.array(tags),
                "size_bytes": np.array(sizes),
                "received_s": np.array(times),
            },
        }
    )


def test_a_byte_stream_delivers_contiguous_data_only() -> None:
    """Bytes 150 to 400 arrive first, bytes 0 to 150 at 3 s, which completes all three datagrams."""
    result = _packets([150, 0], [290, 190], [2.0, 3.0], "tcp-sack")
    assert arrivals(result, "video", SIZES, 1.0).tolist() == [2.0, 2.0, 2.0]


def test_a_datagram_is_delivered_on_arrival() -> None:
    result = _packets([2, 0, 0], [140, 140, 140], [2.0, 3.0, 2.5], "ccid3")
    found = arrivals(result, "video", SIZES, 1.0)
    assert found[[0, 2]].tolist() == [1.5, 1.0]
    assert math.isnan(found[1])


def test_a_gap_has_the_length_of_mobile_ipv6() -> None:
    """3G: 2.5 s, twice 250 ms, and 50 packets of 1250 bytes at 500 kbit/s, which take a second."""
    home, umts, *_ = walk.VISITS
    assert umts.start_s - home.end_s == pytest.approx(2.5 + 0.5 + 1)
    document = walk.scenario("", "freeze").document
    first = document["handover"][0]
    assert float(first["duration"].removesuffix(" s")) == pytest.approx(4)
    # Home, frozen ahead: twice 20 ms, and 50 packets of 1250 bytes at 1 Mbit/s.
    assert float(first["freeze"]["lead"].removesuffix(" s")) == pytest.approx(0.04 + 0.5)
    assert all("freeze" not in each for each in walk.scenario("", "tfrc").document["handover"])


def test_the_full_rate_is_reached_when_it_lasts() -> None:
    """1000 bytes each 100 ms from 5 to 9 s: 80 kbit/s. Half of it arrives from 4.5 s, or for 2 s from 4 s."""
    times = [5.0 + 0.1 * number + 0.001 for number in range(40)]
    result = _packets(list(range(40)), [1000] * 40, times, "ccid3")
    assert viewing.until_full(result, 4.0, 9.0, 80_000, 1.0) == pytest.approx(1.0)
    assert viewing.until_full(result, 4.0, 9.0, 40_000, 1.0) == pytest.approx(0.5)
    assert viewing.until_full(result, 4.0, 9.0, 40_000, 2.0) == pytest.approx(0.0)
    assert viewing.until_full(result, 4.0, 9.0, 81_000, 1.0) == 5.0


def test_runs_begin_at_different_moments_of_the_clip() -> None:
    """Seeds are numbers of 64 bits."""
    phases = np.sort([viewing.phase(2**63 + seed) for seed in range(20)])
    assert phases[0] >= 0
    assert phases[-1] < 1
    assert np.unique(phases).size == 20
    assert viewing.phase(7) == viewing.phase(7)
    assert viewing.stream(0)[0].schedule.duration_s == pytest.approx(120 / (30000 / 1001))


def test_a_phone_leaves_a_failed_wifi_and_returns_to_a_stable_one() -> None:
    dead, good = 0.0, 5e6
    wifi = np.array([good, good, dead, good, dead, dead, dead, *[good] * 7])
    cellular = np.full(wifi.size, 1e6)
    trip = walk_recorded.over(wifi, cellular)
    # One dead second (2) is tolerated, two (4 and 5) are not; after five good ones (7 to 11) it is back.
    assert trip.gaps == (walk_recorded.Gap(4.0, "2 s"),)
    assert trip.rate_bps.tolist() == [good, good, dead, good, dead, dead, *[1e6] * 6, good, good]


def test_runs_of_dead_seconds_are_counted_to_the_end() -> None:
    rate = np.array([0, 9, 0, 0, 9, 9, 0, 0, 0.0])
    assert recorded_networks.runs_below(rate, 1.0) == [1, 2, 3]


def test_persistence_does_not_join_the_ends_of_recordings() -> None:
    """Each rises steadily; from the end of one to the beginning of the next it would fall."""
    rising = np.arange(50.0)
    joined = recorded_networks.persistence([np.concatenate([rising, rising])])
    apart = recorded_networks.persistence([rising, rising])
    assert apart > 0.99
    assert joined < apart - 0.01


def test_a_generated_series_has_the_recorded_distribution_and_persistence() -> None:
    network = recorded_networks.read()["lte"]
    series = network.series(100_000, 7)
    assert np.median(series) == pytest.approx(network.rate_bps[10], rel=0.05)
    assert np.quantile(series, 0.25) == pytest.approx(network.rate_bps[5], rel=0.05)
    assert recorded_networks.persistence([series]) == pytest.approx(network.persistence, abs=0.02)
    assert np.array_equal(series, network.series(100_000, 7))


def test_statistics_of_networks_survive_being_written() -> None:
    text = io.StringIO()
    recorded_networks.write(recorded_networks.read().values(), text)
    kept = Path(recorded_networks.__file__).with_name("recorded.csv").read_text(encoding="ascii")
    assert text.getvalue() == kept


def test_a_drive_is_read_second_by_second(tmp_path: Path) -> None:
    path = tmp_path / "Download_Driving_1.csv"
    lines = ["CellID,NetworkMode,DL_bitrate,State", "1,5G,30,I", "1,5G,100,D", "2,5G,200,D", "2,LTE,300,D"]
    path.write_text("\n".join(lines) + "\n")
    log = recorded_networks.read_drive(path)
    assert log.rate_bps.tolist() == [1e5, 2e5, 3e5]
    assert log.moves.tolist() == [False, True, False]
    assert [part.tolist() for part in recorded_networks.stretches_of(log, "5G")] == [[1e5, 2e5]]
    path.write_text("a,b\n1,2\n")
    assert recorded_networks.read_drive(path).rate_bps.size == 0
    path.write_text("State,CellID\nD,2\n")
    with pytest.raises(ValueError, match="expected a G-NetTrack log"):
        recorded_networks.read_drive(path)


def test_missing_recordings_are_named(tmp_path: Path) -> None:
    with pytest.raises(PaperError, match=r"WHIMBREL_TRACES=.*7_2_wifi\.csv"):
        walk_recorded.replayed("7_2", tmp_path)


def test_the_other_flows_are_on_the_narrow_network_before_the_newcomer() -> None:
    document = others.scenario("802.16 to 2 Mbit/s", "at-most-500").document
    links = {link["name"]: link for link in document["link"]}
    assert (links["own"]["rate"], links["shared"]["rate"]) == ("2000 kbit/s", "11500 kbit/s")
    narrowed = {event["link"]: event for event in document["event"]}
    assert narrowed["shared"]["rate"] == "2000 kbit/s"
    assert {event["time"] for event in document["event"]} == {document["handover"][0]["time"]}
    assert document["flow"][-1]["dccp"]["freeze"] == {"restore_rate": "500 kbit/s"}
    # 2.5 s, twice 40 ms, and 50 packets of 540 bytes at 2 Mbit/s.
    assert others.gap_s("802.16 to 2 Mbit/s") == pytest.approx(2.5 + 0.08 + 0.108)
    assert len(others.scenario("802.16 to 2 Mbit/s", "none").document["flow"]) == 2
