"""Paper `winf`: equation 3, the networks and the measures."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from whimbrel._reproduce import paper
from whimbrel._simulate.simulation import run
from whimbrel.paper import Item
from whimbrel.papers.winf import (
    adhoc,
    building,
    choices,
    handover,
    measures,
    mesh,
    repetitions,
    sets,
    signals,
    topology,
)
from whimbrel.papers.winf.inference import Times
from whimbrel.papers.winf.topology import DSDV_NS2, NS2, SCHEMES, STANDARD
from whimbrel.result import Result
from whimbrel.scenario import Scenario
from whimbrel.sheet import Sheet, value_of


def test_equation_3_has_the_values_of_the_validation_page() -> None:
    # tests/golden/validation-80211.md, "Maximum throughput of one sender".
    assert Times(1500).maximum == pytest.approx(4.5153, abs=1e-4)
    # The exchange leaves DIFS, backoff, RTS, CTS and three SIFS out.
    missing = 50 + 310 + 3 * 10 + 2 * 192 + (20 + 14) * 8
    assert Times(1500).cycle - Times(1500).data_and_ack == pytest.approx(missing)


@pytest.mark.parametrize("count", [5, 9, 12, 16])
def test_grids_are_in_the_middle_of_the_area(count: int) -> None:
    grid = topology.grid(count)
    columns = grid["layout"]["columns"]
    rows = math.ceil(count / columns)
    x, y = grid["position"]
    assert (2 * x + (columns - 1) * 200, 2 * y + (rows - 1) * 200) == topology.AREA


def test_each_mobile_node_sends_and_receives() -> None:
    flows = topology.mesh("xcp-winf", 16, 7, NS2, 70.0).document["flow"]
    names = {f"n{number}" for number in range(7)}
    assert {flow["from"] for flow in flows} == {flow["to"] for flow in flows} == names


def test_half_as_many_flows_as_nodes_in_ad_hoc_networks() -> None:
    for row in adhoc.ROWS:
        document = adhoc.ITEMS[0].scenario(row, "rcp").document
        assert document["node"][0]["count"] == 2 * int(row) == 2 * document["flow"][0]["count"]


@pytest.mark.parametrize("traffic", building.LOADS)
def test_flows_of_the_building_last_as_long_and_are_those_of_table_1(traffic: building.Load) -> None:
    corrected = building.scenario("xcp-winf", 10, traffic, STANDARD, is_corrected=True)
    documents = [building.scenario("tcp", 10, traffic, STANDARD).document, corrected.document]
    times = [[(flow["from"], flow["to"], flow["start"]) for flow in doc["flow"]] for doc in documents]
    assert times[0] == times[1]
    assert len(times[0]) == 40
    for flow in documents[0]["flow"]:
        start, stop = (float(flow[key].removesuffix(" s")) for key in ("start", "stop"))
        assert stop - start == pytest.approx(building.SENDING_S)
        assert stop < building.SECONDS
        assert flow["from"] != flow["to"]
    first, second = (float(flow["start"].removesuffix(" s")) for flow in documents[0]["flow"][:2])
    assert second - first == pytest.approx(traffic.apart_s, abs=2e-3)
    assert documents[1]["wifi"][0]["controller"] == {"law": "xcp-winf", "collision_correction": True}
    assert "controller" not in documents[0]["wifi"][0]
    assert sum(node["count"] for node in documents[0]["node"] if node["name"] != "n{i}") == 6


def _result(scheme: str) -> Result:
    scenario = topology.mesh(scheme, 9, 3, NS2, 20.0)
    return run(scenario, seed=1)


def test_throughput_counts_repetitions_and_goodput_does_not() -> None:
    tcp, rcp = measures.measure(_result("tcp")), measures.measure(_result("rcp"))
    assert rcp["received"] > 0
    assert rcp["goodput"] < 0.5 * rcp["throughput"]
    assert tcp["goodput"] > 0.8 * tcp["throughput"]
    assert rcp["lost"] > 50 > tcp["lost"]


def test_a_mean_over_rows_is_over_the_chosen_ones() -> None:
    item = mesh.ITEMS[0]
    assert set(mesh.FEW) | set(mesh.MANY) < set(item.rows)
    assert not set(mesh.FEW) & set(mesh.MANY)


def test_every_paper_item_has_a_twin_with_the_standards_mac() -> None:
    keys = {item.key for item in paper.load("winf").items}
    for key in ("fig3", "fig7", "fig10", "fig11", "grids", "fig12", "fig14", "fig15"):
        assert {key, f"{key}-standard"} <= keys


def test_the_copy_has_no_date() -> None:
    assert paper.load("winf").credit == "Luís Barreto"


def test_the_distance_from_max_min_counts_the_hops() -> None:
    def distance(rates: list[float], hops: list[float]) -> dict[str, float]:
        table = {"goodput_bps": rates, "hops_mean": hops}
        return signals.fairness(SimpleNamespace(flows=table))  # type: ignore[arg-type]

    assert distance([1e6, 1e6], [1.0, 3.0]) == {"jain": 1.0, "distance": 0.0}
    # (3 + 1 * 3) / 4 = 1.5 Mbit/s for both: the second flow lacks a third, on average a sixth.
    unequal = distance([3e6, 1e6], [1.0, 3.0])
    assert unequal["distance"] == pytest.approx(100 / 6)
    assert unequal["jain"] == pytest.approx(16 / 20)
    assert math.isnan(distance([0.0, 0.0], [math.nan, math.nan])["jain"])


def test_signals_change_the_queues_and_senders_alone() -> None:
    tcp = topology.mesh("tcp", 16, 5, NS2, mesh.SECONDS).document
    prague = signals.scenario("5", "prague").document
    assert prague["wifi"][0].pop("discipline") == {"kind": "dualpi2"}
    assert prague["wifi"] == tcp["wifi"]
    assert prague["node"] == tcp["node"]
    assert {flow["tcp"]["congestion"] for flow in prague["flow"]} == {"prague"}
    # With headers all packets have 1500 bytes.
    assert {signals.scenario("5", name).document["flow"][0]["payload"] for name in ("abc", "blind-xcp")} == {
        "1448 B",
        "1428 B",
    }


def test_the_full_rate_has_to_last() -> None:
    time = np.arange(1, 61) * handover.GRAIN_S
    rate = np.where((time > 0.5) & (time < 1.2) | (time > 2.05), 1.0, 0.1)
    # The first burst does not last; of the second one the first 0.3 s end at 2.4 s.
    assert handover.restored(time, rate, 1.0) == pytest.approx(2.4, abs=0.11)
    assert math.isnan(handover.restored(time, np.full(60, 0.8), 1.0))


def test_cells_differ_by_their_rates_and_stations() -> None:
    lower = handover.scenario("lower", "cycle-cap").document
    rates = [node["access_point"]["rate"] for node in lower["node"] if "access_point" in node]
    assert rates == ["11 Mbit/s", "1 Mbit/s"]
    assert lower["wifi"][0]["controller"] == {"law": "xcp-winf", "whole_cycle": True}
    dccp = lower["flow"][0]["dccp"]
    assert dccp["link_cap"]
    assert dccp["freeze"] == {"restart": "link-available", "follows_station": True}
    contended = handover.scenario("contended", "tfrc").document
    assert [flow.get("count", 1) for flow in contended["flow"]] == [1, handover.CONTENDERS]
    assert "freeze" not in contended["flow"][0]["dccp"]


def test_a_choice_changes_what_it_names_and_nothing_else() -> None:
    for scheme in ("tcp", "rcp", "rcp-winf"):
        plain = topology.mesh(scheme, 16, 3, NS2, mesh.SECONDS)
        made = choices.USUAL.of(plain).document
        assert _item("fig10").scenario("3", scheme).document == made
        (medium,), (given,) = made["wifi"], plain.document["wifi"]
        assert medium["routing"] == DSDV_NS2 != given["routing"]
        limits = {flow.get(flow["transport"], {}).get("window_limit") for flow in made["flow"]}
        # The agent of RCP's authors has no window.
        assert limits == {None if scheme.startswith("rcp") else 20}
        law = medium.get("controller", {})
        assert law.get("averaging") == ("largest" if scheme.endswith("-winf") else None)
        assert law.get("law") == given.get("controller", {}).get("law")
        for flow, before in zip(made["flow"], plain.document["flow"], strict=True):
            key = flow["transport"]
            assert flow.get(key, {}).items() >= before.get(key, {}).items()
        assert Scenario(made)


def test_a_choice_replaces_another_one() -> None:
    for scheme in SCHEMES:
        plain = topology.mesh(scheme, 16, 3, NS2, mesh.SECONDS)
        for other in sets.CHOICES.values():
            assert other.of(choices.USUAL.of(plain)).document == other.of(plain).document
    # Without any of them the networks are as they were written down.
    tcp = topology.mesh("tcp", 16, 3, NS2, mesh.SECONDS)
    assert sets.CHOICES["today"].of(choices.USUAL.of(tcp)).document == tcp.document


def test_every_set_has_its_own_items_and_no_two_are_alike() -> None:
    keys = {item.key for item in paper.load("winf").items}
    assert {sets.item_of(key, name) for key in sets.KEYS for name in sets.CHOICES} <= keys
    # The standard's MAC is no choice of a reader of ns-2.
    standard = _item("fig10-standard").scenario("3", "tcp").document
    assert "window_limit" not in standard["flow"][0]["tcp"]
    assert len(set(sets.CHOICES.values())) == len(sets.CHOICES)
    assert _item("fig15-latest").rows == ["10"]


def test_the_items_of_the_paper_have_the_usual_choices() -> None:
    for key in sets.USUAL_KEYS:
        item = _item(key)
        for column in item.columns:
            given = item.scenario(item.rows[0], column)
            assert sets.CHOICES[sets.USUAL].of(given).document == given.document


def test_rcp_alone_repairs_at_the_end_and_winf_alone_corrects() -> None:
    def changed(name: str, scheme: str) -> bool:
        plain = _item("fig10").scenario("3", scheme)
        return sets.CHOICES[name].of(plain).document != plain.document

    assert {scheme for scheme in SCHEMES if changed("at-the-end", scheme)} == {"rcp", "rcp-winf"}
    assert {scheme for scheme in SCHEMES if changed("corrected", scheme)} == {"xcp-winf", "rcp-winf"}
    laws = {
        column: _item("fig18-corrected").scenario("100", column).document["wifi"][0]["controller"]
        for column in _item("fig18").columns
    }
    assert not laws["rcp-winf"]["collision_correction"]
    assert "capacity_correction" not in laws["rcp-winf"]
    assert laws["rcp-winf-corrected"]["capacity_correction"]
    rcp = _item("fig10-at-the-end").scenario("3", "rcp-winf").document["flow"][0]
    assert rcp["rcp"] == {"winf": True, "reliability": "at-the-end"}


def test_claims_are_checked_under_each_set_with_both_metrics() -> None:
    names = [sets.item_of(key, name) for key in sets.KEYS for name in sets.CHOICES]
    made = {}
    for key in names:
        item = _item(key)
        sheet = Sheet(key, key, item.rows, item.columns, item.metrics)
        for row in sheet.rows:
            for column in sheet.columns:
                for metric in sheet.metrics:
                    # RCP-Winf is ahead of RCP in goodput only, and in throughput under `latest`.
                    ahead = metric.key == "goodput" or key.endswith("-latest")
                    number = 2.0 if (column == "rcp-winf") == ahead else 1.0
                    sheet.values[row, column, metric.key] = value_of([number], is_exact=True)
        made[key] = sheet
    found = sets.verdicts(paper.load("winf").claims, made)
    assert {key.partition("-")[0] for key in found} >= {"fig10", "fig11", "grids", "fig12", "fig15"}
    assert all(tuple(verdict) == sets.NAMES for verdict in found.values())
    assert {name for name, word in found["fig10-throughput-rcp-winf-rcp"].items() if word == "holds"} == {
        "latest",
        *(name for name in sets.NAMES if name.endswith("-goodput")),
    }
    # An item that lacks a set is left out, and no other.
    del made["fig12-cycle"]
    fewer = sets.verdicts(paper.load("winf").claims, made)
    assert set(found) - set(fewer) == {key for key in found if key.startswith("fig12-")}


def _item(key: str) -> Item:
    return paper.load("winf").item(key)


def test_packets_that_arrive_again_are_no_new_data() -> None:
    packets = {
        "flow": np.array(["a", "a", "b", "a", "a"]),
        "sequence": np.array([1, 1, 1, 2, 3]),
        "received_s": np.array([11.0, 9.0, 12.0, 13.0, math.nan]),
        "fate": np.array(["received", "received", "received", "received", "queue"]),
    }
    # The first arrival of a's packet 1 is before the start.
    assert repetitions.arrived(packets, 10.0) == (3, 2)
