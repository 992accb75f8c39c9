"""Wine, which runs the programs for Windows, and the tests of the crates on it.

Wine is not Windows. A program of 20 lines with sockets of the standard library shows that datagrams from
127.0.0.2 have the source 127.0.0.1, that an address which no interface has can be bound, and that each later
call returns that nothing listens. All datagrams of the skipped tests of ECN arrive as Not-ECT. On a busy
machine, the last datagram of a stream may miss its latency in the tests of repair.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from workspace import ROOT, Release, made, missing, run

TARGET = "x86_64-pc-windows-gnu"
# All libraries but `emu`, which is Linux's, and the interfaces to C and Python.
CRATES = (
    "units",
    "wire",
    "control",
    "proto",
    "rtp",
    "repair",
    "wifi",
    "cell",
    "netsim",
    "scenario",
    "dtls",
    "lab",
    "live",
    "inspect",
    "net",
    "relay",
    "measure",
)
ADDRESS = "127.0.0.2 is 127.0.0.1"
FOREIGN = "an address that no interface has can be bound"
ECN = "the ECN bits are neither set nor reported"
REFUSAL = "each later call returns that nothing listens"
NS3 = "ns-3 is a program for Linux, whose headers are found on the drive Z:"
SLOW = "a thousand handshakes take more than the minute that the test has"
# The tests that cannot pass under wine, with the reason.
SKIPPED = {
    "ns3::ns3_": NS3,
    "perf::udp::tests::a_greeting_without_the_nonce_receives_its_own_length_at_most": ADDRESS,
    "dead_peers::a_listener_has_places_left_when_one_address_has_taken_all_that_it_can": ADDRESS,
    "mobility::a_client_moves_in_mid_transfer_and_nothing_is_lost": ADDRESS,
    "security::a_secured_client_moves_to_another_address_and_nothing_is_lost": ADDRESS,
    "mobility::an_unavailable_address_changes_nothing": FOREIGN,
    "edge::local_socket::tests::a_port_that_another_program_uses_is_refused": FOREIGN,
    "carrier::udp::tests::a_packet_that_is_too_large_is_reported_and_does_not_stop_the_others": ECN,
    "carrier::udp::tests::batches_break_where_size_mark_or_destination_change": ECN,
    "carrier::udp::tests::ecn_survives_coalesced_receives": ECN,
    "edge::local_socket::tests::a_program_is_found_at_whichever_address_of_its_name_it_listens": REFUSAL,
    "arrivals::tests::a_socket_is_read_on_after_a_report_of_the_network": REFUSAL,
    "loopback::a_thousand_connections_share_one_udp_port": SLOW,
}


def program() -> str | None:
    """The program that runs those for Windows; `None` without it, or without the compiler for them."""
    if shutil.which("x86_64-w64-mingw32-gcc") is None:
        return None
    return shutil.which("wine64") or shutil.which("wine64", path="/usr/lib/wine")


def environment(release: Release) -> dict[str, str]:
    """The variables of wine: a folder of its own, and a library of Windows that wine 8 does not have."""
    library = made(release.work / "wine/library") / "bcryptprimitives.dll"
    source = ROOT / "packaging/wine/bcryptprimitives.c"
    run(["x86_64-w64-mingw32-gcc", "-shared", "-o", library, source, "-ladvapi32"])
    prefix = str(release.work / "wine/prefix")
    return {"WINEPREFIX": prefix, "WINEDEBUG": "-all", "WINEPATH": str(library.parent)}


def tests(release: Release) -> None:
    """Runs the tests of the crates that Windows has."""
    wine = program()
    if wine is None:
        missing("the tests for Windows", "sudo apt-get install wine64 gcc-mingw-w64-x86-64")
        return
    command = [
        "cargo",
        "test",
        "--quiet",
        "--locked",
        "--no-fail-fast",
        "--lib",
        "--tests",
        "--target",
        TARGET,
    ]
    command += ["--target-dir", str(release.target("windows-tests"))]
    command += [word for crate in CRATES for word in ("-p", f"whimbrel-{crate}")]
    command += ["--", *(word for name in SKIPPED for word in ("--skip", name))]
    settings = {
        "CARGO_INCREMENTAL": "0",
        "CARGO_PROFILE_DEV_DEBUG": "none",
        "CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER": wine,
        "PROPTEST_RNG_SEED": "1",
    }
    run(command, {**os.environ, **environment(release), **settings})
    print(f"   skipped under wine: {len(SKIPPED)} names, in {Path(__file__).name} with their reasons")
