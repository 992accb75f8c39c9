#!/usr/bin/env python3
"""Makes tests/golden/validation-80211.md, or checks that it fits the code.

Usage: scripts/validation.py [--write]

The page has a list of facts, each with the test that asserts it, and tables that the crate
whimbrel-wifi-validation computes. `--write` computes all of them, which takes minutes. Without it, the tests
of the facts must exist, and the program's quick form (all tables, but few rows of the long ones) must print
what the page has. All runs are deterministic, so the texts are compared exactly.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from rust_paths import Source

ROOT = Path(__file__).resolve().parent.parent
PAGE = "tests/golden/validation-80211.md"
PROGRAM = "whimbrel-wifi-validation"
SEPARATOR = "<!-- The rest is printed by the crate whimbrel-wifi-validation. -->"
# Rows of the long tables, which the quick form lacks, and the line after them.
LONG = re.compile(r"\| [\d.]+ Mbit/s, \d+ \||\| HE MCS \d+ x 1, |\| EDCA: |Largest deviations of ")

FACTS: tuple[tuple[str, str, str], ...] = (
    (
        "Access to the medium",
        "14 cases are granted at the exact microsecond (`crates/wifi/tests/data/dcf-access-vectors.json`)",
        "whimbrel_wifi::dcf::access::tests::the_fourteen_access_cases_are_granted_at_the_exact_times",
    ),
    (
        "Durations",
        "14 published times on the air, exactly",
        "whimbrel_wifi::phy::tests::frame_durations_are_the_published_ones",
    ),
    (
        "Durations",
        "data and acknowledgement of 1536 B at every rate, 120 rows, exactly",
        "whimbrel_wifi_validation::theory::tests::data_and_acknowledgement_times_are_those_of_the_saturation_table",
    ),
    (
        "Exchange",
        "RTS, CTS, data, acknowledgement and the onlooker's NAV, microsecond by microsecond",
        "whimbrel_wifi_validation::cell::tests::a_three_node_exchange_happens_at_the_computed_microseconds",
    ),
    (
        "Exchange",
        "the drawing below",
        "whimbrel_wifi_validation::exchange::tests::the_exchange_of_three_stations_is_the_one_drawn",
    ),
    (
        "Theory",
        "Bianchi's own system (2000), 36 operating points: tau and p to 6 digits",
        "whimbrel_wifi_validation::theory::tests::bianchis_own_system_has_its_published_operating_points",
    ),
    (
        "Theory",
        "the refined model (Bianchi and Tinnirello 2005) has the 240 exact throughputs to 4 decimals",
        "whimbrel_wifi_validation::theory::tests::the_refined_model_has_the_exact_throughputs_of_all_rates",
    ),
    (
        "Theory",
        "the slotted Monte Carlo agrees with that of another program, 16 rows: S 0.2 %, p 0.002",
        "whimbrel_wifi_validation::theory::tests::the_monte_carlo_has_the_throughputs_and_collision_probabilities_of_the_table",
    ),
    (
        "Theory",
        "equation 3 of `winf`: 802.11b at 11 Mbit/s with 1500 B 6.056 Mbit/s, with RTS/CTS 4.515",
        "whimbrel_wifi_validation::theory::tests::one_sender_has_the_maximum_throughput_of_equation_3",
    ),
    (
        "Modes",
        "bits, encoders, rates and longest PSDU of the 411 modes of 802.11n, ac and ax, exactly",
        "whimbrel_wifi::phy::mode::tests::the_table_of_bits_holds_for_all_modes",
    ),
    (
        "Modes",
        "60 times on the air, exactly",
        "whimbrel_wifi::phy::mode::tests::transmissions_last_as_long_as_the_table_has_it",
    ),
    (
        "Modes",
        "the 117 times that ns-3 asserts, exactly, with its three deviations from the standard",
        "whimbrel_wifi::phy::mode::tests::the_times_that_ns3_asserts_come_out_with_its_deviations",
    ),
    (
        "Modes",
        "22 curves of loss pass through the published thresholds within 0.09",
        "whimbrel_wifi::propagation::mode_error::tests::the_curves_pass_through_the_published_thresholds",
    ),
    (
        "Aggregation",
        "bitmaps of block acknowledgements, and the order of release, are those of ns-3's tests",
        "whimbrel_wifi::aggregation::reorder::tests::mpdus_are_released_as_published",
    ),
    (
        "Aggregation",
        "packets end once at the sender and arrive at most once and in order, whatever is lost",
        "whimbrel_wifi::aggregation::window::tests::packets_end_once_and_arrive_in_order",
    ),
    (
        "Aggregation",
        "one sender: A-MPDU, none, A-MSDU, both: 59.75, 30.79, 51.90, 59.08 Mbit/s within 0.2 %",
        "whimbrel_wifi_validation::qos_cell::tests::one_sender_with_and_without_aggregation",
    ),
    (
        "Aggregation",
        "96 closed forms of one sender, 13 modes, within 0.5 %",
        "whimbrel_wifi_validation::qos_cell::tests::one_sender_reaches_the_closed_forms",
    ),
    (
        "Aggregation",
        "losses of MPDUs: goodput, aggregates and delays of a Monte Carlo, 21 rows: goodput within 1.2 %",
        "whimbrel_wifi_validation::qos_cell::tests::losses_of_mpdus_cost_what_a_monte_carlo_has",
    ),
    (
        "EDCA",
        "transmission opportunities are filled and ended as in ns-3's four cases, within 0.2 %",
        "whimbrel_wifi_validation::qos_cell::tests::opportunities_are_filled_and_ended",
    ),
    (
        "EDCA",
        "12 mixes of classes beside a Monte Carlo of the rule: rates within 2 %, collisions within 0.006",
        "whimbrel_wifi_validation::mixes::tests::mixes_of_classes_share_the_medium_as_computed",
    ),
    (
        "EDCA",
        "saturated cells of 802.11ax with full aggregates: within 1.2 % of Bianchi's model",
        "whimbrel_wifi_validation::aggregates::tests::saturated_cells_agree_with_the_model",
    ),
    (
        "EDCA",
        "times of aggregates of 802.11ax, computed anew from the tables of the standard: 48 modes, exactly",
        "whimbrel_wifi_validation::aggregates::tests::both_tables_of_times_agree_exactly",
    ),
    (
        "Power saving",
        "packets for a dozing client wait uniformly for the beacons that it listens to: distance 0.02",
        "whimbrel_netsim::simulator::tests::power_save::"
        "a_packet_for_a_dozing_client_waits_for_the_next_beacon_that_the_client_listens_to",
    ),
    (
        "Power saving",
        "with a timeout of 100 ms and packets each 150 ms, 53.5 % are late, by 36.80 ms on average over all",
        "whimbrel_netsim::simulator::tests::power_save::dense_traffic_keeps_a_client_awake",
    ),
    (
        "Power saving",
        "group frames wait uniformly for the announced beacon: distance 0.02",
        "whimbrel_netsim::simulator::tests::power_save::group_frames_follow_the_beacons_that_announce_them",
    ),
    (
        "Power saving",
        "U-APSD: packets wait uniformly for the client's next one: distance 0.04",
        "whimbrel_netsim::simulator::tests::power_save::packets_of_a_call_wait_for_the_clients_next_one",
    ),
    (
        "Airtime",
        "shares and rates of two fast receivers and a slow one by four rules: 0.005 and 1 %",
        "whimbrel_wifi_validation::airtime::tests::shares_of_airtime_are_those_computed_on_paper",
    ),
    (
        "Airtime",
        "estimates of airtime queue limits, and the packets until 5 and 12 ms, are Linux's, exactly",
        "whimbrel_wifi::airtime::tests::estimates_are_those_of_linux",
    ),
    (
        "Airtime",
        "a call during a download: below 30 ms, and above 200 ms with a queue of 1000 packets",
        "whimbrel_scenario/tests/qos.rs::a_call_beside_a_download_has_a_short_delay",
    ),
    (
        "Minstrel-HT",
        "durations, estimates, tries and the filter are Linux's, exactly",
        "whimbrel_wifi::rate_control::minstrel_ht::tests::estimates_are_those_of_linux",
    ),
    (
        "Minstrel-HT",
        "the rate of most throughput is the published one in 90 % of the time, "
        "as the mean of 9 ratios of signal to noise",
        "whimbrel_wifi::rate_control::minstrel_ht::tests::the_winner_is_that_of_the_table",
    ),
    (
        "Capture",
        "a frame survives one that is 10 dB weaker, and no stronger one",
        "whimbrel_wifi::medium::tests::the_first_frame_survives_one_that_is_ten_decibels_weaker",
    ),
    (
        "Protection",
        "a CTS-to-self reserves the exact time of data frame and acknowledgement",
        "whimbrel_wifi::dcf::tests::protection::a_cts_to_self_reserves_the_medium_for_the_data_frame_and_its_acknowledgement",
    ),
    (
        "Protection",
        "an access point announces it (ERP Information) exactly while an 802.11b station is associated",
        "whimbrel_wifi::infrastructure::access_point::tests::"
        "protection_is_announced_while_a_station_without_ofdm_is_associated",
    ),
    (
        "Rate adaptation",
        "ARF's ladder on scripted outcomes",
        "whimbrel_wifi::rate_control::tests::arf_rises_after_ten_successes_and_falls_after_two_failures",
    ),
    (
        "DSDV",
        "no loop forms under random changes of topology",
        "whimbrel_wifi::routing::dsdv::tests::no_loop_ever_forms",
    ),
    (
        "DSDV",
        "all small topologies route correctly and recover from every link failure",
        "whimbrel_wifi::routing::dsdv::tests::convergence::"
        "exhaustive_small_topologies_route_correctly_and_recover_from_every_link_failure",
    ),
    (
        "DSDV",
        "under ns-2's rules a 4x4 grid needs more than 60 s and less than 150 s",
        "whimbrel_wifi::routing::dsdv::tests::convergence::a_4x4_grid_needs_more_than_60_s_under_ns2s_rules_and_less_than_150",
    ),
    (
        "DSDV",
        "as many updates and bytes as ns-2 sends",
        "whimbrel_wifi::routing::dsdv::tests::convergence::as_many_updates_and_bytes_are_sent_as_by_ns2",
    ),
    (
        "AODV",
        "no loop forms under random changes of topology",
        "whimbrel_wifi::routing::aodv::tests::no_loop_ever_forms",
    ),
    (
        "AODV",
        "all small topologies carry packets before and after every link failure",
        "whimbrel_wifi::routing::aodv::tests::exhaustive_small_topologies_carry_packets_before_and_after_every_link_failure",
    ),
    (
        "AODV",
        "a route is found in the time of its rings (RFC 3561, section 6.4)",
        "whimbrel_wifi::routing::aodv::tests::a_route_is_found_in_the_time_of_its_rings",
    ),
    (
        "Random waypoint",
        "speeds and positions have their stationary distributions at all times",
        "whimbrel_wifi::mobility::random_waypoint::tests::a_stationary_start_has_the_stationary_positions_at_all_times",
    ),
    (
        "ns-2",
        "frames last as long as their bits, and reservations are rounded to the nearest microsecond",
        "whimbrel_wifi::dcf::tests::ns2::frames_last_as_long_as_their_bits_and_reservations_are_rounded",
    ),
    (
        "Movement files",
        "the output of Debian's setdest is read, and links change as often as setdest counts",
        "whimbrel_wifi::mobility::setdest::tests::the_links_of_a_file_change_as_often_as_setdest_itself_counts",
    ),
)


def head() -> str:
    """The page up to the computed part."""
    lines = [
        "# Validation of 802.11",
        "",
        "Check the wireless simulator against theory, against published vectors and against ns-2:",
        "",
        "```sh",
        "make validation                 # computes this page anew, in minutes; do not edit it",
        "python3 scripts/validation.py   # checks that the page fits the code, in seconds; part of make test",
        "cargo run --release -p whimbrel-wifi-validation -- --ax   "
        "# 480 saturated cells of 802.11ax, in minutes",
        "```",
        "",
        "Every run is deterministic: the same figures come out on every machine. A figure beyond its bound"
        " fails both commands.",
        "",
        "## Facts asserted by tests",
        "",
        "| about | fact | test |",
        "|---|---|---|",
        *(f"| {about} | {fact} | `{test}` |" for about, fact, test in FACTS),
        "",
        SEPARATOR,
        "",
    ]
    return "\n".join(lines) + "\n"


def missing_tests(source: Source) -> Iterator[str]:
    """Facts whose tests do not exist."""
    for about, fact, test in FACTS:
        if reason := source.missing_test(test):
            yield f"{about}, {fact}: {test}: {reason}"


def compute(root: Path, quick: bool) -> str:
    """Runs the program. Its own errors go to the terminal."""
    # With the features of `make rust-tests`, so that nothing is compiled again.
    cargo = os.environ.get("CARGO", "cargo")
    build = [cargo, "build", "--quiet", "--workspace", "--exclude", "whimbrel-python", "--bin", PROGRAM]
    build += [] if quick else ["--release"]
    if subprocess.run(build, cwd=root, check=False).returncode != 0:
        sys.exit("validation: the program cannot be built")
    target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    command: list[str | Path] = [
        target / ("debug" if quick else "release") / PROGRAM,
        *(["--quick"] if quick else []),
    ]
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        sys.exit(f"validation: the program failed with status {done.returncode}")
    return done.stdout


def differences(page: str, computed: str) -> Iterator[str]:
    """Lines of the page's computed part that the quick form would print differently."""
    expected = computed.splitlines()
    at = 0
    for number, line in enumerate(page.splitlines(), 1):
        if at < len(expected) and line == expected[at]:
            at += 1
        elif LONG.match(line) or not line:
            continue
        else:
            wanted = expected[at] if at < len(expected) else "the end"
            yield f"line {number} of the computed part is {line!r}, expected {wanted!r}"
            return
    if any(expected[at:]):
        yield f"the computed part lacks {next(line for line in expected[at:] if line)!r}"


def check(root: Path) -> list[str]:
    """Everything in which the page does not fit the code."""
    offences = list(missing_tests(Source(root)))
    path = root / PAGE
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    beginning = head()
    if not text.startswith(beginning):
        return [*offences, f"{PAGE}: the part above {SEPARATOR!r} is not the one that this script writes"]
    found = differences(text.removeprefix(beginning), compute(root, quick=True))
    return offences + [f"{PAGE}: {one}" for one in found]


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"compute all tables and write {PAGE}")
    options = parser.parse_args(arguments)
    if options.write:
        offences = list(missing_tests(Source(root)))
        if not offences:
            (root / PAGE).write_text(head() + compute(root, quick=False).rstrip() + "\n", encoding="utf-8")
    else:
        offences = check(root)
    for offence in offences:
        print(offence, file=sys.stderr)
    stale = "; if the code is right, run make validation" if offences and not options.write else ""
    print(f"validation: {f'{len(offences)} offence(s){stale}' if offences else 'ok'}")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
