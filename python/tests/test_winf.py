"""Paper `winf`: equation 3, the networks and the measures."""

import math

import pytest

from whimbrel import paper
from whimbrel.papers.winf import adhoc, building, measures, mesh, topology
from whimbrel.papers.winf.inference import Times
from whimbrel.papers.winf.topology import NS2, STANDARD
from whimbrel.result import Result
from whimbrel.simulation import run


def test_equation_3_has_the_values_of_the_validation_page() -> None:
    # docs/validation-80211.md, "Maximum throughput of one sender".
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
    documents = [
        building.scenario(scheme, 10, traffic, STANDARD).document for scheme in ("tcp", "xcp-winf-corrected")
    ]
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
