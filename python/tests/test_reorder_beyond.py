"""Paper `reorder`, beyond the paper: RFC 4737's metrics by hand; paths; playout without a buffer."""

import math
from typing import Any

import numpy as np
import pytest

from whimbrel._simulate.simulation import run
from whimbrel.papers.reorder import (
    beyond_layer2,
    beyond_mechanisms,
    beyond_order,
    beyond_paths,
    beyond_playout,
    beyond_rack,
    beyond_recorded,
    beyond_schemes,
    beyond_size,
    beyond_tcp,
    beyond_wireless,
)


def numbers(*sequence: int) -> Any:
    return np.array(sequence, dtype=np.int64)


def test_one_late_packet_by_hand() -> None:
    # 4 arrives after 5, 6, 7 and 8: the eighth arrival, and the fourth was the first to pass it.
    sequence = numbers(1, 2, 3, 5, 6, 7, 8, 4, 9, 10)
    assert np.flatnonzero(beyond_order.late_arrivals(sequence)).tolist() == [7]
    assert beyond_order.extents(sequence).tolist() == [4]
    assert beyond_order.overtaken(sequence).tolist() == [4]
    received = np.array([0.0, 1, 2, 4, 5, 6, 7, 7.5, 8, 9])
    assert beyond_order.late_times(sequence, received).tolist() == [3.5]
    assert beyond_order.occupancy(sequence).tolist() == [0, 0, 0, 1, 2, 3, 4, 0, 0, 0]


def test_an_extent_counts_intermediate_late_packets_and_overtaking_does_not() -> None:
    # 3 arrives four arrivals after 5, but one of those is 2, which did not overtake it.
    sequence = numbers(1, 5, 2, 6, 7, 3, 4)
    assert beyond_order.extents(sequence).tolist() == [1, 4, 5]
    assert beyond_order.overtaken(sequence).tolist() == [1, 3, 3]
    assert beyond_order.occupancy(sequence).tolist() == [0, 1, 1, 2, 3, 3, 0]


def test_order_has_no_extent() -> None:
    sequence = np.arange(50)
    assert not beyond_order.late_arrivals(sequence).any()
    assert beyond_order.extents(sequence).size == beyond_order.overtaken(sequence).size == 0
    assert beyond_order.occupancy(sequence).max() == 0


@pytest.mark.parametrize("seed", range(5))
def test_the_measures_match_their_definitions(seed: int) -> None:
    random = np.random.default_rng(seed)
    sequence = np.argsort(np.arange(200) + random.exponential(4, 200)).astype(np.int64)
    late = [at for at in range(200) if any(sequence[j] > sequence[at] for j in range(at))]
    first = [min(j for j in range(at) if sequence[j] > sequence[at]) for at in late]
    passed = [sum(sequence[j] > sequence[at] for j in range(at)) for at in late]
    assert np.flatnonzero(beyond_order.late_arrivals(sequence)).tolist() == late
    assert beyond_order.extents(sequence).tolist() == [a - b for a, b in zip(late, first, strict=True)]
    assert beyond_order.overtaken(sequence).tolist() == passed


def measured(row: str, column: str) -> dict[str, float]:
    given = beyond_order.scenario(row, column)
    return dict(beyond_order.measure(run(given, 1), row, column))


def test_paths_reorder_as_designed() -> None:
    assert measured("in order", "90 %")["ratio"] == 0
    # Three of four take a link of 15 ms and 1.5 Mbit/s, one takes 40 ms and 0.5 Mbit/s: 35.7 ms later.
    bond = measured("bond", "40 %")
    assert bond["ratio"] == pytest.approx(25, abs=0.1)
    spacing_ms = 8 * beyond_order.PACKET / 0.8e6 * 1e3
    behind_ms = 40 - 15 + 8 * beyond_order.PACKET * (1 / 0.5e6 - 1 / 1.5e6) * 1e3
    assert bond["extent"] == math.floor(behind_ms / spacing_ms)
    assert bond["late"] == pytest.approx(behind_ms - spacing_ms, abs=1e-3)
    # 5 % of the packets arrive 17 to 33 ms later. At 40 % of the rate, a packet follows 20 ms after it.
    assert 0 < measured("NetEm", "40 %")["ratio"] < 5
    assert measured("NetEm", "90 %")["late_99"] <= 33 - 8 * beyond_order.PACKET / 0.9e6 * 1e3


def test_a_changing_route_uses_every_link_in_turn() -> None:
    path = beyond_paths.PATHS["handover"]
    routes = beyond_paths.network(path, 16.0)["route"]
    assert [(route["time"], route["via"]) for route in routes] == [
        ("0 s", ["way0"]),
        ("5 s", ["way1"]),
        ("10 s", ["way0"]),
        ("15 s", ["way1"]),
    ]


def test_every_path_carries_a_flow_at_its_rate_if_no_packet_counts_as_lost() -> None:
    for row in ("in order", "route"):
        given = beyond_mechanisms.scenario(row, beyond_schemes.PLAIN)
        cell = beyond_mechanisms.measure(run(given, 1), row, beyond_schemes.PLAIN)
        assert 90 < cell["throughput"] <= 100


def test_the_available_rate_is_the_mean_over_the_changes() -> None:
    changes = beyond_size.CHANGES
    assert changes["1 and 8 Mbit/s"].capacity_bps == 4.5e6
    assert changes["cross traffic"].capacity_bps == 4e6 - 1.5e6
    assert changes["a call"].capacity_bps == 80e3


def test_a_recorded_bond_divides_packets_by_the_rates_of_the_second_before() -> None:
    rates = (np.array([4e6, 1e6, 2e6]), np.array([2e6, 3e6, 2e6]))
    document = beyond_recorded.bond(rates, beyond_schemes.PLAIN, "a bond").document
    assert [route["weights"] for route in document["route"]] == [[4e6, 2e6], [4e6, 2e6], [1e6, 3e6]]
    assert [(event["time"], event["link"], event["rate"]) for event in document["event"]] == [
        ("1 s", "way0", "1e+06 bit/s"),
        ("1 s", "way1", "3e+06 bit/s"),
        ("2 s", "way0", "2e+06 bit/s"),
        ("2 s", "way1", "2e+06 bit/s"),
    ]


def test_a_competing_tcp_keeps_its_half_without_reordering() -> None:
    given = beyond_tcp.scenario("in order", beyond_schemes.PLAIN)
    cell = beyond_tcp.measure(run(given, 1), "in order", beyond_schemes.PLAIN)
    assert 40 < cell["tcp"] < 60
    assert cell["own"] + cell["tcp"] == pytest.approx(100, abs=1)


def test_only_rows_with_differentiation_have_a_classifier() -> None:
    alone = beyond_wireless.scenario(beyond_wireless.NEITHER, beyond_wireless.NO_CLASSIFIER).document
    both = beyond_wireless.scenario("buffer, differentiation", "spike").document
    assert "classifier" not in alone["flow"][0]
    assert both["flow"][0]["classifier"] == "spike"
    assert both["flow"][0]["dccp"]["reorder_size"] == "dynamic"
    has = beyond_wireless.ITEMS[0].has
    assert has(beyond_wireless.NEITHER, beyond_wireless.NO_CLASSIFIER)
    assert not has(beyond_wireless.NEITHER, "spike")
    assert not has("buffer, differentiation", beyond_wireless.NO_CLASSIFIER)


def test_without_a_buffer_only_packets_that_were_not_overtaken_are_played() -> None:
    sent = np.arange(6, dtype=np.float64) * 0.02
    # The second arrives after the third and fourth, the fifth never.
    received = np.array([0.05, 0.13, 0.09, 0.11, math.nan, 0.15], dtype=np.float64)
    heard = beyond_playout.at_once(sent, received)
    assert heard.played.tolist() == [True, False, True, True, False, True]
    assert heard.lost.tolist() == [False, False, False, False, True, False]
    assert heard.loss_rate == pytest.approx(1 / 3)
    assert heard.mean_delay_s == pytest.approx(0.05)


def test_a_long_playout_delay_plays_all_packets() -> None:
    column = next(iter(beyond_playout.COLUMNS))
    made = run(beyond_playout.scenario("", column).changed("simulation.duration=60 s"), 1)
    cells = {row: beyond_playout.measure(made, row, column) for row in ("60 ms", "100 ms", "140 ms")}
    # 5 % arrive 30 to 70 ms later, on a path of 50 ms and the packets' own time: half of them by 100 ms.
    assert cells["60 ms"]["missing"] == pytest.approx(5, abs=2)
    assert cells["100 ms"]["missing"] == pytest.approx(2.5, abs=1.5)
    assert cells["140 ms"]["missing"] == 0
    assert cells["60 ms"]["mos"] < cells["140 ms"]["mos"]


def test_all_kinds_of_loss_detection_use_the_same_path() -> None:
    documents = [beyond_rack.ITEMS[0].scenario("300", column).document for column in beyond_rack.DETECTIONS]
    assert all(document["link"] == documents[0]["link"] for document in documents)
    details = [document["flow"][0]["dccp"] for document in documents]
    assert len({str(sorted(entry.items())) for entry in details}) == len(details)


def test_a_packet_takes_the_path_of_the_successful_attempt() -> None:
    path = beyond_layer2.path("medium")
    # 33 of 301 packets of that link were lost.
    loss = 33 / 301
    assert path.weights is not None
    assert path.weights == pytest.approx(
        [1 - loss, loss * (1 - loss), loss**2 * (1 - loss), loss**3], rel=1e-4
    )
    assert sum(path.weights) == pytest.approx(1)
    assert [way.delay_ms for way in path.ways] == [20, 28, 36, 44]


def test_without_reordering_the_changes_are_the_same() -> None:
    for row in beyond_size.CHANGES:
        in_order, delayed = (
            beyond_size.scenario(row, column).document for column in (beyond_size.IN_ORDER, "none")
        )
        assert all("netem" not in link for link in in_order["link"])
        assert any("netem" in link for link in delayed["link"])
        for link in delayed["link"]:
            link.pop("netem", None)
        assert in_order["link"] == delayed["link"]
        assert in_order.get("event") == delayed.get("event")
