"""Paper `confront`: its printed numbers, the test bed and the measures."""

import math

import numpy as np
import pytest

from whimbrel._reproduce import paper
from whimbrel._simulate.simulation import run
from whimbrel.papers.confront import (
    beds,
    claims,
    costs,
    features,
    first_flow,
    measures,
    over_time,
    precision,
    sets,
    tables,
    voip,
)
from whimbrel.papers.confront.measures import ROWS
from whimbrel.papers.confront.topology import (
    BED,
    CONFRONTS,
    FIRST,
    OTHERS,
    PAPER_TIMES,
    SEGMENT,
    Bed,
    Host,
    Times,
    scenario,
)
from whimbrel.result import Result
from whimbrel.sheet import Sheet, value_of

SHORT = Times(total=30.0, await_=2.0, handoffs=(10.0, 20.0))


def _printed(item: str) -> dict[tuple[str, str, str], float]:
    return dict(paper.expected(paper.load("confront"))[item])


def test_the_eleven_confronts_are_those_of_the_tables() -> None:
    assert [confront.title for confront in CONFRONTS.values()] == [
        "TCP Reno x UDP",
        "TCP Cubic x UDP",
        "TCP Veno x UDP",
        "TCP Reno x DCCP-2",
        "TCP Cubic x DCCP-2",
        "TCP Veno x DCCP-2",
        "TCP Reno x DCCP-3",
        "TCP Cubic x DCCP-3",
        "TCP Veno x DCCP-3",
        "DCCP-2 x UDP",
        "DCCP-3 x UDP",
    ]


def test_every_line_of_the_tables_is_written_down() -> None:
    for item in tables.TABLES:
        printed = _printed(item)
        for row, confront in ROWS.items():
            for scheme in confront.schemes:
                wanted = {"throughput", "load", "jitter", "n"}
                if not scheme.startswith("tcp"):
                    wanted |= {"transmitted", "lost", "lost_share"}
                assert {key for r, s, key in printed if (r, s) == (row, scheme)} == wanted
    assert _printed("table3")["1: Reno x UDP", "udp", "throughput"] == 2956.09
    assert _printed("table4")["11: DCCP-3 x UDP", "udp", "lost"] == 626779.58


def _seconds(item: str, row: str, scheme: str) -> float:
    """The time in which the printed throughput carries the printed effective load."""
    printed = _printed(item)
    load, rate = (printed[row, scheme, key] for key in ("load", "throughput"))
    return load * measures.KB * 8 / (rate * 1e3)


def test_the_printed_loads_are_those_of_300_s_only_in_part() -> None:
    # Quoted in papers/confront/README.md.
    assert _seconds("table3", "1: Reno x UDP", "tcp-reno") == pytest.approx(300, abs=0.05)
    for row in ("1: Reno x UDP", "2: Cubic x UDP", "3: Veno x UDP"):
        assert _seconds("table3", row, "udp") == pytest.approx(279.5, abs=0.01)
    for row in ("1: Reno x UDP", "2: Cubic x UDP", "10: DCCP-2 x UDP", "11: DCCP-3 x UDP"):
        assert _seconds("table4", row, "udp") == pytest.approx(100.5, abs=0.06)


def test_the_processor_is_calibrated_on_the_mean_throughput_of_udp() -> None:
    for item, size in tables.TABLES.items():
        rates = [
            rate
            for (_, scheme, key), rate in _printed(item).items()
            if (scheme, key) == ("udp", "throughput")
        ]
        assert len(rates) == 5
        host = Host()
        cost_s = host.send_cost_us * 1e-6 + host.send_cost_ns_per_byte * 1e-9 * (size + 28)
        assert size * 8 / cost_s / 1e3 == pytest.approx(np.mean(rates), rel=1e-3)


def test_the_router_has_the_mean_goodput_of_tcp_and_dccp_with_large_packets() -> None:
    printed = _printed("table4")
    sums = [
        sum(
            count * printed[row, scheme, "throughput"]
            for scheme, count in zip(c.schemes, (1, 2), strict=True)
        )
        for row, c in ROWS.items()
        if 4 <= c.number <= 9
    ]
    # 40 bytes of headers in a packet of 1424 bytes of data.
    assert BED.router_mbps == pytest.approx(np.mean(sums) / 1e3 * 1464 / 1424, rel=0.01)


def test_the_other_flows_start_later_and_two_tablets_change_access_points() -> None:
    document = scenario(CONFRONTS["4"], 512).document
    flows = {flow["name"]: flow for flow in document["flow"]}
    assert [flow["transport"] for flow in flows.values()] == ["tcp", "dccp", "dccp"]
    assert {flows[name]["start"] for name in OTHERS} == {"20 s"}
    assert {flow["from"] for flow in flows.values()} == {"tablet0", "tablet1", "tablet2"}
    moving = [node["name"] for node in document["node"] if "mobility" in node]
    assert moving == ["tablet0", "tablet1"]
    limited = [node["name"] for node in document["node"] if "host" in node]
    assert limited == ["tablet0", "tablet1", "tablet2", "receiver"]
    assert sum("access_point" in node for node in document["node"]) == 3


def test_the_quick_form_changes_nothing_but_the_times() -> None:
    given = scenario(CONFRONTS["1"], 512)
    changed = given.changed(*tables.quick_overrides(SHORT))
    wanted = scenario(CONFRONTS["1"], 512, SHORT)
    shaken = [f"flow.{name}.start_jitter=50 ms" for name in (FIRST, *OTHERS)]
    ours, theirs = run(changed, seed=3), run(wanted.changed(*shaken), seed=3)
    assert list(ours.flows["delivered_bytes"]) == list(theirs.flows["delivered_bytes"])
    assert list(ours["associations"]["time_s"]) == list(theirs["associations"]["time_s"])


@pytest.fixture(scope="module")
def udp() -> Result:
    return run(scenario(CONFRONTS["2"], 512, SHORT), seed=1)


def test_udp_loses_at_the_source_and_its_load_is_what_remains(udp: Result) -> None:
    found = measures.measure(udp, CONFRONTS["2"], 512, "udp")
    assert found["load"] == pytest.approx(found["transmitted"] - found["lost"])
    assert found["lost_share"] == pytest.approx(75.5, abs=1)
    assert found["at_source"] > 99
    # Of 300 s: a flow with 1.429 ms for each packet.
    assert found["load"] == pytest.approx(300 * 512 / 1.4293e-3 / 1024, rel=0.03)
    assert found["throughput"] == pytest.approx(512 * 8 / 1.4293, rel=0.03)


def test_the_mean_of_late_flows_is_normalised(udp: Result) -> None:
    goodput = [float(udp.flows.one("goodput_bps", flow=name)) for name in OTHERS]
    found = measures.measure(udp, CONFRONTS["2"], 512, "udp")
    # S / T = 2 / 30, as 20 / 300; both flows count.
    assert found["throughput"] == pytest.approx(np.mean(goodput) / 1e3 * (1 + 20 / 300), rel=1e-6)
    first = measures.measure(udp, CONFRONTS["2"], 512, "tcp-cubic")
    assert first["throughput"] == pytest.approx(udp.flows.one("goodput_bps", flow=FIRST) / 1e3, rel=1e-6)
    assert math.isnan(first["transmitted"])


def test_fairness_is_jains_index_of_the_three_flows(udp: Result) -> None:
    delivered = np.array([float(udp.flows.one("delivered_bytes", flow=name)) for name in (FIRST, *OTHERS)])
    rates = delivered / np.array([30, 28, 28])
    wanted = np.sum(rates) ** 2 / (3 * np.sum(rates**2))
    assert measures.measure(udp, CONFRONTS["2"], 512, "udp")["jain"] == pytest.approx(wanted)


def test_jitter_is_that_of_iperf_or_of_the_delays_of_consecutive_seconds(udp: Result) -> None:
    table = udp["intervals"]
    delays, jitters = (1e3 * table[key][table["flow"] == FIRST] for key in ("delay_s", "jitter_s"))
    assert delays.size == 30
    found = measures.measure(udp, CONFRONTS["2"], 512, "tcp-cubic")
    assert found["delay_jitter"] == pytest.approx(np.nansum(np.abs(np.diff(delays))) / 29)
    assert found["jitter"] == pytest.approx(np.nansum(jitters) / 29)


def test_hand_offs_are_those_of_the_moving_tablets(udp: Result) -> None:
    table = udp["associations"]
    changes = [
        (str(c), float(t))
        for c, t, origin in zip(table["client"], table["time_s"], table["from"], strict=True)
        if origin
    ]
    assert [client for client, _ in changes] == ["tablet0", "tablet1"] * 2
    assert all(abs(time - wanted) < 3 for (_, time), wanted in zip(changes, (10, 10, 20, 20), strict=True))
    found = over_time.dents(udp, CONFRONTS["2"], "udp")
    # Eleven channels, of which three have access points.
    assert found["outage"] == pytest.approx(306, abs=5)
    listed = run(scenario(CONFRONTS["2"], 512, SHORT, over_time.LISTED), seed=1)
    assert over_time.dents(listed, CONFRONTS["2"], "udp")["outage"] == pytest.approx(87, abs=5)
    assert found["lost_before"] == pytest.approx(75.5, abs=1)


def test_rows_of_the_figures_are_close_together_at_hand_offs() -> None:
    rows = over_time.instants(PAPER_TIMES)
    assert rows == sorted(set(rows))
    assert rows[-1] == 300
    assert set(range(97, 109)) | set(range(197, 209)) <= set(rows)


def test_tcp_sends_full_segments_of_what_iperf_writes() -> None:
    def payloads(bed: Bed) -> dict[str, str]:
        flows = scenario(CONFRONTS["4"], 512, bed=bed).document["flow"]
        return {flow["transport"]: flow["payload"] for flow in flows}

    assert payloads(BED) == {"tcp": "1448 B", "dccp": "512 B"}
    assert payloads(sets.BEDS["segmented"]) == {"tcp": "512 B", "dccp": "512 B"}


def test_the_costs_by_protocol_are_fitted_to_table_3() -> None:
    printed = _printed("table3")
    for scheme, us in costs.COSTS_US.items():
        rates = [
            rate
            for (_, name, key), rate in printed.items()
            if key == "throughput" and name.startswith(scheme)
        ]
        # Segments of 1448 bytes with headers of 52, or datagrams of 512 with 36.
        data, headers = (SEGMENT, 52) if scheme == "tcp" else (512, 36)
        cost_s = us * 1e-6 + Host().send_cost_ns_per_byte * 1e-9 * (data + headers)
        assert data * 8 / cost_s / 1e3 == pytest.approx(np.mean(rates), rel=1e-3)
    document = scenario(CONFRONTS["4"], 512, bed=costs.BY_PROTOCOL).document
    hosts = {node["name"]: node["host"]["send_cost"] for node in document["node"] if "host" in node}
    assert hosts == {
        "tablet0": "1559 us",
        "tablet1": "1116 us",
        "tablet2": "1116 us",
        "receiver": "730 us",
    }


def test_a_claim_is_checked_under_eight_sets_of_three_choices() -> None:
    assert len(set(sets.NAMES)) == 8
    assert {item.key for item in sets.ITEMS} == {f"{key}-{bed}" for key in sets.KEYS for bed in sets.BEDS}

    def made(item: str, below: str) -> Sheet:
        """A sheet in which CCID 3 has the smaller number in one of the two jitters only."""
        sheet = Sheet(item, item, list(ROWS), ["ccid2", "ccid3"], measures.METRICS)
        for row in ROWS:
            for metric in ("jitter", "delay_jitter"):
                for scheme in sheet.columns:
                    is_less = (scheme == "ccid3") == (metric == below)
                    sheet.values[row, scheme, metric] = value_of([1.0 if is_less else 2.0], is_exact=True)
        return sheet

    keys = [f"{key}{end}" for key in sets.KEYS for end in ("", *(f"-{bed}" for bed in sets.BEDS))]
    by_key = {key: made(key, "delay_jitter" if "listed" in key else "jitter") for key in keys}
    jitter = [claim for claim in claims.CLAIMS if claim.id == "jitter-512"]
    found = sets.verdicts(jitter, by_key)["jitter-512"]
    assert list(found) == list(sets.NAMES)
    assert {name for name, word in found.items() if word == "holds"} == {
        "tools",
        "segmented",
        "listed-delays",
        "listed-segmented-delays",
    }


def test_a_difference_without_substance_is_undecided() -> None:
    def verdict(a: float, b: float) -> bool | None:
        return claims.more(*(value_of([mean - 0.01, mean, mean + 0.01]) for mean in (a, b))).holds

    assert verdict(102.0, 100.0) is True
    assert verdict(98.0, 100.0) is False
    assert verdict(100.5, 100.0) is None
    open_ = claims.more(*(value_of([mean - 2, mean, mean + 2]) for mean in (101.0, 100.0)))
    assert open_.holds is None


def test_each_variant_of_the_test_bed_differs_from_the_calibrated_one() -> None:
    assert beds.BEDS[beds.CALIBRATED] == BED
    assert len({repr(bed) for bed in beds.BEDS.values()}) == len(beds.BEDS)


def test_a_call_that_is_not_disturbed_has_the_score_of_its_codec() -> None:
    given = voip.calls("1: Reno x UDP", "udp")
    # Without hand-offs.
    still = [{key: value for key, value in n.items() if key != "mobility"} for n in given.document["node"]]
    flows = [flow for flow in given.document["flow"] if flow["name"] in voip.CODECS]
    document = {
        **given.document,
        "flow": flows,
        "node": [
            {**n, "position": [5, 5]} if n["name"] in ("tablet0", "tablet1", voip.CALLER) else n
            for n in still
        ],
    }
    result = voip.run(type(given)(document), 1)["calls"]
    assert result.one("not_played", call="g711") == 0.0
    # G.711 with its packet, look-ahead and 100 ms of playout.
    assert result.one("delay", call="g711") == pytest.approx(126, abs=3)
    assert result.one("mos", call="g711") == pytest.approx(4.34, abs=0.02)
    assert result.one("mos", call="opus") < result.one("mos", call="g711")


def test_features_are_measured() -> None:
    found = {
        (row, column): features.ITEM.measure(run(features.ITEM.scenario(row, column)), row, column)["value"]
        for row, column in features.ITEM.cells()
    }
    wanted = {
        (row, column): value
        for row, line in features.PRINTED.items()
        for column, value in zip(features.PROTOCOLS, line, strict=True)
    }
    assert found == wanted


def test_derived_numbers_of_an_item_come_from_all_repetitions() -> None:
    computed = {
        each.metric.key: each.compute({"throughput": np.array([9.0, 10.0, 11.0])})
        for each in precision.DERIVED
    }
    assert (computed["n"], computed["n_student"]) == (16, 18)
    assert computed["normal"] == pytest.approx(1.96 / math.sqrt(3))
    assert computed["student"] == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)


def test_the_first_flow_is_varied_by_one_thing_at_a_time() -> None:
    small, large = first_flow.ITEMS
    assert [item.key for item in (small, large)] == ["first-flow", "first-flow-1424"]
    beds_of = list(first_flow.BEDS.values())
    assert len({repr(bed) for bed in beds_of}) == len(beds_of)
    changed = [{key for key, value in vars(bed).items() if value != getattr(BED, key)} for bed in beds_of]
    assert [len(keys) for keys in changed] == [0, 1, 1, 1, 2]
    assert ("router of 100 Mbit/s against UDP", "ccid3") in large.cells()
    assert ("router of 100 Mbit/s against DCCP-2", "ccid3") not in large.cells()
    document = large.scenario("router of 100 Mbit/s against DCCP-2", "tcp-veno").document
    assert [flow.get("ccid", flow["transport"]) for flow in document["flow"]] == ["tcp", 2, 2]
    (router,) = (link for link in document["link"] if link.get("name") == "router")
    assert router["rate"] == "100 Mbit/s"
