"""Paper reorder compared with ns-2; skipped without ns-2, unless REQUIRE_ALL=1."""

import os
import shutil
from types import ModuleType

import pytest
import script_modules


@pytest.fixture(scope="module")
def beside() -> ModuleType:
    """The command that compares."""
    if not shutil.which("ns"):
        if os.environ.get("REQUIRE_ALL") == "1":
            pytest.fail("ns-2 is required but not installed (Debian: apt-get install ns2)")
        pytest.skip("ns-2 is not installed (Debian: apt-get install ns2)")
    return script_modules.load("benches/reorder_ns2.py")


def flow(beside: ModuleType, name: str, payload: int) -> object:
    (found,) = (each for each in beside.FLOWS if each.name.startswith(name) and each.payload == payload)
    return found


@pytest.mark.parametrize("name", ["ns-2, Agent/TFRC, numPkts_ 1", "ns-2, Agent/DCCP/TFRC"])
def test_ns2_reorders_packets_and_loses_none(beside: ModuleType, name: str) -> None:
    # Packets that are late by less than a packet time change nothing. DCCP agents discard packets diverted by
    # an error model, so a path built with one would have a fifth of the rate here, too.
    assert beside.rate_kbps(flow(beside, name, 500), "100", 1, (0.1, 0.01)) > 990
    assert beside.rate_kbps(flow(beside, name, 500), "100", 1) < 500


@pytest.mark.parametrize("rtt", ["100", "300"])
@pytest.mark.parametrize("payload", [500, 1460])
def test_three_later_packets_are_as_in_ns2s_dccp(beside: ModuleType, rtt: str, payload: int) -> None:
    theirs = beside.rate_kbps(flow(beside, "ns-2, Agent/DCCP/TFRC", payload), rtt, 1)
    ours = beside.rate_kbps(flow(beside, "Whimbrel, three", payload), rtt, 1)
    assert ours == pytest.approx(theirs, rel=0.1)
