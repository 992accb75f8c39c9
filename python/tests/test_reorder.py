"""Paper `reorder`: its dumbbell as in Sections II and III, its measures by hand."""

import itertools
import math
import statistics
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from whimbrel._reproduce import paper
from whimbrel._simulate import simulation
from whimbrel.papers.reorder import efficiency, measures, sets, table1, topology, video, voice
from whimbrel.papers.reorder.topology import DELAYED, NETEM_MS, USUAL, Lane
from whimbrel.sheet import Sheet, value_of


def link(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    (found,) = [each for each in document["link"] if each["name"] == name]
    return dict(found)


@pytest.mark.parametrize("rtt", table1.ROWS)
@pytest.mark.parametrize("lane", table1.LANES)
def test_every_path_has_the_round_trip_time_of_its_row(rtt: str, lane: str) -> None:
    made = topology.path("a", rtt, table1.LANES[lane])
    waits = table1.LANES[lane].reading != "delayed" and table1.LANES[lane].reordered > 0
    there = 2 * topology.ACCESS_MS + float(link(made, "a-bottleneck")["delay"].split()[0])
    back = 2 * topology.ACCESS_MS + float(link(made, "a-back")["delay"].split()[0])
    # NetEm's mean delay is half of the round-trip time in every row: nothing is left for other links.
    there += NETEM_MS[rtt][0] if waits else 0
    assert there + back == pytest.approx(int(rtt), abs=2 * topology.ACCESS_MS)


def test_the_readings_of_5_percent() -> None:
    readings = {name: topology.netem("50", table1.LANES[name]) for name in ("netem", "delayed", "in-order")}
    common = {"delay": "25 ms", "jitter": "8 ms", "distribution": "uniform"}
    assert readings == {
        "netem": {**common, "reorder": "5 %"},
        "delayed": {**common, "reorder": "95 %"},
        "in-order": None,
    }
    ahead = topology.netem("50", table1.CHOICES["without jitter"])
    assert ahead == {**common, "jitter": "0 ms", "reorder": "5 %"}


def test_dumbbells_side_by_side_share_nothing() -> None:
    document = topology.scenario("two", [Lane("a", "50"), Lane("b", "100")], 10, 1).document
    ends = [
        end for each in document["link"] for end in each.get("between", (each.get("from"), each.get("to")))
    ]
    assert {end.split("-")[0] for end in ends} == {"a", "b"}
    for each in document["link"]:
        pair = each.get("between", (each.get("from"), each.get("to")))
        assert len({end.split("-")[0] for end in pair}) == 1
    assert [flow["dccp"]["forgive_late"] for flow in document["flow"]] == [False, False]


def packet_size(rtt_s: float, rate_bps: float, p: float) -> float:
    """Equation (1) of the paper, for s, with RTO = 4 RTT."""
    time = rtt_s * math.sqrt(2 * p / 3) + 4 * rtt_s * math.sqrt(27 * p / 8) * p * (1 + 32 * p * p)
    return rate_bps * time / 8


def test_the_printed_numbers_imply_a_packet_size() -> None:
    printed = paper.expected(paper.load("reorder"))["table1"]
    sizes = {
        row: packet_size(
            int(row) / 1e3, 1e3 * printed[row, "delayed", "rate"], printed[row, "delayed", "ler"] / 100
        )
        for row in table1.ROWS
    }
    # As listed in papers/reorder/README.md: one row disagrees.
    assert {row: round(size) for row, size in sizes.items()} == {
        "50": 708,
        "100": 897,
        "200": 1611,
        "300": 900,
        "400": 841,
    }
    # With the R that a sender measures: the nominal one if few packets wait, less if nearly all do.
    assert DELAYED.payload == round(statistics.median(sizes.values()), -2)
    assert USUAL.payload == 700


def test_the_efficiency_ratio_is_one_half_if_nothing_changes() -> None:
    assert measures.efficiency(3.0, 3.0) == 0.5
    assert measures.efficiency(850.0, 150.0) == 0.85
    assert math.isnan(measures.efficiency(0.0, 0.0))


def test_jitter_is_the_change_of_the_transit_time_from_packet_to_packet() -> None:
    sent = np.array([0.0, 0.01, 0.02, 0.03])
    # The second is overtaken by two: transits in order of arrival 10, 10, 10, 40 ms.
    received = np.array([0.01, 0.05, 0.03, 0.04])
    assert measures.interarrival_jitter(sent, received) == pytest.approx(0.03 / 3)
    # In order they arrive at 10, 50, 50 and 50 ms: transits 10, 40, 30, 20.
    in_order = np.array([0.01, 0.05, 0.05, 0.05])
    assert measures.interarrival_jitter(sent, in_order) == pytest.approx(0.05 / 3)
    assert math.isnan(measures.interarrival_jitter(sent[:1], received[:1]))
    assert measures.spread_of_gaps(received) == pytest.approx(np.std([0.02, 0.01, 0.01]))
    assert math.isnan(measures.spread_of_gaps(received[:2]))


def test_figures_have_a_flow_without_the_buffer_and_one_for_each_size() -> None:
    document = efficiency.scenario("300").document
    dccp = {flow["name"]: flow["dccp"] for flow in document["flow"]}
    assert len(dccp) == 3 + 11
    assert [name for name in dccp if "reorder_size" not in dccp[name]] == ["none", "first", "forgiven"]
    assert dccp["q7"]["reorder_size"] == "7 packets"
    assert [name for name in dccp if dccp[name]["forgive_late"]] == ["forgiven"]
    assert [name for name in dccp if dccp[name].get("loss_detection")] == ["first"]
    assert link(document, "q7-bottleneck")["netem"]["delay"] == "150 ms"
    fixed = efficiency.scenario("300", "fixed").document
    assert link(fixed, "q7-bottleneck")["netem"]["delay"] == "50 ms"
    assert link(fixed, "q7-bottleneck")["delay"] == link(document, "q7-bottleneck")["delay"]


@pytest.mark.parametrize(("size", "alike"), [("2", True), ("12", False)])
def test_two_packets_give_up_when_a_receiver_without_a_buffer_would(size: str, alike: bool) -> None:
    lanes = [
        Lane("none", "100", efficiency.ASSUMED),
        Lane("some", "100", efficiency.ASSUMED, {"reorder_delay": "60 s", "reorder_size": f"{size} packets"}),
    ]
    result = simulation.run(topology.scenario("two or twelve", lanes, 120, 20))
    without, some = (measures.loss_event_rate(result, name) for name in ("none", "some"))
    assert (some > 0.8 * without) == alike
    assert without > 1.5


def test_a_player_without_a_buffer_loses_overtaken_packets() -> None:
    sent = np.array([0.0, 0.02, 0.04, 0.06, 0.08])
    received = np.array([0.05, 0.12, 0.09, np.nan, 0.13])
    delay, loss = voice.as_it_comes(sent, received)
    assert loss == pytest.approx(2 / 5)
    assert delay == pytest.approx(0.05)
    # Played 100 ms after the fastest, 50 ms: all packets that arrived.
    assert voice.heard(sent, received, voice.VOICE) == pytest.approx((0.15, 1 / 5))


def test_calls_are_as_in_section_3() -> None:
    document = voice.scenario("", "").document
    flows = {flow["name"]: flow for flow in document["flow"]}
    assert flows["g711-buffer"]["packet_size"] == "200 B"
    assert "payload" not in flows["g711-buffer"]
    assert flows["g729-none"]["traffic"] == {"kind": "cbr", "rate": "24 kbit/s"}
    # Both send every 20 ms: 8 bits of 200 and 60 bytes at 80 and 24 kbit/s.
    assert 8 * 200 / 80_000 == 8 * 60 / 24_000 == 0.02


def test_table_3_is_reproduced_from_its_rates() -> None:
    assert round(video.score(video.DCCP, 898e3), 2) == 4.19
    assert round(video.score(video.ADJUSTED, 314e3), 2) == 2.76
    assert video.score(video.FIXED, 314e3) == pytest.approx(1.0, abs=1e-3)
    # A path that carries all of it loses nothing.
    assert video.score(video.FIXED, 2e6) == video.score(video.DCCP, video.VIDEO_BPS)


def test_all_printed_numbers_are_present() -> None:
    printed = paper.expected(paper.load("reorder"))
    assert printed["table1"]["300", "in-order", "rate"] == 936.8
    assert len(printed["table1"]) == 5 * 3
    assert {key: len(numbers) for key, numbers in printed.items() if key in ("table2", "table3")} == {
        "table2": 3 * 2 * 2,
        "table3": 2 * 2 + 2,
    }


def test_a_set_takes_its_own_flows_and_keeps_the_printed_numbers() -> None:
    keys = (*sets.KEYS, "fig2-netem", "fig2-fixed")
    made = {}
    for key in keys:
        item = paper.load("reorder").item(key)
        sheet = Sheet(key, key, item.rows, item.columns, item.metrics)
        for place in itertools.product(item.rows, item.columns, (metric.key for metric in item.metrics)):
            # Each number is the position of its place: no two are alike.
            sheet.values[place] = replace(value_of([float(len(sheet.values))], is_exact=True), paper=-1.0)
        made[key] = sheet

    def number(sheet: Sheet, *place: str) -> float:
        return float(sheet.values[place[0], place[1], place[2]].mean)

    def of(name: str, key: str, *place: str) -> float:
        return number(sets.sheets_of(name, made)[key], *place)

    assert of("delayed", "table1", "50", "delayed", "ler") == number(made["table1"], "50", "delayed", "ler")
    assert of("netem-first", "table1", "50", "delayed", "ler") == number(
        made["table1"], "50", "netem-first", "ler"
    )
    # The table prints the delays.
    assert of("fixed", "table1", "50", "delayed", "ler") == number(made["table1"], "50", "delayed", "ler")
    assert sets.sheets_of("netem", made)["table1"].values["50", "delayed", "ler"].paper == -1.0
    for name, source, metric in (
        ("delayed", "fig2", "without"),
        ("delayed-first", "fig2", "first"),
        ("netem", "fig2-netem", "without"),
        ("fixed-first", "fig2-fixed", "without_first"),
    ):
        assert of(name, "fig2", "5", "100", "without") == number(made[source], "5", "100", metric)
    assert of("netem-first", "fig4", "5", "100", "ratio_gaps") == number(
        made["fig2-netem"], "5", "100", "gaps_first"
    )
    assert of("delayed-first", "fig3", "5", "100", "ratio") == number(made["fig3"], "5", "100", "ratio_first")
    found = sets.verdicts(paper.load("reorder").claims, made)
    assert {"ler-rises", "seven-substantial", "gaps-alike", "rtt-amplifies-harm"} <= set(found)
    assert all(tuple(verdict) == sets.NAMES for verdict in found.values())
