"""The checks of `make interop-multipath`, on captures of Linux with MP-DCCP."""

from __future__ import annotations

from pathlib import Path

import pytest
from multipath_checks import JOIN, frames, read_codes

DATA = Path(__file__).resolve().parents[2] / "crates" / "proto" / "tests" / "data"
# Two codes for each subflow that joins, one for each address that is announced or withdrawn.
CODES = {
    "multipath-kernel-accepts.pcap": 4,
    "multipath-kernel-accepts-abort.pcap": 2,
    "multipath-kernel-announces.pcap": 5,
    "multipath-whimbrel-accepts.pcap": 5,
    "multipath-whimbrel-accepts-abort.pcap": 2,
}


@pytest.mark.parametrize("name", CODES)
def test_the_codes_of_a_capture_are_right(name: str) -> None:
    codes = read_codes(DATA / name)
    assert (codes.verified, codes.wrong) == (CODES[name], [])


def test_another_nonce_makes_the_codes_of_a_subflow_wrong(tmp_path: Path) -> None:
    original = DATA / "multipath-kernel-accepts.pcap"
    joins = [body for frame in frames(original) for mp_opt, body in frame.options if mp_opt == JOIN]
    # The accepting host's code covers the Request's nonce, the joining host's code the Response's.
    for join, name in zip(joins, ("an accepted MP_JOIN", "a joining subflow"), strict=True):
        altered = tmp_path / "altered.pcap"
        altered.write_bytes(original.read_bytes().replace(join, join[:-1] + bytes([join[-1] ^ 1])))
        codes = read_codes(altered)
        assert (codes.verified, codes.wrong) == (3, [f"the code of {name} is wrong"])
