"""Checks of a connection with a kernel with MP-DCCP: both ends' reports, the capture, and the codes in it.

The codes are computed by the hmac module of Python, independently of Whimbrel.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import captures
from multipath_cases import Case

MULTIPATH = 46
JOIN, KEY, SEQUENCE, CODE, ADD_ADDRESS, REMOVE_ADDRESS = 1, 3, 4, 5, 7, 8
REQUEST, RESPONSE, DATA, RESET = 0, 1, 2, 7
CODE_BYTES = 20
# Length of the header by packet type, with extended sequence numbers.
HEADERS = {REQUEST: 20, RESPONSE: 28, DATA: 16, RESET: 28}
OTHER_HEADER = 24
FAULTS = re.compile(r"Oops|general protection|kernel BUG|mp_confirm does not match|HMAC CHECK FAILED")


@dataclass(frozen=True)
class Frame:
    """A DCCP packet of a capture."""

    source: str
    ports: tuple[int, int]
    kind: int
    # MP_OPT and body of each multipath option.
    options: list[tuple[int, bytes]]


def frames(pcap: Path) -> Iterator[Frame]:
    """The packets of a capture of a TUN device."""
    data = pcap.read_bytes()
    at = struct.calcsize("<IHHiIII")
    while at < len(data):
        (length,) = struct.unpack_from("<8xI", data, at)
        ip = data[at + 16 : at + 16 + length]
        at += 16 + length
        packet = ip[(ip[0] & 15) * 4 :]
        kind = packet[8] >> 1 & 15
        options = packet[HEADERS.get(kind, OTHER_HEADER) : packet[4] * 4]
        ports = (int.from_bytes(packet[:2]), int.from_bytes(packet[2:4]))
        yield Frame(".".join(map(str, ip[12:16])), ports, kind, list(multipath_options(options)))


def multipath_options(options: bytes) -> Iterator[tuple[int, bytes]]:
    """MP_OPT and body of each multipath option."""
    place = 0
    while place < len(options):
        kind = options[place]
        if kind < 32:
            place += 1
            continue
        length = options[place + 1]
        if kind == MULTIPATH:
            yield options[place + 2], options[place + 3 : place + length]
        place += length


@dataclass
class Codes:
    """The codes of a connection in the dialect of the drafts."""

    keys: dict[bool, bytes] = field(default_factory=dict)
    identifiers: dict[bool, bytes] = field(default_factory=dict)
    # Nonces of joining subflows, by the ports and the end.
    nonces: dict[tuple[frozenset[tuple[str, int]], bool], bytes] = field(default_factory=dict)
    verified: int = 0
    wrong: list[str] = field(default_factory=list)

    def expect(self, is_client: bool, message: bytes, code: bytes, name: str) -> None:
        """Compares a code that an end has sent."""
        key = self.keys[is_client] + self.keys[not is_client]
        if hmac.new(key, message, hashlib.sha256).digest()[:CODE_BYTES] == code:
            self.verified += 1
        else:
            self.wrong.append(f"the code of {name} is wrong")

    def on_frame(self, frame: Frame, is_client: bool) -> None:
        """Processes the options of a packet."""
        ports = frozenset(enumerate(map(str, frame.ports if is_client else frame.ports[::-1])))
        subflow = frozenset((str(value), place) for place, value in ports)
        for place, (mp_opt, body) in enumerate(frame.options):
            following = frame.options[place + 1 :][:1]
            code = following[0][1] if following and following[0][0] == CODE else b""
            if mp_opt == KEY:
                self.identifiers[is_client], self.keys[is_client] = body[1:5], body[6:14]
            elif mp_opt == JOIN:
                self.nonces[subflow, is_client] = body[5:9]
                if frame.kind == RESPONSE:
                    message = self.identifiers[is_client] + self.nonces[subflow, not is_client]
                    self.expect(is_client, message, code, "an accepted MP_JOIN")
            elif mp_opt == CODE and place == 0:
                message = self.identifiers[False] + self.nonces[subflow, False]
                self.expect(is_client, message, body, "a joining subflow")
            elif mp_opt == ADD_ADDRESS:
                # Address ID and address, then the port or zero.
                message = body if len(body) in (7, 19) else body + bytes(2)
                self.expect(is_client, message, code, "MP_ADDADDR")
            elif mp_opt == REMOVE_ADDRESS:
                self.expect(is_client, body, code, "MP_REMOVEADDR")


def read_codes(pcap: Path) -> Codes:
    """Verifies the codes of a capture. The first packet is the client's Request."""
    codes = Codes()
    client_side = ""
    for frame in frames(pcap):
        # 10.44 is the kernel's side, 10.45 Whimbrel's.
        side = frame.source.rsplit(".", 2)[0]
        client_side = client_side or side
        codes.on_frame(frame, side == client_side)
    return codes


def report(path: Path) -> dict[str, Any]:
    """The report of an end: the last line of its output."""
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    found = next((line for line in reversed(lines) if line.startswith("{")), "{}")
    result: dict[str, Any] = json.loads(found)
    return result


def check(case: Case, out: Path) -> list[str]:
    """The differences from the expected outcome."""
    kernel, whimbrel = report(out / "run.kernel"), report(out / "run.whimbrel")
    if not kernel or not whimbrel:
        return [f"an end left no report: {(out / 'run.errors').read_text().strip()}"]
    problems = []
    ends = (kernel["end"], whimbrel["end"])
    if ends != case.ends:
        problems.append(f"ends {ends}, expected {case.ends}: {kernel['error']}, {whimbrel['error']}")
    if whimbrel["multipath"] != case.is_multipath:
        problems.append(f"multipath {whimbrel['multipath']}")
    problems += check_data(case, kernel, whimbrel)
    said, messages = (out / "run.whimbrel").read_text(), (out / "dmesg").read_text(errors="replace")
    problems += [f"no event {event}" for event in case.events if not re.search(event, said)]
    problems += [
        f"no message of the kernel: {text}" for text in case.messages if not re.search(text, messages)
    ]
    problems += [f"message of the kernel: {line}" for line in messages.splitlines() if FAULTS.search(line)]
    capture = captures.read(out / "run.pcap")
    if capture.malformed or capture.bad_checksums:
        problems.append(f"{capture.malformed} malformed packets, {capture.bad_checksums} bad checksums")
    if "dialect=rfc" not in case.whimbrel and case.is_multipath:
        codes = read_codes(out / "run.pcap")
        problems += codes.wrong
        if codes.verified < 2:
            problems.append(
                f"{codes.verified} codes verified, expected at least the two of the second subflow"
            )
    return problems


def check_data(case: Case, kernel: dict[str, Any], whimbrel: dict[str, Any]) -> list[str]:
    """Checks the counts of datagrams."""
    problems = []
    both = (("kernel", kernel, whimbrel, case.kernel_count()), ("Whimbrel", whimbrel, kernel, case.count()))
    for name, ours, theirs, expected in both:
        if ours["sent"] != expected:
            problems.append(f"{name} sent {ours['sent']} datagrams, expected {expected}")
        if ours["corrupt"]:
            problems.append(f"{ours['corrupt']} corrupt datagrams at {name}")
        if ours["received"] != theirs["sent"]:
            problems.append(f"{ours['received']} datagrams of {theirs['sent']} arrived at {name}")
    if whimbrel["distinct"] != whimbrel["received"] or whimbrel["empty"]:
        problems.append(f"{whimbrel['distinct']} of {whimbrel['received']} datagrams are distinct")
    if bool(whimbrel["duplicates"]) != case.is_redundant:
        problems.append(f"{whimbrel['duplicates']} repeated packets")
    if whimbrel["unconfirmed"] and "reset" not in case.ends:
        problems.append(f"{whimbrel['unconfirmed']} signals are not confirmed")
    # Of copies, only those on the faster path count.
    needed = [1 if case.is_redundant else case.kernel_count() and case.subflows, case.subflows]
    for way, least in enumerate(needed):
        carrying = sum(subflow[way] > 0 for subflow in whimbrel["by_subflow"])
        if carrying < least:
            problems.append(
                f"{carrying} subflows carried data ({('from', 'to')[way]} the kernel), expected {least}"
            )
    return problems
