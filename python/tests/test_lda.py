"""Paper `lda`: its networks as in Section 5, and its measures by hand."""

import math
from typing import Any

import numpy as np
import pytest

from whimbrel._reproduce import paper
from whimbrel._simulate.simulation import run
from whimbrel.papers.lda import beyond, inter_arrival, measures, thresholds, topology
from whimbrel.result import Result
from whimbrel.sheet import Sheet, Value

SHORT = ("simulation.duration=25 s",)


def links(name: str, flows: int, **more: Any) -> dict[str, dict[str, Any]]:
    document = topology.scenario(name, "tfrc", flows, **more).document
    return {link.get("name", "-".join(link["between"])): link for link in document["link"]}


@pytest.mark.parametrize(
    ("name", "flows", "rate", "queue"),
    [
        # max(N, 2) * 130 kbit/s; max(rate / 60, 6) packets
        ("WLH", 1, 260, 6),
        ("WLH", 2, 260, 6),
        ("WLH", 6, 780, 13),
        ("WLH", 16, 2080, 34),
        ("WB", 8, 800, 13),
        ("WB", 10, 1600, 26),
        ("WLAN", 8, 800, 13),
    ],
)
def test_the_shared_link_is_as_in_section_5_3(name: str, flows: int, rate: int, queue: int) -> None:
    shared = links(name, flows)["shared"]
    assert (shared["rate"], shared["queue"]) == (f"{rate} kbit/s", f"{queue} packets")
    assert topology.shared_rate(name, flows) == rate


def test_the_radio_is_where_the_topology_has_it() -> None:
    lossy = {"model": "run-length", "rate": "7.8 %", "runs": [0.7, 0.25, 0.05]}
    last_hop, backbone, lan = (links(name, 3) for name in topology.TOPOLOGIES)
    assert last_hop["shared"]["loss"] == {"model": "none"}
    assert last_hop["radio{i}"]["loss"] == lossy
    assert (last_hop["radio{i}"]["rate"], last_hop["radio{i}"]["delay"]) == ("150 kbit/s", "10 ms")
    assert last_hop["radio{i}"]["queue"] == "6 packets"
    assert backbone["shared"]["loss"] == lossy
    assert "loss" not in backbone["r2-d{i}"]
    assert lan["shared"]["loss"] == lossy
    assert "r2-d{i}" not in lan


@pytest.mark.parametrize("name", topology.TOPOLOGIES)
def test_the_fixed_delay_is_the_sum_of_the_links(name: str) -> None:
    """One packet of 762 bytes takes its transmission time on every link plus the links' delays."""
    scenario = topology.scenario(name, "tfrc", 1, "none").changed(*SHORT)
    packets = run(scenario, packets=True).packets.where(flow="flow0", size_bytes=762, fate="received")
    least = float(np.min(packets["received_s"] - packets["sent_s"]))
    bits = 8 * 762
    expected = {
        # LAN 1 ms, shared 20 ms at 260 kbit/s, last hop 10 ms at 150 kbit/s
        "WLH": 0.031 + bits / 10e6 + bits / 260e3 + bits / 150e3,
        # LAN 1 ms, shared 20 ms at 800 kbit/s, LAN 1 ms
        "WB": 0.022 + 2 * bits / 10e6 + bits / 800e3,
        # LAN 1 ms, shared 21 ms at 800 kbit/s: the backbone's fixed delay of 22 ms
        "WLAN": 0.022 + bits / 10e6 + bits / 800e3,
    }[name]
    assert least == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("scheme", topology.SCHEMES)
def test_every_scheme_sends_packets_of_one_size(scheme: str) -> None:
    scenario = topology.scenario("WB", scheme, 1).changed(*SHORT)
    packets = run(scenario, packets=True).packets.where(flow="flow0")
    sizes = packets["size_bytes"][packets["sent_s"] > topology.WARM_UP_S + topology.SETTLE_S]
    # Sometimes a DCCP-DataAck acknowledges the feedback: up to 8 bytes more.
    assert topology.PACKET <= sizes.min() <= sizes.max() <= topology.PACKET + 8
    assert np.mean(sizes == topology.PACKET) > 0.9


@pytest.mark.parametrize("level", ["high", "medium", "low"])
def test_the_radio_models_have_the_loss_of_table_1(level: str) -> None:
    found = topology.gilbert_elliott(level)
    to_bad, to_good = (float(found[key].split()[0]) / 100 for key in ("good_to_bad", "bad_to_good"))
    assert to_bad / (to_bad + to_good) == pytest.approx(topology.LOSS_RATE[level])
    # 0.7 * 1 + 0.25 * 2 + 0.05 * 3
    assert 1 / to_good == pytest.approx(1.35)


def flows(**columns: Any) -> Result:
    """Two flows of a run and a source of the warm-up."""
    usual = {
        "flow": ["flow0", "flow1", "warm-up0"],
        "background": [0, 0, 1],
        "throughput_bps": [300e3, 100e3, 900e3],
        "lost_queue": [30, 10, 99],
        "bottleneck_packets": [1500, 500, 999],
        "congestion_judged": [28, 12, 99],
        "congestion_misclassified": [6, 0, 99],
        "wireless_judged": [60, 40, 99],
        "wireless_misclassified": [10, 15, 99],
    }
    return Result({"flows": {**usual, **columns}})


def test_the_four_measures() -> None:
    found = measures.measure(flows(), 2, "spike", name="WB")
    # 400 of 800 kbit/s; 6 of 40; 25 of 100; 40 of 2000
    assert found == {"throughput": 50.0, "m_c": 15.0, "m_w": 25.0, "congestion": 2.0}


def test_without_losses_only_schemes_without_a_classifier_have_rates() -> None:
    nothing = flows(congestion_judged=[0, 0, 9], wireless_judged=[0, 0, 9])
    for scheme, rates in (("tcp", (0, 100)), ("tfrc", (0, 100)), ("omniscient", (0, 0))):
        found = measures.measure(nothing, 2, scheme, name="WB")
        assert (found["m_c"], found["m_w"]) == rates
    found = measures.measure(nothing, 2, "zbs", name="WB")
    assert math.isnan(found["m_c"])
    assert math.isnan(found["m_w"])


def test_a_single_flow_on_the_last_hop_is_measured_by_its_own_link() -> None:
    alone = flows(background=[0, 1, 1], throughput_bps=[75e3, 0, 0])
    assert measures.measure(alone, 1, "spike", name="WLH")["throughput"] == 50.0


def test_shares_are_relative_to_an_even_division() -> None:
    item = {item.key: item for item in beyond.ITEMS}["against-tcp-wb"]
    crowd = flows(
        flow=["flow0", "rival0", "rival1"], background=[0, 0, 0], throughput_bps=[400e3, 100e3, 60e3]
    )
    crowd = Result({"flows": {**crowd.flows, "lost_queue": [30, 10, 20]}})
    found = beyond._shares(crowd, "2 TCP", "spike", name="WB", crowds={"2 TCP": beyond.Crowd(rivals=2)})
    # A third of 800 kbit/s each: 400 / 266.7, 80 / 266.7; 60 of 2999 packets
    assert found["own"] == pytest.approx(150)
    assert found["tcp"] == pytest.approx(30)
    assert found["congestion"] == pytest.approx(100 * 60 / 2999)
    # Only the flow in question is evaluated: 6 of 28, 10 of 60.
    assert found["m_c"] == pytest.approx(100 * 6 / 28)
    assert found["m_w"] == pytest.approx(100 / 6)
    assert {row for row, column in item.cells() if column == "tfrc"} == {"1 TCP", "4 TCP", "16 TCP"}


def test_the_drop_is_found_at_its_time() -> None:
    seconds = np.arange(23, 223, dtype=np.float64)
    bits = np.where(seconds <= beyond.DROP_S, 400e3, 200e3)
    lost = np.select([seconds <= beyond.DROP_S, seconds <= beyond.DROP_S + beyond.AFTER_S], [1, 4], default=2)
    intervals = {
        "flow": ["flow0"] * seconds.size,
        "time_s": seconds,
        "throughput_bps": bits,
        "lost_queue": lost,
    }
    found = beyond._after(Result({"intervals": intervals}), "WB", "spike")
    packets = 400e3 / (8 * 762)
    assert found["before"] == pytest.approx(100 / packets)
    assert found["at_once"] == pytest.approx(400 / (packets / 2))
    assert found["later"] == pytest.approx(200 / (packets / 2))
    # 200 of half of 800 kbit/s
    assert found["throughput"] == pytest.approx(50)


def test_the_hybrids_inputs_by_hand() -> None:
    # Packets 0, 1, 3 and 4 arrive at 0, 2, 8 and 9 s, 1, 1, 3 and 2 s after they were sent.
    received = np.array([0.0, 2.0, 8.0, 9.0])
    found = inter_arrival.seen(
        np.array([0.0, 1.0, 3.0, 4.0]), received - np.array([1.0, 1.0, 3.0, 2.0]), received
    )
    # T_avg: 2, then 0.75 * 2 + 0.25 * 6 / 2 = 2.25, then 0.75 * 2.25 + 0.25 * 1 = 1.9375; T_min: 2, 2, 1
    np.testing.assert_allclose(found["narr"], [1, 1.125, 1.9375])
    # rott_mean: 1, 1 + 2/32, 1.0625 * 31/32 + 2/32; rott_dev: 0, then 1/16 of the distance, and so on
    mean = [1.0, 1.0625, 1.0625 * 31 / 32 + 2 / 32]
    dev = [0.0, (3 - mean[1]) / 16]
    dev.append(dev[1] * 15 / 16 + (2 - mean[2]) / 16)
    np.testing.assert_allclose(found["deviation"], np.array(dev) / [2, 2, 1])


def test_a_mean_over_the_flows_excludes_the_single_flow() -> None:
    rows = ["1", "2", "4"]
    values = {
        (row, "biaz", "m_c"): Value(np.array([float(row)] * 2), seeds=(1, 2), name=f"Biaz (Flows {row})")
        for row in rows
    }
    sheet = Sheet("fig9", "", rows, ["biaz"], measures.METRICS, values=values)
    mean = thresholds.overall({"fig9": sheet}, "fig9", "biaz", "m_c")
    assert (mean.mean, mean.name) == (3.0, "Biaz over N")
    assert thresholds.one({"fig9": sheet}, "fig9", "biaz", "m_c").mean == 1.0


def test_all_printed_numbers_are_present() -> None:
    printed = paper.expected(paper.load("lda"))
    # Tables 2 and 3: seven columns of four numbers.
    assert [len(printed[item]) for item in ("table2", "table3")] == [28, 28]
    assert printed["fig10"]["10", "tfrc", "throughput"] == 97
