"""Paper `freeze`: its networks and handovers as in Section 5, and its measures by hand."""

import itertools
import math

import numpy as np
import pytest

import whimbrel
from whimbrel._reproduce import paper
from whimbrel.papers.freeze import (
    claims_freeze,
    claims_model,
    fairness,
    gap,
    handovers,
    networks,
    readings,
    rtt_option,
    schemes,
    sets,
    stationary,
)
from whimbrel.result import Result
from whimbrel.sheet import Metric, Sheet, Value, value_of


def test_a_handover_is_as_in_section_5_1() -> None:
    document = handovers.scenario("802.16 to 802.11b", "freeze").document
    (handover,) = document["handover"]
    assert handover["to"] == "802.11b"
    assert handover["duration"] == "mobile-ipv6"
    # Not before T_stat of Table 3, at a random moment of a loss interval; frozen one round-trip time before,
    # unfrozen 0.1 ms after.
    assert handover["time"] == "264.14 s"
    assert handover["jitter"] == "42 s"
    assert handover["freeze"] == {"flows": ["flow"], "lead": "170 ms", "lag": "0.1 ms"}
    assert document["link"][1] == {"name": "radio", "between": ["router", "mobile"], "network": "802.16"}
    assert "freeze" not in handovers.scenario("802.16 to 802.11b", "tfrc").document["handover"][0]


@pytest.mark.parametrize("scheme", schemes.ALL)
def test_schemes_differ_in_their_settings(scheme: str) -> None:
    dccp = schemes.flow(scheme)["dccp"]
    assert dccp.get("faster_restart", False) == (scheme == "faster")
    assert ("freeze" in dccp) == bool(schemes.warned(scheme, "umts")) == (scheme in schemes.RESTART)


def test_headers_leave_500_of_536_bytes() -> None:
    assert networks.packets_per_second("umts") == pytest.approx(384e3 / (8 * 536))


def test_the_flow_is_that_of_ns2_by_default() -> None:
    dccp = [stationary.scenario("umts", column).document["flow"][0]["dccp"] for column in stationary.COLUMNS]
    assert [flow["least_loss_event_rate"] for flow in dccp] == [1e-5, 1e-5, 0.0]
    assert [flow["history_discounting"] for flow in dccp] == [False, False, True]
    assert [flow["feedback_timer"] for flow in dccp] == [False, False, True]
    assert [flow["oscillation_damping"] for flow in dccp] == [False, True, False]


def at(
    rate: list[float], *, up: float = 1.0, lost_down: int = 3, allowed: list[float] | None = None
) -> Result:
    """A flow with the given packets in each tenth of a second, and the given allowed rates."""
    time = [0.1 * (i + 1) for i in range(len(rate))]
    return Result(
        {
            "intervals": {
                "time_s": time,
                "goodput_bps": [8 * 500 * 10 * packets for packets in rate],
                "allowed_rate_bps": [8 * 500 * 10 * packets for packets in allowed or rate],
                "lost_queue": [1.0] * len(rate),
            },
            "handovers": {"up_s": [up], "down_s": [up - 0.5]},
            "flows": {"lost_down": [lost_down]},
        }
    )


def test_waste_is_the_difference_of_table_3_and_the_senders_rate() -> None:
    steady = networks.SEEN["umts"].rate / networks.PAYLOAD / 10
    # Up after 1 s. X is half of Table 3's rate for 2 s and twice as much for 1 s; arrivals do not count.
    allowed = [steady] * 10 + [steady / 2] * 20 + [2 * steady] * 10
    measured = handovers.measure(at([0.0] * 40, allowed=allowed), "umts to umts", "tfrc")
    assert measured["wasted"] == pytest.approx(10 * steady - 10 * steady)
    assert measured["wasted_first"] == measured["wasted"]
    assert measured["unused"] == pytest.approx(30 * networks.packets_per_second("umts") / 10)
    assert measured["lost"] == 3
    assert measured["lost_after"] == 30


def test_a_rate_is_restored_when_it_lasts() -> None:
    full = networks.steady_rate("umts") / 10

    def restored(*rates: float) -> float:
        """Rates from the packets in the tenths of each half second after the reconnection."""
        packets = [full] * 10 + [rate for rate in rates for _ in range(5)]
        return float(handovers.measure(at(packets), "umts to umts", "tfrc")["restored"])

    half, lasting = full / 2, [full] * 10
    # Two seconds of half, and then all of it: the first half second at nine tenths has four full tenths.
    assert restored(*[half] * 4, *lasting, full) == pytest.approx(2.4)
    # A queue that empties at the full rate for a second is no restoration.
    assert restored(full, full, *[half] * 4, *lasting, full) == pytest.approx(3.4)
    assert restored(full, full, *[half] * 12) == handovers.WINDOW_S
    # A dip of half a second within five that average 95 % does not matter.
    assert restored(full, full, half, *lasting) == pytest.approx(0.5)


def test_losses_after_the_gap_count_as_losses() -> None:
    """802.11g to UMTS lost 4505 packets after a gap in which it lost none."""
    (claim,) = (claim for claim in claims_freeze.CLAIMS if claim.id == "freeze-loses-nothing")
    for after, holds in ((0.0, True), (4505.0, False)):
        values = {
            (pair, "freeze", metric): Value(np.array([lost, lost]), seeds=(1, 2), name=pair)
            for pair in handovers.PAIRS
            for metric, lost in (("lost", 0.0), ("lost_after", after))
        }
        sheet = Sheet("table6", "", handovers.PAIRS, ["freeze"], handovers.METRICS, values=values)
        assert claim.check({"table6": sheet}).holds is holds


def test_a_rate_settles_when_its_mean_stays_near_the_final_one() -> None:
    time = np.arange(1.0, 41.0)
    rate = np.where(time <= 20, 50.0, 100.0)
    # The mean of ten seconds is within 5 % once it has no more than one second of 50: from 12 to 21 s.
    assert stationary.settled(time, rate, 100.0) == 20.0
    assert math.isnan(stationary.settled(time, rate, 60.0))


def test_timeouts_of_a_gap_are_compared_with_equations_5_and_6() -> None:
    # 32 packets per second, R = 0.25 s: halved every second, four times; two packets then take 2 s, and 4 s.
    time = np.arange(0.0, 14.0, 0.125)
    ends = [1.5, 2.5, 3.5, 4.5, 5.5, 7.5, 11.5]
    rate = 32.0 / 2 ** np.searchsorted(ends, time, side="right")
    compared = gap.compare(time, rate, 0.25)
    assert compared["timeouts"] == 7
    assert compared["rate_error"] == 0.0
    assert compared["timer_error"] == pytest.approx(0.0)
    late = gap.compare(time, 32.0 / 2 ** np.searchsorted([*ends[:5], 8.0, 12.0], time, side="right"), 0.25)
    assert late["timer_error"] == pytest.approx(500.0)
    wrong = gap.compare(time, np.where(rate == 1.0, 1.5, rate), 0.25)
    assert wrong["rate_error"] == pytest.approx(50.0)


def test_all_printed_numbers_are_present() -> None:
    printed = paper.expected(paper.load("freeze"))
    assert printed["table6"]["802.11b to 802.11g", "freeze", "wasted"] == 1045.05
    assert printed["table7"]["umts to 802.11g", "freeze", "ratio"] == 0.1
    counts = {key: len(numbers) for key, numbers in printed.items()}
    assert counts["table3"] == 12
    assert counts["table4"] == counts["table6"] == counts["table7"] == 32


def test_the_printed_reading_is_the_model_and_no_reading_reproduces_more_than_six_cells() -> None:
    for old, new in readings.PRINTED:
        actual = whimbrel.handover_model(old, new, networks.PAYLOAD).wasted_packets
        assert readings.wasted(old, new, readings.Reading()) == pytest.approx(actual, rel=1e-9)
    counts = {reading.label(): readings.reproduced(reading) for reading in readings.readings()}
    assert len(counts) == 32
    assert counts["as printed"] == 1
    assert max(counts.values()) == counts["last_interval, no_recovery, fast_fall, new_rtt"] == 6


def test_a_timeout_that_is_off_by_more_than_the_grain_in_one_run_refutes_exactness() -> None:
    def gap(error: list[float]) -> Sheet:
        made = Sheet(
            "fig6", "T", ["1"], ["10"], [Metric("timer_error", "ms", "T"), Metric("grain", "ms", "G")]
        )
        for metric, sample in (("rate_error", [0.0, 0.0]), ("timer_error", error), ("grain", [5.0, 5.0])):
            made.values["1", "10", metric] = Value(np.array(sample), seeds=(1, 2), name="x")
        return made

    exact = next(claim for claim in claims_model.CLAIMS if claim.id == "internal-parameters-exact")
    assert exact.check({"fig6": gap([0.5, 5.0])}).holds is True
    assert exact.check({"fig6": gap([0.5, 5.2])}).holds is False


def test_the_competing_tcp_has_ns2s_packets() -> None:
    flows = fairness.scenario("umts to 802.16", "tfrc").document["flow"]
    assert [flow["payload"] for flow in flows] == ["500 B", "1000 B"]


def test_one_thing_at_a_time_is_changed_on_the_way_from_wifi_to_narrower_networks() -> None:
    for pair in handovers.NARROWER:
        plain = handovers.scenario(pair, "freeze")
        for change, override in handovers.CHANGES.items():
            varied = handovers.SLOW.scenario(f"{pair}{change}", "freeze")
            assert (varied.document, varied.overrides) == (plain.document, (override,))


def test_the_items_with_the_rtt_option_differ_by_the_option_alone() -> None:
    items = {item.key: item for item in paper.load("freeze").items}
    for key in rtt_option.ITEMS:
        usual, other = items[key], items[f"{key}-{rtt_option.NAME}"]
        row, column = usual.rows[0], usual.columns[0]
        assert usual.scenario(row, column).document["flow"][0]["dccp"]["rtt_estimate"] is False
        assert other.scenario(row, column).overrides == ("flow.0.dccp.rtt_estimate=true",)
        assert (other.rows, other.columns) == (usual.rows, usual.columns)


def test_a_set_takes_its_own_items_and_the_rule_of_the_code_replaces_freeze_alone() -> None:
    made = {}
    for position, key in enumerate((*sets.KEYS, "fig3-rtt-option", "table6-rtt-option", "table6-rivals")):
        item = paper.load("freeze").item(key)
        sheet = Sheet(key, key, item.rows, item.columns, item.metrics)
        for row, column, metric in itertools.product(item.rows, item.columns, item.metrics):
            sheet.values[row, column, metric.key] = value_of([float(position)], is_exact=True)
        made[key] = sheet

    def number(name: str, item: str, column: str) -> float:
        sheet = sets.sheets_of(name, made)[item]
        return float(sheet.values[sheet.rows[0], column, sheet.metrics[0].key].mean)

    assert [number(sets.USUAL, key, "tfrc") for key in rtt_option.ITEMS] == [0.0, 1.0]
    assert [number(rtt_option.NAME, key, "tfrc") for key in rtt_option.ITEMS] == [3.0, 4.0]
    assert number(sets.CODE, "table6", "freeze") == 5.0
    assert number(sets.CODE, "table6", "tfrc") == 1.0
    found = sets.verdicts(paper.load("freeze").claims, made)
    assert {"adjacent-restored", "freeze-wastes-less", "waste-coherent"} <= set(found)
    assert all(tuple(verdict) == sets.NAMES for verdict in found.values())
    del made["table6-rivals"]
    fewer = sets.verdicts(paper.load("freeze").claims, made)
    assert {tuple(verdict) for verdict in fewer.values()} == {(sets.USUAL, rtt_option.NAME)}
